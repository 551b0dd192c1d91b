#include "apps/cli/demo_images.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/table.hpp"

namespace pacewise::cli {
namespace {

constexpr Index kPixels = kSide * kSide;

void shuffle(std::vector<Index>& order, Random& random) {
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<Index>(i)))]);
}

std::vector<Index> shuffled(Index n, Random& random) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  shuffle(order, random);
  return order;
}

/// Six shapes around a centre, drawn with soft edges; where they lie and how large they are varies.
float shape_value(Index kind, double x, double y, double size) {
  const double radius = std::hypot(x, y), ax = std::abs(x), ay = std::abs(y);
  double distance = 0;  // < 0 inside
  switch (kind) {
    case 0:
      distance = radius - size;
      break;  // disc
    case 1:
      distance = std::abs(radius - size) - 1.6;
      break;  // ring
    case 2:
      distance = std::max(ax, ay) - size;
      break;  // square
    case 3:
      distance = std::min(std::max(ax - size, ay - 2), std::max(ay - size, ax - 2));
      break;  // cross
    case 4:
      distance = std::max(ax + 0.6 * y - 0.8 * size, ay - size);
      break;  // triangle
    default:
      distance = std::max(std::abs(std::fmod(ax + 30, 6.0) - 3) - 1.5, radius - size - 2);  // stripes
  }
  return static_cast<float>(std::clamp(0.5 - distance, 0.0, 1.0));
}

DemoImages drawn_images(int per_class, Random& random) {
  constexpr Index kinds = 6;
  DemoImages out;
  out.classes = kinds;
  out.source = "drawn shapes (Fashion-MNIST is not installed: package dataset-fashion-mnist)";
  out.values = Matrix<float>(kPixels, kinds * per_class);
  for (Index j = 0; j < out.values.cols(); ++j) {
    const Index kind = j % kinds;
    const double cx = 13.5 + 3 * random.normal() / 2, cy = 13.5 + 3 * random.normal() / 2,
                 size = 6 + 3 * random.uniform();
    out.labels.push_back(static_cast<std::int32_t>(kind));
    for (Index i = 0; i < kPixels; ++i) {
      const double noise = 0.03 * random.normal();
      const Index x = i % kSide, y = i / kSide;
      const float v = shape_value(kind, static_cast<double>(x) - cx, static_cast<double>(y) - cy, size);
      out.values(i, j) = std::clamp(v + static_cast<float>(noise), 0.0F, 1.0F);
    }
  }
  return out;
}

}  // namespace

DemoImages clean_images(const std::string& folder, int per_class, Random& random) {
  Table<float> table;
  try {
    ReadOptions options;
    options.labels_beside = true;
    table = read_table<float>(folder + "/t10k-images-idx3-ubyte.gz", options);
  } catch (const ReadError&) {
    return drawn_images(per_class, random);
  }
  if (!table.labels || table.features() != kPixels) return drawn_images(per_class, random);
  DemoImages out;
  out.source = "Fashion-MNIST, " + std::to_string(per_class) + " test images of each class";
  std::vector<int> taken(table.labels->names.size(), 0);
  out.classes = static_cast<Index>(taken.size());
  std::vector<Index> chosen;
  for (const Index j : shuffled(table.samples(), random)) {
    int& count = taken[static_cast<std::size_t>(table.labels->value[static_cast<std::size_t>(j)])];
    if (count == per_class) continue;
    ++count;
    chosen.push_back(j);
  }
  out.values = Matrix<float>(kPixels, static_cast<Index>(chosen.size()));
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    out.labels.push_back(table.labels->value[static_cast<std::size_t>(chosen[c])]);
    for (Index i = 0; i < kPixels; ++i) out.values(i, static_cast<Index>(c)) = table.values(i, chosen[c]) / 255.0F;
  }
  return out;
}

void corrupt(DemoImages& images, Damage damage, Random& random) {
  constexpr Index square = 10;
  const Index n = images.values.cols();
  images.clean = images.values;
  images.corrupted.assign(static_cast<std::size_t>(n), false);
  images.occluded.assign(static_cast<std::size_t>(n), false);
  images.changed.assign(static_cast<std::size_t>(n * kPixels), false);
  const std::vector<Index> order = shuffled(n, random);
  for (Index c = 0; c < (damage == Damage::all ? n : n / 5); ++c) {
    const Index j = order[static_cast<std::size_t>(c)];
    const auto set = [&](Index i, float value) {
      if (images.values(i, j) == value) return;
      images.values(i, j) = value;
      images.changed[static_cast<std::size_t>(j * kPixels + i)] = true;
    };
    images.corrupted[static_cast<std::size_t>(j)] = true;
    const bool square_here = damage == Damage::some && c % 2 == 0;
    images.occluded[static_cast<std::size_t>(j)] = square_here;
    if (square_here) {
      const Index top = random.below(kSide - square + 1), left = random.below(kSide - square + 1);
      const float value = random.uniform() < 0.5 ? 0.0F : 1.0F;
      for (Index y = 0; y < square; ++y)
        for (Index x = 0; x < square; ++x) set((top + y) * kSide + left + x, value);
    } else {
      for (Index i = 0; i < kPixels; ++i)
        if (random.uniform() < (damage == Damage::all ? 0.3 : 0.2)) set(i, random.uniform() < 0.5 ? 0.0F : 1.0F);
    }
  }
}

}  // namespace pacewise::cli
