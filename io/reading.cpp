#include "io/reading.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "io/inflate.hpp"

namespace pacewise {
namespace {

struct Descriptor {
  int number = -1;
  explicit Descriptor(int n) : number(n) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

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

/// Pipes and devices: their length is unknown, so memory grows with what really arrives.
void slurp(Reading& reading, int descriptor) {
  auto content = std::make_shared<std::string>();
  const std::size_t limit = available_memory() / 2;
  std::string piece(std::size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_open(reading.path, errno);
    if (count == 0) break;
    content->append(piece, 0, static_cast<std::size_t>(count));
    if (content->size() > limit)
      reading.fail("", line_of("the stream exceeds ", size_text(static_cast<double>(limit)),
                               ", half of the free memory; ", "give a regular file"));
    reading.at(0);
  }
  reading.bytes = *content;
  reading.owner = content;
}

/// `file.mat:name` -> file.mat, name. A colon may be part of the file's own name, so an existing file wins.
void split_variable(Reading& reading) {
  struct stat status {};
  if (::stat(reading.path.c_str(), &status) == 0 || errno == EACCES) return;
  for (std::size_t colon = reading.path.rfind(':'); colon != std::string::npos && colon > 0;
       colon = reading.path.rfind(':', colon - 1)) {
    const std::string file = reading.path.substr(0, colon);
    if (::stat(file.c_str(), &status) != 0) continue;
    std::string name = reading.path.substr(colon + 1);
    if (name.empty()) reading.fail("", "nothing after the ':'; name a variable or leave out the ':'");
    if (!reading.variable.empty() && reading.variable != name)
      reading.fail("", line_of("two variables are named: ", printable(name), " in the path and ",
                               printable(reading.variable), " in the options; name one"));
    reading.path = file;
    reading.variable = std::move(name);
    return;
  }
}

}  // namespace

Reading open_plain(const std::string& path, const ReadOptions& options) {
  Reading reading;
  reading.path = path;
  reading.options = options;
  reading.variable = options.variable;
  if (options.progress)  // several arrays of one file are read in turn: the fraction never goes back
    reading.options.progress = [report = options.progress, best = std::make_shared<double>(-1)](double fraction) {
      if (fraction <= *best) return;
      *best = fraction;
      report(fraction);
    };
  if (path.empty() || path.find('\0') != std::string::npos) cannot_open(path, ENOENT);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number < 0) cannot_open(path, errno);
  struct stat status {};
  if (::fstat(file.number, &status) != 0) cannot_open(path, errno);
  if (S_ISDIR(status.st_mode)) cannot_open(path, EISDIR);
  const auto size = static_cast<std::size_t>(status.st_size);
  // files of the /proc kind say 0 bytes and hold some
  if (S_ISREG(status.st_mode) && size > 0)
    map(reading, file.number, size);
  else
    slurp(reading, file.number);
  reading.stored = reading.bytes.size();
  if (reading.bytes.empty()) reading.fail("", "the file is empty; write the data again");
  return reading;
}

Reading open_reading(const std::string& path, const ReadOptions& options) {
  Reading named;
  named.path = path;
  named.variable = options.variable;
  split_variable(named);
  Reading reading = open_plain(named.path, options);
  reading.variable = named.variable;
  if (is_gzip(reading.bytes)) unzip_reading(reading);
  return reading;
}

void Reading::fail(std::string_view where, std::string_view what) const {
  std::string text = printable(path, 200) + ": ";
  if (!where.empty()) text += printable(where, 200) + ": ";
  throw ReadError(text + std::string(what));
}

void Reading::check_claim(double count, double size, std::string_view where) const {
  // small files may hold small arrays however well they are compressed
  const double bound = kExpansion * std::max(static_cast<double>(stored), 65536.0);
  if (count * size > bound)
    fail(where, line_of("claims ", size_text(count * size), " of data in a file of ",
                        size_text(static_cast<double>(stored)), "; the file is damaged"));
}

void Reading::at(double fraction, int worker) const {
  if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) throw Cancelled{};
  if (worker == 0 && options.progress) options.progress(fraction);
}

void Reading::for_blocks(Index blocks, double from, double to, const std::function<void(Index)>& body) const {
  Control control;
  control.threads = options.threads;
  control.cancel = options.cancel;
  std::vector<std::exception_ptr> failure(static_cast<std::size_t>(blocks));
  std::atomic<Index> first_failure{blocks};
  std::atomic<Index> done{0};
  parallel_blocks(blocks, control, [&](Index block, int worker) {
    if (first_failure.load() < block) return;  // blocks begin in order, so every earlier block is still tried
    try {
      body(block);
    } catch (...) {
      failure[static_cast<std::size_t>(block)] = std::current_exception();
      Index seen = first_failure.load();
      while (block < seen && !first_failure.compare_exchange_weak(seen, block)) {
      }
      return;
    }
    const auto share = static_cast<double>(done.fetch_add(1) + 1) / static_cast<double>(blocks);
    at(from + share * (to - from), worker);
  });
  if (control.cancelled()) throw Cancelled{};
  if (first_failure.load() < blocks) std::rethrow_exception(failure[static_cast<std::size_t>(first_failure.load())]);
}

namespace {

/// All of it will be written: large pages spare most of the page faults, which take as long as parsing the numbers.
void prefer_large_pages(void* start, std::size_t size) {
#if defined(MADV_HUGEPAGE)
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (size < std::size_t{1} << 22U) return;
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(start) % page) % page;  // to the first whole page
  // advice: a refusal changes nothing
  ::madvise(static_cast<char*>(start) + before, (size - before) / page * page, MADV_HUGEPAGE);
#else
  static_cast<void>(start);
  static_cast<void>(size);
#endif
}

}  // namespace

template <class T>
Dense<T> allocate_dense(Index rows, Index cols, const Reading& reading) {
  const double bytes = static_cast<double>(rows) * static_cast<double>(cols) * sizeof(T);
  const std::size_t available = available_memory();
  if (bytes > static_cast<double>(available))
    reading.fail("", line_of(cols, " samples of ", rows, " features take ", size_text(bytes), ", ",
                             size_text(static_cast<double>(available)),
                             " are free; use single precision, fewer samples or more memory"));
  const std::size_t count = checked_size(rows, cols);
  AlignedAllocator<T> allocator;
  T* numbers = allocator.allocate(count);
  prefer_large_pages(numbers, count * sizeof(T));
  Dense<T> out;
  out.owner = std::shared_ptr<const void>(numbers, [count](const void* p) {
    AlignedAllocator<T>().deallocate(static_cast<T*>(const_cast<void*>(p)), count);
  });
  out.view = {numbers, rows, cols};
  return out;
}

template Dense<float> allocate_dense(Index, Index, const Reading&);
template Dense<double> allocate_dense(Index, Index, const Reading&);

}  // namespace pacewise
