#include "io/inflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <climits>

namespace pacewise {
namespace {

class Inflater {
 public:
  Inflater(const Reading& reading, std::string_view packed, int window_bits, std::string_view where)
      : reading_(reading), packed_(packed), where_(where) {
    if (inflateInit2(&stream_, window_bits) != Z_OK) reading.fail(where, "zlib cannot start; free some memory");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool more_input() const { return used_ < packed_.size(); }
  std::string_view rest() const { return packed_.substr(used_); }

  /// Appends one stream's output to `out`, never more than `limit` bytes in all.
  void run(std::string& out, std::size_t limit) {
    int state = Z_OK;
    while (state != Z_STREAM_END) {
      // grow by what has come so far, so memory stays within twice the true output
      const std::size_t room = std::clamp(out.size(), std::size_t{1} << 16, std::size_t{1} << 26);
      const std::size_t before = out.size();
      out.resize(before + room);
      state = step(out.data() + before, room);
      out.resize(before + room - stream_.avail_out);
      if (out.size() > limit)
        reading_.fail(where_, line_of("expands to more than ", size_text(static_cast<double>(limit)),
                                      "; the compressed data are damaged"));
      if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
        reading_.fail(where_, line_of("compressed data are damaged at byte ", used_, "; copy the file again"));
      if (state != Z_STREAM_END && stream_.avail_out > 0 && used_ == packed_.size())
        reading_.fail(where_, "compressed data end too early; the file is truncated, copy it again");
      reading_.at(0.5 * static_cast<double>(used_) / static_cast<double>(std::max<std::size_t>(packed_.size(), 1)));
    }
  }
  void next_member() { inflateReset(&stream_); }

 private:
  int step(char* out, std::size_t room) {
    const std::size_t in = std::min<std::size_t>(packed_.size() - used_, UINT_MAX / 2);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed_.data() + used_));
    stream_.avail_in = static_cast<uInt>(in);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(room);
    const int state = inflate(&stream_, Z_NO_FLUSH);
    used_ += in - stream_.avail_in;
    return state;
  }

  const Reading& reading_;
  std::string_view packed_;
  std::string where_;
  std::size_t used_ = 0;
  z_stream stream_{};
};

}  // namespace

void unzip_reading(Reading& reading) {
  auto out = std::make_shared<std::string>();
  const double bound = kExpansion * static_cast<double>(reading.bytes.size());
  const std::size_t limit = static_cast<std::size_t>(std::min(bound, static_cast<double>(available_memory()) / 2));
  Inflater inflater(reading, reading.bytes, 16 + MAX_WBITS, "gzip");
  inflater.run(*out, limit);
  while (is_gzip(inflater.rest())) {
    inflater.next_member();
    inflater.run(*out, limit);
  }
  if (inflater.rest().find_first_not_of('\0') != std::string_view::npos)
    reading.fail("gzip", "bytes follow the end of the compressed data; copy the file again");
  if (out->empty()) reading.fail("gzip", "the compressed file is empty; write the data again");
  reading.bytes = *out;
  reading.owner = out;
  reading.mapped = false;
}

std::shared_ptr<const std::string> inflate_entry(const Reading& reading, std::string_view packed, std::size_t expected,
                                                 std::string_view where) {
  auto out = std::make_shared<std::string>();
  Inflater inflater(reading, packed, -MAX_WBITS, where);
  inflater.run(*out, expected);
  if (out->size() != expected)
    reading.fail(where, line_of("expands to ", out->size(), " bytes instead of ", expected, "; copy the file again"));
  return out;
}

std::shared_ptr<const std::string> inflate_stream(const Reading& reading, std::string_view packed,
                                                  std::string_view where) {
  auto out = std::make_shared<std::string>();
  const double bound = kExpansion * static_cast<double>(packed.size()) + 64;
  const std::size_t limit = static_cast<std::size_t>(std::min(bound, static_cast<double>(available_memory()) / 2));
  Inflater inflater(reading, packed, MAX_WBITS, where);
  inflater.run(*out, limit);
  return out;
}

}  // namespace pacewise
