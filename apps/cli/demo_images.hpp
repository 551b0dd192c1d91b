#pragma once
#include <string>
#include <vector>

#include "algebra/random.hpp"

namespace pacewise::cli {

/// Labelled grey images in [0, 1], 28 x 28 (row by row, a column per image), some of them corrupted.
struct DemoImages {
  Matrix<float> values;              // 784 x n, corrupted
  Matrix<float> clean;               // as they were
  std::vector<std::int32_t> labels;  // n
  std::vector<bool> corrupted;       // n: images
  std::vector<bool> changed;         // 784 n: entries whose value the corruption changed
  std::vector<bool> occluded;        // n: by a square (else by salt and pepper)
  Index classes = 10;
  std::string source;  // for people
};
inline constexpr Index kSide = 28;

/// `per_class` images of each class, from the folder of Fashion-MNIST or, where it is not there, drawn.
DemoImages clean_images(const std::string& folder, int per_class, Random& random);

/// What is done to the images. some: a fifth of them; every other one of those gets a black or white 10 x 10 square,
/// the others 20% salt and pepper. all: 30% of the pixels of every image become black or white.
enum class Damage { some, all };
void corrupt(DemoImages& images, Damage damage, Random& random);

}  // namespace pacewise::cli
