#pragma once
#include "pacewise/data/files/container.hpp"
#include "pacewise/data/files/zip.hpp"

namespace pacewise {

/// numpy.savez and savez_compressed; a file of scipy.sparse.save_npz is one sparse variable "X".
std::unique_ptr<Container> open_npz(const Reading& reading);

}  // namespace pacewise
