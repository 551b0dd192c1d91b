#pragma once
#include "io/typed_array.hpp"

namespace pacewise {

/// 0 0 type axes, as MNIST is stored.
bool is_idx(std::string_view bytes);
TypedArray parse_idx(const Reading& reading);

/// ..images-idx3.. -> ..labels-idx1.., with and without .gz, where such a file exists; else empty.
std::string idx_labels_beside(const std::string& path);

}  // namespace pacewise
