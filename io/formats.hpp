#pragma once
#include "io/container.hpp"

namespace pacewise {

/// How a file of a format is told by its content, and read: as one array, or as several with names. Text is neither
/// (read_csv). A new one also stands in the list of read_table.cpp.
struct Format {
  const char* name;
  bool (*is)(std::string_view bytes);
  Variable (*read)(const Reading& reading) = nullptr;
  std::unique_ptr<Container> (*open)(const Reading& reading) = nullptr;
  bool regular = false;  // its library opens the file itself: it must be a regular file, not compressed
};
extern const Format kNpy;  // NumPy's format, versions 1 to 3
extern const Format kNpz;  // numpy.savez; a file of scipy.sparse.save_npz is one sparse variable "X"
extern const Format kMat;  // MATLAB v5 (also compressed: v6, v7) and v7.3, by matio
extern const Format kHdf5;
extern const Format kMatrixMarket;
extern const Format kImage;  // PNG, JPEG or PGM: one sample
extern const Format kIdx;    // 0 0 type axes, as MNIST is stored

/// Fails where the first bytes are those of no format.
void check_known(const Reading& reading);

/// Text with a row per sample: comma, tab, semicolon, bar or blanks between the fields, found from the content.
template <class T>
Table<T> read_csv(const Reading& reading);
/// The label column that the options name, the only column, or the one the header calls a label. Where the first line
/// may be a name or a label, `samples` (>= 0) decides.
LabelColumn read_csv_labels(const Reading& reading, Index samples);

/// An array in NumPy's format; `bytes` may be an entry of a .npz, then `where` is its name.
Variable parse_npy(const Reading& reading, std::string_view bytes, std::shared_ptr<const void> owner,
                   std::string_view where);

/// ..images-idx3.. -> ..labels-idx1.., with and without .gz, where such a file exists; else empty.
std::string idx_labels_beside(const std::string& path);

/// Walks over all elements of a MATLAB v5 file, compressed ones included, and fails where one does not fit in its
/// surroundings or is smaller than its dimensions say. matio gives made-up numbers for truncated files and trusts
/// lengths inside elements, so it is only let near files that pass.
void check_mat5(const Reading& reading);

/// A sample per PNG, JPEG or PGM image (told by content), in the order of their names as bytes; images in subfolders
/// are labelled by the subfolder's name. All have one size and depth. Other files are left out, with a note.
template <class T>
Table<T> read_image_folder(const std::string& path, const ReadOptions& options);

}  // namespace pacewise
