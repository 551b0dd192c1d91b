#include "io/typed_array.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace pacewise {
namespace {

struct Half {};  // IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits

double from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double magnitude = std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(fraction, -24);
  if (exponent == 31) magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <class S>
struct Stored {
  using Word = std::conditional_t<sizeof(S) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(S) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(S) == 4, std::uint32_t, std::uint64_t>>>;
  static S value(Word word) { return std::bit_cast<S>(word); }
};
template <>
struct Stored<bool> {
  using Word = std::uint8_t;
  static std::uint8_t value(Word word) { return word != 0; }
};
template <>
struct Stored<Half> {
  using Word = std::uint16_t;
  static double value(Word word) { return from_half(word); }
};

template <class Word>
Word swap_bytes(Word word) {
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
  return word;
}

template <class T, class S, bool swap>
T load(const char* base, Index item) {
  typename Stored<S>::Word word;
  std::memcpy(&word, base + static_cast<std::size_t>(item) * sizeof(word), sizeof(word));
  if constexpr (swap) word = swap_bytes(word);
  return static_cast<T>(Stored<S>::value(word));
}

/// Where sample s, feature f lies: s * sample_stride + offset[f]; offset is empty where it is f itself.
struct Layout {
  Index sample_stride = 1;
  std::vector<Index> offset;
  bool flat = false;  // the wanted order is the order in memory
};

Layout layout_of(const TypedArray& array) {
  const std::size_t axes = array.shape.size();
  std::vector<Index> stride(axes, 1);
  if (array.fortran)
    for (std::size_t a = 1; a < axes; ++a) stride[a] = stride[a - 1] * array.shape[a - 1];
  else
    for (std::size_t a = axes - 1; a > 0; --a) stride[a - 1] = stride[a] * array.shape[a];
  const std::size_t sample_axis = array.samples_last ? axes - 1 : 0;
  Layout layout;
  layout.sample_stride = stride[sample_axis];
  std::vector<Index> offset{0};
  for (std::size_t a = 0; a < axes; ++a) {
    if (a == sample_axis) continue;
    std::vector<Index> finer;
    finer.reserve(offset.size() * static_cast<std::size_t>(array.shape[a]));
    for (const Index o : offset)
      for (Index i = 0; i < array.shape[a]; ++i) finer.push_back(o + i * stride[a]);
    offset = std::move(finer);
  }
  bool contiguous = true;
  for (std::size_t f = 0; f < offset.size() && contiguous; ++f) contiguous = offset[f] == static_cast<Index>(f);
  layout.flat = contiguous && layout.sample_stride == array.features();
  layout.offset = std::move(offset);
  return layout;
}

template <class T, class S, bool swap>
void convert(const TypedArray& array, const Layout& layout, const Reading& reading, MatrixView<T> out) {
  if (layout.flat) {
    constexpr Index size = Index{1} << 17;
    const Index count = array.count();
    reading.for_blocks(block_count(count, size), 0.5, 1, [&](Index block) {
      const Index first = block * size, last = first + block_length(count, block, size);
      for (Index i = first; i < last; ++i) out.data[i] = load<T, S, swap>(array.data, i);
    });
    return;
  }
  // 64 neighbouring samples at a time: a cache line is used whole on the side where samples are neighbours
  reading.for_blocks(block_count(out.cols), 0.5, 1, [&](Index block) {
    const Index first = block * kBlock, last = first + block_length(out.cols, block);
    for (Index f = 0; f < out.rows; ++f)
      for (Index s = first; s < last; ++s)
        out(f, s) = load<T, S, swap>(array.data, s * layout.sample_stride + layout.offset[static_cast<std::size_t>(f)]);
  });
}

template <class Visit>
auto with_scalar(Scalar type, const Visit& visit) {
  switch (type) {
    case Scalar::boolean:
      return visit(std::type_identity<bool>());
    case Scalar::int8:
      return visit(std::type_identity<std::int8_t>());
    case Scalar::uint8:
      return visit(std::type_identity<std::uint8_t>());
    case Scalar::int16:
      return visit(std::type_identity<std::int16_t>());
    case Scalar::uint16:
      return visit(std::type_identity<std::uint16_t>());
    case Scalar::int32:
      return visit(std::type_identity<std::int32_t>());
    case Scalar::uint32:
      return visit(std::type_identity<std::uint32_t>());
    case Scalar::int64:
      return visit(std::type_identity<std::int64_t>());
    case Scalar::uint64:
      return visit(std::type_identity<std::uint64_t>());
    case Scalar::float16:
      return visit(std::type_identity<Half>());
    case Scalar::float32:
      return visit(std::type_identity<float>());
    case Scalar::float64:
      break;
  }
  return visit(std::type_identity<double>());
}

bool foreign_order(const TypedArray& array) {
  return array.big_endian == (std::endian::native == std::endian::little) && scalar_size(array.type) > 1;
}

/// A mapping below this size is copied: a page of its own costs more than the copy.
constexpr std::size_t kWorthMapping = std::size_t{1} << 20;

template <class T>
bool usable_as_is(const TypedArray& array, const Layout& layout) {
  const Scalar same = sizeof(T) == 4 ? Scalar::float32 : Scalar::float64;
  const bool aligned = reinterpret_cast<std::uintptr_t>(array.data) % 64 == 0;
  const bool small = static_cast<std::size_t>(array.count()) * sizeof(T) < kWorthMapping;
  return layout.flat && array.type == same && !foreign_order(array) && aligned && array.owner &&
         !(array.mapped && small);
}

}  // namespace

