#include "io/typed_array.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace pacewise {
namespace {

struct Bool {
  std::uint8_t byte;
  operator double() const { return byte != 0 ? 1 : 0; }
};

struct Half {  // IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits
  std::uint16_t bits;
  operator double() const {
    const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double magnitude = std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25);
    if (exponent == 31) magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }
};

/// Calls visit(type_identity<S>) for the S that `type` names; false where there is none.
template <class Visit>
bool with_type(std::string_view type, const Visit& visit) {
  const auto among = [&]<class... S>(std::initializer_list<std::string_view> names, std::type_identity<S>... types) {
    const std::string_view* name = names.begin();
    return ((*name++ == type && (visit(types), true)) || ...);
  };
  using std::type_identity;
  return among({"f4", "f8", "u1", "i1", "b1", "i2", "u2", "i4", "u4", "i8", "u8", "f2"}, type_identity<float>(),
               type_identity<double>(), type_identity<std::uint8_t>(), type_identity<std::int8_t>(),
               type_identity<Bool>(), type_identity<std::int16_t>(), type_identity<std::uint16_t>(),
               type_identity<std::int32_t>(), type_identity<std::uint32_t>(), type_identity<std::int64_t>(),
               type_identity<std::uint64_t>(), type_identity<Half>());
}

template <class S>
S load(const char* base, Index item, bool swap) {
  std::array<char, sizeof(S)> bytes;
  std::memcpy(bytes.data(), base + static_cast<std::size_t>(item) * sizeof(S), sizeof(S));
  if (swap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<S>(bytes);
}

/// Sample s, feature f lies at s * sample_stride + offset[f].
struct Layout {
  Index sample_stride = 1;
  Vector<Index> offset{0};
  bool flat = true;  // the wanted order is the order in memory

  explicit Layout(const TypedArray& array) {
    const std::size_t axes = array.shape.size(), sample_axis = array.samples_last ? axes - 1 : 0;
    std::vector<Index> stride(axes, 1);
    for (std::size_t a = 1; a < axes; ++a) {
      if (array.fortran)
        stride[a] = stride[a - 1] * array.shape[a - 1];
      else
        stride[axes - 1 - a] = stride[axes - a] * array.shape[axes - a];
    }
    sample_stride = stride[sample_axis];
    for (std::size_t a = 0; a < axes; ++a) {
      if (a == sample_axis) continue;
      Vector<Index> finer;
      for (const Index o : offset)
        for (Index i = 0; i < array.shape[a]; ++i) finer.push_back(o + i * stride[a]);
      offset = std::move(finer);
    }
    for (std::size_t f = 0; f < offset.size(); ++f) flat = flat && offset[f] == static_cast<Index>(f);
    flat = flat && sample_stride == static_cast<Index>(offset.size());
  }
};

bool foreign_order(const TypedArray& array) {
  return array.big_endian == (std::endian::native == std::endian::little) && item_size(array.type) > 1;
}

/// A mapping below this size is copied: a page of its own costs more than the copy.
constexpr std::size_t kWorthMapping = std::size_t{1} << 20;

template <class T>
bool usable_as_is(const TypedArray& array, const Layout& layout) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(array.data) % 64 == 0;
  const bool small = static_cast<std::size_t>(array.count()) * sizeof(T) < kWorthMapping;
  return layout.flat && array.type == (sizeof(T) == 4 ? "f4" : "f8") && !foreign_order(array) && aligned &&
         array.owner && !(array.mapped && small);
}

}  // namespace

bool is_numeric_type(std::string_view type) {
  return with_type(type, [](auto) {});
}

Index TypedArray::count() const {
  Index product = 1;
  for (const Index length : shape) product *= length;
  return product;
}

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
void place(Variable variable, const Reading& reading, std::string_view where, Table<T>& table) {
  if (variable.is_text) reading.fail(where, "holds text; give numbers, or use it as labels");
  if (variable.sparse) {
    if (variable.sparse->empty()) reading.fail(where, "holds no samples; save at least one");
    table.sparse = std::move(variable.sparse);
    reading.at(1);
    return;
  }
  const TypedArray& array = variable.array;
  checked_count(reading, array.shape, 0, 0, where);
  const Layout layout(array);
  const Index n = array.samples(), m = array.count() / n;
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
  const MatrixView<T> out = allocate(table, m, n, reading);
  with_type(array.type, [&]<class S>(std::type_identity<S>) {
    const bool swap = foreign_order(array);
    // 64 neighbouring samples at a time: a cache line is used whole on the side where samples are neighbours
    reading.for_blocks(block_count(n), 0.5, 1, [&](Index block) {
      const Index first = block * kBlock, last = first + block_length(n, block);
      if (layout.flat)
        for (Index i = first * m; i < last * m; ++i) out.data[i] = static_cast<T>(load<S>(array.data, i, swap));
      else
        for (Index f = 0; f < m; ++f)
          for (Index s = first; s < last; ++s)
            out(f, s) = static_cast<T>(load<S>(array.data, s * layout.sample_stride + layout.offset[f], swap));
    });
  });
}

std::vector<double> vector_of(const TypedArray& array, const Reading& reading, std::string_view where) {
  if (array.shape.empty() || *std::max_element(array.shape.begin(), array.shape.end()) != array.count())
    reading.fail(where, line_of("is ", shape_text(array.shape), "; one vector is needed"));
  Table<double> table;
  place({array, {}, {}, false}, reading, where, table);
  return {table.values.data, table.values.data + array.count()};
}

template void place(Variable, const Reading&, std::string_view, Table<float>&);
template void place(Variable, const Reading&, std::string_view, Table<double>&);

}  // namespace pacewise
