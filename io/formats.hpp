#pragma once
#include "io/container.hpp"

/// The readers of the formats; read_table.cpp chooses one by the content of the file.
namespace pacewise {

/// Fails where the first bytes are those of no format.
void check_known(const Reading& reading);

/// Text with a row per sample: comma, tab, semicolon, bar or blanks between the fields, found from the content.
template <class T>
Table<T> read_csv(const Reading& reading);
/// The label column that the options name, the only column, or the one the header calls a label. Where the first line
/// may be a name or a label, `samples` (>= 0) decides.
LabelColumn read_csv_labels(const Reading& reading, Index samples);

bool is_matrix_market(std::string_view bytes);
Variable read_matrix_market(const Reading& reading);

/// 0 0 type axes, as MNIST is stored.
bool is_idx(std::string_view bytes);
Variable read_idx(const Reading& reading);
/// ..images-idx3.. -> ..labels-idx1.., with and without .gz, where such a file exists; else empty.
std::string idx_labels_beside(const std::string& path);

/// NumPy's format, versions 1 to 3; `bytes` may be an entry of a .npz, then `where` is its name.
bool is_npy(std::string_view bytes);
Variable parse_npy(const Reading& reading, std::string_view bytes, std::shared_ptr<const void> owner,
                   std::string_view where);

/// numpy.savez and savez_compressed; a file of scipy.sparse.save_npz is one sparse variable "X".
bool is_npz(std::string_view bytes);
std::unique_ptr<Container> open_npz(const Reading& reading);

/// MATLAB v5 (also compressed: v6, v7) and v7.3, by matio, which opens the file itself: it must be a regular file.
bool is_mat(std::string_view bytes);
std::unique_ptr<Container> open_mat(const Reading& reading);
/// Walks over all elements of a MATLAB v5 file, compressed ones included, and fails where one does not fit in its
/// surroundings or is smaller than its dimensions say. matio gives made-up numbers for truncated files and trusts
/// lengths inside elements, so it is only let near files that pass.
void check_mat5(const Reading& reading);

/// HDF5, which also opens the file itself.
bool is_hdf5(std::string_view bytes);
std::unique_ptr<Container> open_hdf5(const Reading& reading);

/// A sample per PNG, JPEG or PGM image (told by content), in the order of their names as bytes; images in subfolders
/// are labelled by the subfolder's name. All have one size and depth. Other files are left out, with a note.
template <class T>
Table<T> read_image_folder(const std::string& path, const ReadOptions& options);
bool is_image(std::string_view bytes);
/// One image: one sample.
Variable read_image(const Reading& reading);

}  // namespace pacewise
