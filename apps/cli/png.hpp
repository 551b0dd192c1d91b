#pragma once
#include <cstdint>
#include <string>

namespace pacewise::cli {

/// A PNG file of 8-bit grey pixels, row by row.
std::string grey_png(std::uint32_t width, std::uint32_t height, const std::string& pixels);

}  // namespace pacewise::cli
