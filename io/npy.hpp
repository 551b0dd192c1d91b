#pragma once
#include "io/typed_array.hpp"

namespace pacewise {

inline bool is_npy(std::string_view bytes) { return bytes.substr(0, 6) == std::string_view("\x93NUMPY", 6); }

/// NumPy's format, versions 1 to 3; `bytes` may be an entry of a .npz, then `where` is its name.
Variable parse_npy(const Reading& reading, std::string_view bytes, std::shared_ptr<const void> owner,
                   std::string_view where);

}  // namespace pacewise
