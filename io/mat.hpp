#pragma once
#include "io/container.hpp"

namespace pacewise {

/// MATLAB v5 (also compressed: v6, v7) and v7.3 by the header at byte 124; the text before it is free.
bool is_mat(std::string_view bytes);

/// By matio, which opens the file itself: it must be a regular file.
std::unique_ptr<Container> open_mat(const Reading& reading);

}  // namespace pacewise
