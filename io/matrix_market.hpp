#pragma once
#include "io/label_column.hpp"

namespace pacewise {

bool is_matrix_market(std::string_view bytes);

/// coordinate -> sparse, array -> dense; real, integer or pattern; general, symmetric or skew-symmetric.
template <class T>
Table<T> read_matrix_market(const Reading& reading);

}  // namespace pacewise
