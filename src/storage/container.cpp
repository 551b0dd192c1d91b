#include "storage/container.hpp"

#include <zlib.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "storage/atomic_file.hpp"

namespace pacewise {
namespace {

constexpr char kMagic[] = "PACEWISE";
constexpr std::size_t kPrefix = 32, kAlign = 64;

std::size_t aligned(std::size_t size) { return (size + kAlign - 1) / kAlign * kAlign; }

template <class V>
void append(std::string& out, V value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class V>
V take(const std::string& bytes, std::size_t at) {
  V value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

std::uint32_t checksum(std::uint32_t sum, const void* data, std::size_t count) {
  if (count == 0) return sum;  // zlib takes a null pointer for a new start
  return static_cast<std::uint32_t>(crc32_z(sum, static_cast<const Bytef*>(data), count));
}

void ContainerWriter::add(const std::string& name, const char* dtype, std::vector<Index> shape, const char* data,
                          std::size_t bytes) {
  header["arrays"][name] = {{"dtype", dtype}, {"shape", std::move(shape)}, {"offset", end_}};
  blocks_.push_back({data, bytes, end_});
  end_ = aligned(end_ + bytes);
}

template <class Sink>
void ContainerWriter::write_to(Sink&& sink) {
  if (!header.contains("arrays")) header["arrays"] = nlohmann::json::object();
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize(aligned(kPrefix + text.size()) - kPrefix, ' ');
  std::string lengths;  // bytes 16..31
  append(lengths, static_cast<std::uint64_t>(text.size()));
  append(lengths, static_cast<std::uint64_t>(kPrefix + text.size() + end_));
  std::string version;
  append(version, kFormatVersion);
  const std::string gap(kAlign, '\0');

  std::uint32_t sum = checksum(0, version.data(), version.size());
  sum = checksum(sum, lengths.data(), lengths.size());
  sum = checksum(sum, text.data(), text.size());
  for (const Block& block : blocks_) {
    sum = checksum(sum, block.data, block.bytes);
    sum = checksum(sum, gap.data(), aligned(block.bytes) - block.bytes);
  }
  std::string prefix = kMagic + version;
  append(prefix, sum);

  sink(prefix.data(), prefix.size());
  sink(lengths.data(), lengths.size());
  sink(text.data(), text.size());
  for (const Block& block : blocks_) {
    sink(block.data, block.bytes);
    sink(gap.data(), aligned(block.bytes) - block.bytes);
  }
}

void ContainerWriter::write(const std::string& path) {
  AtomicFile file(path);
  write_to([&](const char* data, std::size_t count) { file.write(data, count); });
  file.commit();
}

std::string ContainerWriter::bytes() {
  std::string out;
  write_to([&](const char* data, std::size_t count) { out.append(data, count); });
  return out;
}

namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ReadError(printable(path, 200) + ": cannot be opened: " + system_text(errno));
  std::ostringstream all;
  all << in.rdbuf();
  return std::move(all).str();
}

}  // namespace

ContainerReader::ContainerReader(const std::string& path) : ContainerReader(path, read_all(path)) {}

ContainerReader::ContainerReader(const std::string& path, std::string bytes) : path_(path), bytes_(std::move(bytes)) {
  if (bytes_.compare(0, 8, kMagic) != 0)
    fail("is not a Pacewise model; give a file that `pacewise fit -o` or save() wrote");
  if (bytes_.size() < kPrefix) fail("is cut short; write it again");
  const auto size = take<std::uint64_t>(bytes_, 24);
  if (size != bytes_.size())
    fail(line_of("has ", bytes_.size(), " bytes instead of ", size, ": it is cut short or damaged; write it again"));
  const std::uint32_t sum = checksum(checksum(0, bytes_.data() + 8, 4), bytes_.data() + 16, bytes_.size() - 16);
  if (sum != take<std::uint32_t>(bytes_, 12)) fail("is damaged: its checksum does not match; write it again");
  version = take<std::uint32_t>(bytes_, 8);
  if (version > kFormatVersion)
    fail(line_of("has format version ", version, ", this version reads up to ", kFormatVersion,
                 "; install a newer Pacewise"));
  const auto length = take<std::uint64_t>(bytes_, 16);
  if (version == 0 || length > bytes_.size() - kPrefix) fail("is damaged: its header does not fit in it");
  base_ = kPrefix + length;
  header = nlohmann::json::parse(bytes_.begin() + kPrefix, bytes_.begin() + static_cast<std::ptrdiff_t>(base_), nullptr,
                                 false);
  if (!header.is_object() || !header.contains("arrays")) fail("is damaged: its header is not a JSON object");
}

void ContainerReader::fail(const std::string& what) const { throw ReadError(printable(path_, 200) + ": " + what); }

std::vector<Index> ContainerReader::shape(const std::string& name) const {
  return header.at("arrays").at(name).at("shape").get<std::vector<Index>>();
}

std::pair<const char*, std::size_t> ContainerReader::find(const std::string& name, const char* dtype, std::size_t size,
                                                          std::size_t axes) const {
  if (!has(name)) fail("lacks the array \"" + name + "\"");
  const nlohmann::json& entry = header.at("arrays").at(name);
  const std::vector<Index> extents = shape(name);
  if (entry.at("dtype") != dtype || extents.size() != axes)
    fail(line_of("holds \"", name, "\" as ", entry.at("dtype").get<std::string>(), " with ", extents.size(),
                 " axes, not as ", dtype, " with ", axes));
  Index count = 1;
  for (const Index extent : extents) count = static_cast<Index>(checked_size(count, extent));
  const auto offset = entry.at("offset").get<std::uint64_t>();
  const std::size_t room = bytes_.size() - base_;
  if (offset > room || static_cast<std::size_t>(count) > (room - offset) / size)
    fail("is damaged: the array \"" + name + "\" does not fit in it");
  return {bytes_.data() + base_ + offset, static_cast<std::size_t>(count)};
}

bool is_container(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char head[8] = {};
  in.read(head, sizeof head);
  return in && std::memcmp(head, kMagic, sizeof head) == 0;
}

}  // namespace pacewise