std::size_t scalar_size(Scalar type) {
  return with_scalar(type, [](auto s) { return sizeof(typename Stored<typename decltype(s)::type>::Word); });
}

Index TypedArray::count() const {
  Index product = 1;
  for (const Index length : shape) product *= length;
  return product;
}
Index TypedArray::samples() const { return samples_last ? shape.back() : shape.front(); }
Index TypedArray::features() const { return samples() == 0 ? 0 : count() / samples(); }

std::string shape_text(const std::vector<Index>& shape) {
  std::string text;
  for (const Index length : shape) text += (text.empty() ? "" : " x ") + std::to_string(length);
  return text.empty() ? "scalar" : text;
}

Index checked_count(const Reading& reading, const std::vector<Index>& shape, std::size_t item, std::size_t available,
                    std::string_view where) {
  if (shape.empty() || shape.size() > 32)
    reading.fail(where, line_of("has ", shape.size(), " dimensions; save an array with samples along its first axis"));
  Index count = 1;
  for (const Index length : shape) {
    if (length <= 0) reading.fail(where, line_of("is ", shape_text(shape), ", it holds no numbers; save at least one"));
    if (count > std::numeric_limits<Index>::max() / 16 / length)
      reading.fail(where, line_of("claims ", shape_text(shape), " numbers; the file is damaged"));
    count *= length;
  }
  if (static_cast<double>(count) * static_cast<double>(item) > static_cast<double>(available))
    reading.fail(where, line_of(shape_text(shape), " numbers of ", item, " bytes do not fit in the ", available,
                                " bytes there are; the file is truncated, copy it again"));
  return count;
}

template <class T>
void place(const TypedArray& array, const Reading& reading, std::string_view where, Table<T>& table) {
  const Index n = array.samples(), m = array.features();
  if (n <= 0 || m <= 0) reading.fail(where, line_of("is ", shape_text(array.shape), ", it holds no numbers"));
  const Layout layout = layout_of(array);
  table.sample_shape = array.shape;
  table.sample_shape.erase(array.samples_last ? table.sample_shape.end() - 1 : table.sample_shape.begin());
  if (table.sample_shape.size() < 2) table.sample_shape.clear();
  if (usable_as_is<T>(array, layout)) {
    table.values = {reinterpret_cast<const T*>(array.data), m, n};
    table.owner = array.owner;
    table.mapped = array.mapped;
    reading.at(1);
    return;
  }
  const Dense<T> out = allocate_dense<T>(m, n, reading);
  with_scalar(array.type, [&](auto s) {
    using S = typename decltype(s)::type;
    if (foreign_order(array))
      convert<T, S, true>(array, layout, reading, out.view);
    else
      convert<T, S, false>(array, layout, reading, out.view);
  });
  table.values = out.view;
  table.owner = out.owner;
}

std::vector<double> numbers_of(const TypedArray& array) {
  std::vector<double> out(static_cast<std::size_t>(array.count()));
  const bool swap = foreign_order(array);
  with_scalar(array.type, [&](auto s) {
    using S = typename decltype(s)::type;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto item = static_cast<Index>(i);
      out[i] = swap ? load<double, S, true>(array.data, item) : load<double, S, false>(array.data, item);
    }
  });
  return out;
}

template void place(const TypedArray&, const Reading&, std::string_view, Table<float>&);
template void place(const TypedArray&, const Reading&, std::string_view, Table<double>&);

}  // namespace pacewise
