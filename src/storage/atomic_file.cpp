#include "storage/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <random>
#include <utility>

namespace pacewise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = std::size_t{1} << 20;

/// The descriptor that a path such as /dev/stdout stands for, or -1. Opening the path again would start at offset 0 of
/// a file that the shell has opened for appending.
int named_descriptor(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    int number = -1;
    const char* end = path.data() + path.size();
    if (path.starts_with(prefix) && std::from_chars(path.data() + prefix.size(), end, number).ptr == end) return number;
  }
  return -1;
}

/// Where the link chain ends, also when nothing is there yet.
std::string resolve(fs::path path) {
  std::error_code error;
  for (int depth = 0; depth < 40 && fs::is_symlink(path, error); ++depth)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Temporaries of writers that were killed: those alive hold a lock.
void remove_leftovers(const std::string& target) {
  const std::string prefix = fs::path(target).filename().string() + ".";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(target), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(".tmp")) continue;
    const std::string number = name.substr(prefix.size(), name.size() - prefix.size() - 4);
    if (number.empty() || number.find_first_not_of("0123456789abcdef") != std::string::npos) continue;
    const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
    ::close(descriptor);
  }
}

/// Pipes and devices have nothing to flush, and say so.
bool flush_matters(int error) { return error != EINVAL && error != ENOTSUP && error != EROFS; }

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  if (path.empty()) throw WriteError("output file: the name is empty; give a path");
  buffer_.reserve(kBuffer);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail("cannot write", EISDIR);
  const int given = named_descriptor(path);
  if (given >= 0 || (exists && !S_ISREG(status.st_mode))) {
    descriptor_ = given >= 0 ? ::fcntl(given, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot open for writing", errno);
    return;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) fail("cannot write", errno);
  target_ = resolve(path);
  open_temporary(status.st_mode & 07777U, exists);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::open_temporary(unsigned mode, bool exists) {
  remove_leftovers(target_);
  std::random_device device;
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = line_of(target_, ".", std::hex, device(), ".tmp");
    // mode 0666 and O_EXCL instead of mkstemp: the user's umask decides, as for any other new file
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
    struct stat now {};
    if (descriptor_ >= 0 && (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
        ::fstat(descriptor_, &now) == 0 && now.st_nlink > 0)
      break;
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));  // another run took it for a leftover
  }
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail(line_of("cannot create a file in the folder ", printable(folder_of(target_), 200)).c_str(), error);
  }
  if (exists && ::fchmod(descriptor_, mode) != 0) fail("cannot keep the mode", errno);
}

void AtomicFile::write(const void* bytes, std::size_t count) {
  buffer_.append(static_cast<const char*>(bytes), count);
  if (buffer_.size() >= kBuffer) flush();
}

void AtomicFile::flush() {
  for (std::string_view rest = buffer_; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) fail("cannot write", errno);
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  if (descriptor_ < 0) throw WriteError(line_of(printable(path_, 200), ": already committed"));
  flush();
  if (::fsync(descriptor_) != 0 && flush_matters(errno)) fail("cannot flush to the disk", errno);
  const int closing = descriptor_;
  descriptor_ = -1;
  if (::close(closing) != 0 && errno != EINTR) fail("cannot close", errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot rename the finished file", errno);
  temporary_.clear();
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // a folder that may be written but not read: the rename itself has succeeded
  const int failed = ::fsync(folder) != 0 ? errno : 0;
  ::close(folder);
  if (failed != 0 && flush_matters(failed)) fail("cannot flush the folder", failed);
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail(const char* action, int error) {
  discard();
  const char* advice = "choose another place";
  if (error == ENOSPC || error == EDQUOT) advice = "free some space";
  if (error == EACCES || error == EPERM || error == EROFS) advice = "choose a folder you may write to";
  if (error == ENOENT) advice = "create the folder first";
  if (error == EISDIR) advice = "give a file name, not a folder";
  throw WriteError(line_of(printable(path_, 200), ": ", action, ": ", system_text(error), "; ", advice));
}

}  // namespace pacewise
