#pragma once
#include "io/container.hpp"
#include "io/zip.hpp"

namespace pacewise {

/// numpy.savez and savez_compressed; a file of scipy.sparse.save_npz is one sparse variable "X".
std::unique_ptr<Container> open_npz(const Reading& reading);

}  // namespace pacewise
