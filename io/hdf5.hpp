#pragma once
#include "io/container.hpp"

namespace pacewise {

inline bool is_hdf5(std::string_view bytes) { return bytes.substr(0, 8) == std::string_view("\x89HDF\r\n\x1a\n", 8); }

/// The datasets of an HDF5 file, named by their path without the leading '/'.
std::unique_ptr<Container> open_hdf5(const Reading& reading);

}  // namespace pacewise
