#pragma once
#include "io/image.hpp"

namespace pacewise {

/// A sample per PNG, JPEG or PGM image (told by content), in the order of their names as bytes; images in subfolders
/// are labelled by the subfolder's name. All have one size and depth. Other files are left out, with a note.
template <class T>
Table<T> read_image_folder(const std::string& path, const ReadOptions& options);

/// One image: a table with one sample.
template <class T>
Table<T> read_single_image(const Reading& reading);

}  // namespace pacewise
