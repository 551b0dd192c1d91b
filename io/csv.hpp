#pragma once
#include "io/label_column.hpp"

namespace pacewise {

/// Text with a row per sample: comma, tab, semicolon, bar or blanks between the fields, found from the content.
template <class T>
Table<T> read_csv(const Reading& reading);

/// The label column that the options name, the only column, or the one the header calls a label. Where the first line
/// may be a name or a label, `samples` (>= 0) decides.
LabelColumn read_csv_labels(const Reading& reading, Index samples);

}  // namespace pacewise
