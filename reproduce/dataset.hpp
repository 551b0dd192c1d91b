#pragma once
#include <string>
#include <vector>

#include "algebra/matrix.hpp"

namespace pacewise::reproduce {

/// The images of one experiment, clean.
struct Dataset {
  std::string name;
  Matrix<double> values;             // raw pixels, a column is an image
  std::vector<std::int32_t> labels;  // 0..classes-1
  Index classes = 0;
  Index side = 0;           // an image is side x side
  bool by_columns = false;  // its pixels lie column by column
  double sd = 0;            // over all entries
  std::string fingerprint;  // tells other data under the same name
};

/// coil20: COIL20.mat; mnist and fashion: the first 200 test images of each class; pie: the first 21 images of each
/// person (those with the lights off). A ReadError names the missing file and says where to put it.
Dataset load_dataset(const std::string& name, const std::string& folder);

/// rho sd(X) N(0, 1), m x n: the same for every method at the same (rho, seed), drawn anew for others. Zeros at rho 0.
Matrix<double> noise_of(const Dataset& dataset, double rho, int seed);
/// Clean values plus noise_of.
Matrix<double> noisy(const Dataset& dataset, double rho, int seed);

/// Some images under a square of black or white that hides about a tenth of them.
struct Occluded {
  Matrix<double> values;
  std::vector<Index> covered;  // the images
  std::vector<char> hidden;    // 1 for an entry under a square, m n
};
Occluded occlude(const Dataset& dataset, int seed);

/// An image's pixels row by row, as pictures want them.
template <class T>
std::vector<T> upright(const Dataset& dataset, const T* image) {
  std::vector<T> out(static_cast<std::size_t>(dataset.side * dataset.side));
  for (Index i = 0; i < dataset.side; ++i)
    for (Index j = 0; j < dataset.side; ++j)
      out[static_cast<std::size_t>(i * dataset.side + j)] =
          image[dataset.by_columns ? j * dataset.side + i : i * dataset.side + j];
  return out;
}

}  // namespace pacewise::reproduce
