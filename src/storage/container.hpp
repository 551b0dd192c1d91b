#pragma once
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "pacewise/matrix.hpp"

namespace pacewise {

// The container of models and checkpoints: one file,
//    0   8 bytes  "PACEWISE"
//    8   u32      format version
//   12   u32      CRC-32 (zlib's) of bytes 8..11 followed by bytes 16..end
//   16   u64      length of the JSON text; blanks at its end make 32 + length a multiple of 64
//   24   u64      size of the whole file
//   32            JSON; "arrays" gives name -> {dtype, shape, offset from the end of the JSON}
//                 the arrays, each on a 64-byte boundary, little-endian, row by row
inline constexpr std::uint32_t kFormatVersion = 4;
static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

template <class T>
constexpr const char* dtype_of() {
  if constexpr (std::is_same_v<T, float>) return "<f4";
  if constexpr (std::is_same_v<T, double>) return "<f8";
  if constexpr (std::is_same_v<T, std::int32_t>) return "<i4";
  if constexpr (std::is_same_v<T, std::int64_t>) return "<i8";
}

class ContainerWriter {
 public:
  nlohmann::json header = nlohmann::json::object();

  /// The numbers must stay alive until write().
  template <class T>
  void add(const std::string& name, std::vector<Index> shape, const T* data) {
    std::size_t count = 1;
    for (const Index extent : shape) count *= static_cast<std::size_t>(extent);
    add(name, dtype_of<T>(), std::move(shape), reinterpret_cast<const char*>(data), count * sizeof(T));
  }
  /// Whole or not at all; a WriteError else.
  void write(const std::string& path);
  std::string bytes();

 private:
  struct Block {
    const char* data;
    std::size_t bytes, offset;
  };
  void add(const std::string& name, const char* dtype, std::vector<Index> shape, const char* data, std::size_t bytes);
  template <class Sink>
  void write_to(Sink&& sink);

  std::vector<Block> blocks_;
  std::size_t end_ = 0;
};

class ContainerReader {
 public:
  /// Reads and checks the whole file; a ReadError says what is wrong with it.
  explicit ContainerReader(const std::string& path);
  /// The bytes of a file; `path` is its name in messages.
  ContainerReader(const std::string& path, std::string bytes);

  nlohmann::json header;
  std::uint32_t version = 0;
  const std::string& path() const { return path_; }
  bool has(const std::string& name) const { return header.at("arrays").contains(name); }
  std::vector<Index> shape(const std::string& name) const;
  /// The numbers of an array of exactly this type and number of axes.
  template <class T>
  Vector<T> read(const std::string& name, std::size_t axes) const {
    const auto [data, count] = find(name, dtype_of<T>(), sizeof(T), axes);
    Vector<T> out(count);
    if (count > 0) std::memcpy(out.data(), data, count * sizeof(T));
    return out;
  }
  /// The same of numbers in the precision that the header states, as T.
  template <class T>
  Vector<T> read_real(const std::string& name, std::size_t axes) const {
    const bool single = header.at("precision") == "single";
    if (single == std::is_same_v<T, float>) return read<T>(name, axes);
    const auto other = read<std::conditional_t<std::is_same_v<T, float>, double, float>>(name, axes);
    return Vector<T>(other.begin(), other.end());
  }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::pair<const char*, std::size_t> find(const std::string& name, const char* dtype, std::size_t size,
                                           std::size_t axes) const;
  std::string path_, bytes_;
  std::size_t base_ = 0;
};

/// CRC-32 as zlib computes it, of the bytes that follow those of `sum`.
std::uint32_t checksum(std::uint32_t sum, const void* data, std::size_t count);

/// Whether the file begins like a model; false also where it cannot be read.
bool is_container(const std::string& path);

}  // namespace pacewise
