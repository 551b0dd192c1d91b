#include "io/reading.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <exception>

#include "io/formats.hpp"

namespace pacewise {
namespace {

[[noreturn]] void cannot_open(const std::string& path, int error) {
  const char* advice = error == ENOENT   ? "check the name"
                       : error == EACCES ? "ask for the right to read it"
                                         : "check it";
  throw ReadError(line_of(printable(path, 200), ": cannot read: ", system_text(error), "; ", advice));
}

void map(Reading& reading, int descriptor, std::size_t size) {
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) cannot_open(reading.path, errno);
  reading.owner = std::shared_ptr<const void>(start, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  reading.bytes = {static_cast<const char*>(start), size};
  reading.mapped = true;
}

/// Makes room after the first `used` bytes of a buffer whose final size is not known: it doubles.
void grow(const Reading& reading, std::string& buffer, std::size_t used, std::string_view where) {
  if (used < buffer.size()) return;
  const std::size_t size = std::max(2 * used, std::size_t{1} << 16);
  reading.check_size(static_cast<double>(size), where);
  buffer.resize(size);
}

constexpr std::size_t kEnough = 4096;  // bytes that tell a format

bool is_gzip(std::string_view bytes) { return bytes.substr(0, 3) == "\x1f\x8b\x08"; }

/// Pipes and devices: their length is unknown, so memory grows with what really arrives.
void slurp(Reading& reading, int descriptor) {
  const auto content = std::make_shared<std::string>();
  for (;;) {
    grow(reading, *content, reading.stored, "the stream, which is no regular file,");
    const ssize_t count = ::read(descriptor, content->data() + reading.stored, content->size() - reading.stored);
    reading.at(0);  // a signal ends a read that waits
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_open(reading.path, errno);
    if (count == 0) break;
    const bool enough = reading.stored < kEnough && reading.stored + static_cast<std::size_t>(count) >= kEnough;
    reading.stored += static_cast<std::size_t>(count);
    reading.bytes = std::string_view(*content).substr(0, reading.stored);
    if (enough && !is_gzip(reading.bytes)) check_known(reading);  // a stream may have no end
  }
  reading.bytes = std::string_view(*content).substr(0, reading.stored);
  reading.owner = content;
}

/// Replaces the bytes of a gzip file by what they expand to.
void unzip(Reading& reading) {
  const auto out = std::make_shared<std::string>();
  reading.inflate(reading.bytes, *out, "gzip");
  if (reading.bytes.find_first_not_of('\0') != std::string_view::npos)
    reading.fail("gzip", "bytes follow the end of the compressed data; copy the file again");
  if (out->empty()) reading.fail("gzip", "the compressed file is empty; write the data again");
  reading.bytes = *out;
  reading.owner = out;
  reading.mapped = false;
}

/// `file.mat:name` -> file.mat, name. A colon may be part of the file's own name, so an existing file wins.
void split_variable(Reading& reading) {
  struct stat status {};
  if (::stat(reading.path.c_str(), &status) == 0 || errno == EACCES) return;
  for (std::size_t colon = reading.path.rfind(':'); colon != std::string::npos && colon > 0;
       colon = reading.path.rfind(':', colon - 1)) {
    const std::string file = reading.path.substr(0, colon), name = reading.path.substr(colon + 1);
    if (::stat(file.c_str(), &status) != 0) continue;
    if (name.empty()) reading.fail("", "nothing after the ':'; name a variable or leave out the ':'");
    if (!reading.variable.empty() && reading.variable != name)
      reading.fail("", line_of("two variables are named: ", printable(name), " in the path and ",
                               printable(reading.variable), " in the options; name one"));
    reading.path = file;
    reading.variable = name;
    return;
  }
}

void open(Reading& reading) {
  if (reading.path.empty() || reading.path.find('\0') != std::string::npos) cannot_open(reading.path, ENOENT);
  int descriptor = -1;
  do {
    reading.at(0);
    descriptor = ::open(reading.path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);  // a pipe nobody writes to
  if (descriptor < 0) cannot_open(reading.path, errno);
  const std::shared_ptr<void> closing(nullptr, [descriptor](void*) { ::close(descriptor); });
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) cannot_open(reading.path, errno);
  if (S_ISDIR(status.st_mode)) cannot_open(reading.path, EISDIR);
  // files of the /proc kind say 0 bytes and hold some
  if (S_ISREG(status.st_mode) && status.st_size > 0)
    map(reading, descriptor, reading.stored = static_cast<std::size_t>(status.st_size));
  else
    slurp(reading, descriptor);
  if (reading.bytes.empty()) reading.fail("", "the file is empty; write the data again");
}

Reading named(const std::string& path, const ReadOptions& options) {
  Reading reading;
  reading.path = path;
  reading.options = options;
  reading.variable = options.variable;
  if (options.progress)  // several arrays of one file are read in turn: the fraction never goes back
    reading.options.progress = [report = options.progress, best = std::make_shared<double>(-1)](double fraction) {
      if (fraction > *best) report(*best = fraction);
    };
  return reading;
}

}  // namespace

Reading open_plain(const std::string& path, const ReadOptions& options) {
  Reading reading = named(path, options);
  open(reading);
  return reading;
}

Reading open_reading(const std::string& path, const ReadOptions& options) {
  Reading reading = named(path, options);
  split_variable(reading);
  open(reading);
  if (is_gzip(reading.bytes)) unzip(reading);
  return reading;
}

void Reading::fail(std::string_view where, std::string_view what) const {
  std::string text = printable(path, 200) + ": ";
  if (!where.empty()) text += printable(where, 200) + ": ";
  throw ReadError(text + std::string(what));
}

void Reading::check_size(double size, std::string_view where) const {
  const auto available = static_cast<double>(available_memory());
  if (size > available)
    fail(where, line_of("takes ", size_text(size), " of memory, ", size_text(available),
                        " are free; use single precision, fewer samples or more memory"));
}

void Reading::check_claim(double size, std::string_view where) const {
  if (size > 1032 * std::max(static_cast<double>(stored), 65536.0))
    fail(where, line_of("claims ", size_text(size), " of data in a file of ", size_text(static_cast<double>(stored)),
                        "; the file is damaged"));
  check_size(size, where);
}

void Reading::inflate(std::string_view& packed, std::string& out, std::string_view where) const {
  z_stream stream{};
  if (inflateInit2(&stream, 32 + MAX_WBITS) != Z_OK) fail(where, "zlib cannot start; free some memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> closing(&stream, inflateEnd);
  std::size_t used = 0, size = out.size();
  for (int state = Z_OK; state != Z_STREAM_END;) {
    grow(*this, out, size, where);
    const std::size_t in = std::min(packed.size() - used, std::size_t{1} << 30U);
    const std::size_t room = std::min(out.size() - size, std::size_t{1} << 26U);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + used));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream.avail_out = static_cast<uInt>(room);
    state = ::inflate(&stream, Z_NO_FLUSH);
    used += in - stream.avail_in;
    size += room - stream.avail_out;
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      fail(where, line_of("compressed data are damaged at byte ", used, "; copy the file again"));
    if (state != Z_STREAM_END && stream.avail_out > 0 && used == packed.size())
      fail(where, "compressed data end too early; the file is truncated, copy it again");
    if (state == Z_STREAM_END && is_gzip(packed.substr(used))) state = inflateReset(&stream);
    at(0.5 * static_cast<double>(used) / static_cast<double>(std::max<std::size_t>(packed.size(), 1)));
  }
  out.resize(size);
  packed.remove_prefix(used);
}

void Reading::at(double fraction, int worker) const {
  if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) throw Cancelled{};
  if (worker == 0 && options.progress) options.progress(fraction);
}

void Reading::for_blocks(Index blocks, double from, double to, const std::function<void(Index)>& body) const {
  Control control;
  control.threads = options.threads;
  control.cancel = options.cancel;
  Vector<std::exception_ptr> failures(blocks, nullptr);
  std::atomic<Index> done{0};
  const auto guarded = [&](Index block, Index, int worker) {
    try {
      body(block);
      const auto share = static_cast<double>(++done) / static_cast<double>(blocks);
      at(from + share * (to - from), worker);
    } catch (...) {
      failures[block] = std::current_exception();
    }
  };
  parallel_for(blocks, control, guarded, 1);
  if (control.cancelled()) throw Cancelled{};
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace pacewise
