#include "reproduce/dataset.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "algebra/random.hpp"
#include "io/table.hpp"

namespace pacewise::reproduce {
namespace {

constexpr Index kPerObject = 72, kPerClass = 200, kPerPerson = 21;

std::string file_in(const std::string& folder, const std::string& name, const char* origin) {
  const std::string path = folder + "/" + name;
  if (!std::filesystem::exists(path))
    throw ReadError(fmt::format("{}: no such file; get it from {} and put it there (--data names the folder)",
                                printable(path, 200), origin));
  return path;
}

constexpr char kPieOrigin[] = "Deng Cai's collection of face data (CMU PIE, pose 27, 32 x 32)";
constexpr char kCoilOrigin[] = "Deng Cai's collection (COIL20, 32 x 32)";
constexpr char kMnistOrigin[] = "the MNIST database of handwritten digits";
constexpr char kFashionOrigin[] = "Debian's package dataset-fashion-mnist (/usr/share/datasets/fashion-mnist)";

/// Copies the chosen images and fills in what follows from them.
void finish(Dataset& out, const std::vector<const double*>& images, Index pixels, const std::string& path) {
  out.side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(pixels))));
  if (images.empty() || out.side * out.side != pixels)
    throw ReadError(fmt::format("{}: {} images of {} pixels; square images are expected", printable(path, 200),
                                images.size(), pixels));
  out.values = Matrix<double>(pixels, static_cast<Index>(images.size()));
  for (std::size_t j = 0; j < images.size(); ++j) std::copy_n(images[j], pixels, out.values.col(static_cast<Index>(j)));
  double mean = 0, square = 0;
  for (Index u = 0; u < out.values.size(); ++u) mean += out.values.data()[u];
  mean /= static_cast<double>(out.values.size());
  for (Index u = 0; u < out.values.size(); ++u) square += std::pow(out.values.data()[u] - mean, 2);
  out.sd = std::sqrt(square / static_cast<double>(out.values.size()));
  out.classes = 1 + *std::max_element(out.labels.begin(), out.labels.end());
  const auto bytes = static_cast<std::size_t>(out.values.size()) * sizeof(double);
  auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(out.values.data()), bytes);
  crc = crc32_z(crc, reinterpret_cast<const Bytef*>(out.labels.data()), out.labels.size() * sizeof(std::int32_t));
  out.fingerprint = fmt::format("{}x{}-{:08x}", images.size(), pixels, crc);
}

/// The first `limit` images of each label.
void choose(Dataset& out, MatrixView<const double> images, const std::vector<std::int32_t>& labels, Index limit,
            std::vector<const double*>& chosen) {
  std::map<std::int32_t, Index> taken;
  for (Index j = 0; j < images.cols; ++j) {
    const std::int32_t label = labels[static_cast<std::size_t>(j)];
    if (taken[label]++ >= limit) continue;
    chosen.push_back(images.col(j));
    out.labels.push_back(label);
  }
}

Dataset load_mat(const std::string& path, Index limit) {
  const Table<double> table = read_table<double>(path);
  if (!table.labels || table.values.empty())
    throw ReadError(printable(path, 200) + ": holds no images with a label each (X and Y, or fea and gnd)");
  Dataset out;
  out.by_columns = true;
  std::vector<const double*> images;
  choose(out, table.values, table.labels->value, limit, images);
  finish(out, images, table.values.rows, path);
  return out;
}

Dataset load_idx(const std::string& folder, const std::string& prefix, const char* origin) {
  const std::string path = file_in(folder, prefix + "t10k-images-idx3-ubyte.gz", origin);
  const std::string beside = file_in(folder, prefix + "t10k-labels-idx1-ubyte.gz", origin);
  const Table<double> table = read_table<double>(path);
  Dataset out;
  std::vector<const double*> images;
  choose(out, table.values, read_labels(beside, table.values.cols).value, kPerClass, images);
  finish(out, images, table.values.rows, path);
  return out;
}

}  // namespace

Dataset load_dataset(const std::string& name, const std::string& folder) {
  Dataset out = name == "coil20"    ? load_mat(file_in(folder, "COIL20.mat", kCoilOrigin), kPerObject)
                : name == "mnist"   ? load_idx(folder, "mnist-", kMnistOrigin)
                : name == "fashion" ? load_idx(folder, "", kFashionOrigin)
                                    : load_mat(file_in(folder, "PIE_pose27.mat", kPieOrigin), kPerPerson);
  out.name = name;
  return out;
}

Matrix<double> noise_of(const Dataset& dataset, double rho, int seed) {
  Matrix<double> noise(dataset.values.rows(), dataset.values.cols());
  if (rho == 0) return noise;
  Random random(1'000'000'007ULL * static_cast<std::uint64_t>(seed) +
                static_cast<std::uint64_t>(std::llround(1e6 * rho)));
  for (Index u = 0; u < noise.size(); ++u) noise.data()[u] = rho * dataset.sd * random.normal();
  return noise;
}

Matrix<double> noisy(const Dataset& dataset, double rho, int seed) {
  Matrix<double> out = noise_of(dataset, rho, seed);
  for (Index u = 0; u < out.size(); ++u) out.data()[u] += dataset.values.data()[u];
  return out;
}

Occluded occlude(const Dataset& dataset, int seed) {
  constexpr Index every = 5;  // images
  Occluded out{dataset.values, {}, std::vector<char>(static_cast<std::size_t>(dataset.values.size()), char{0})};
  Random random(static_cast<std::uint64_t>(seed));
  const Index side = dataset.side, width = std::max<Index>(1, side / 3);
  const double white = *std::max_element(dataset.values.data(), dataset.values.data() + dataset.values.size());
  for (Index j = random.below(every); j < dataset.values.cols(); j += every) {
    const Index top = random.below(side - width + 1), left = random.below(side - width + 1);
    const double shade = random.uniform() < 0.5 ? 0.0 : white;
    for (Index a = 0; a < width; ++a)
      for (Index b = 0; b < width; ++b) {
        const Index pixel = (top + a) * side + left + b;
        out.values(pixel, j) = shade;
        out.hidden[static_cast<std::size_t>(j * dataset.values.rows() + pixel)] = 1;
      }
    out.covered.push_back(j);
  }
  return out;
}

}  // namespace pacewise::reproduce
