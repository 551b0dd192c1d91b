#include "storage/atomic_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "scratch.hpp"

namespace pacewise {
namespace {

template <class Action>
std::string write_error_of(const Action& action) {
  try {
    action();
  } catch (const WriteError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no WriteError was thrown";
  return "";
}

void write_whole(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

TEST(AtomicFile, ReplacesOnlyOnCommit) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "before");
  {
    AtomicFile file(path);
    file.write("after");
    EXPECT_EQ(content(path), "before");
    EXPECT_EQ(scratch.entries(), 2U);
    file.commit();
  }
  EXPECT_EQ(content(path), "after");
  EXPECT_EQ(scratch.entries(), 1U);
  { AtomicFile(path).write("never"); }
  EXPECT_EQ(content(path), "after") << "without commit nothing changes";
  EXPECT_EQ(scratch.entries(), 1U);
}

TEST(AtomicFile, LargeAndManySmallWrites) {
  const Scratch scratch;
  const std::string path = scratch.path("big");
  std::string expected;
  {
    AtomicFile file(path);
    const std::string large(3000000, 'x');
    for (int i = 0; i < 3; ++i) {
      file.write(large);
      file.write("small");
      expected += large + "small";
    }
    file.commit();
  }
  EXPECT_TRUE(content(path) == expected);
}

TEST(AtomicFile, KeepsModeAndLinks) {
  const Scratch scratch;
  const std::string real = scratch.file("real", "1");
  ::chmod(real.c_str(), 0640);
  const std::string link = scratch.path("link");
  ASSERT_EQ(::symlink("real", link.c_str()), 0);
  write_whole(link, "2");
  EXPECT_EQ(content(real), "2");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  struct stat status {};
  ::stat(real.c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  const std::string dangling = scratch.path("dangling");
  ASSERT_EQ(::symlink("later", dangling.c_str()), 0);
  write_whole(dangling, "3");
  EXPECT_EQ(content(scratch.path("later")), "3");
}

TEST(AtomicFile, NewFilesFollowTheUmask) {
  const Scratch scratch;
  const mode_t before = ::umask(027);
  write_whole(scratch.path("a"), "x");
  ::umask(before);
  struct stat status {};
  ::stat(scratch.path("a").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST(AtomicFile, FailuresNamePathAndCauseAndLeaveNothing) {
  const Scratch scratch;
  const std::string missing = scratch.path("no/such/a.npy");
  const std::string error = write_error_of([&] { write_whole(missing, "x"); });
  EXPECT_TRUE(has(error, missing));
  EXPECT_TRUE(has(error, "No such file or directory; create the folder first"));
  EXPECT_TRUE(has(write_error_of([&] { write_whole(scratch.folder(), "x"); }), "Is a directory"));
  EXPECT_TRUE(has(write_error_of([&] { write_whole("", "x"); }), "name is empty"));
  EXPECT_TRUE(has(write_error_of([&] { write_whole("/dev/full", "x"); }), "No space left on device"));
  EXPECT_TRUE(has(write_error_of([&] { write_whole("/proc/a.npy", "x"); }), "/proc"));
  EXPECT_EQ(scratch.entries(), 0U);
}

/// A disk that fills up in the middle, played by the limit on the size of files.
TEST(AtomicFile, FullDiskRemovesTheTemporaryAndKeepsTheTarget) {
  const Scratch scratch;
  const std::string path = scratch.file("a", "before");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1 << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = write_error_of([&] { write_whole(path, std::string(5 << 20, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(has(error, "File too large"));
  EXPECT_EQ(content(path), "before");
  EXPECT_EQ(scratch.entries(), 1U);
}

TEST(AtomicFile, FolderWithoutPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const Scratch scratch;
  ::chmod(scratch.folder().c_str(), 0500);
  const std::string error = write_error_of([&] { write_whole(scratch.path("a"), "x"); });
  ::chmod(scratch.folder().c_str(), 0700);
  EXPECT_TRUE(has(error, "Permission denied; choose a folder you may write to"));
  const std::string locked = scratch.file("locked", "1");
  ::chmod(locked.c_str(), 0400);
  EXPECT_TRUE(has(write_error_of([&] { write_whole(locked, "x"); }), "Permission denied"));
}

TEST(AtomicFile, PipesAndDescriptorsAreWrittenDirectly) {
  const Scratch scratch;
  const std::string path = scratch.path("log");
  const int descriptor = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::write(descriptor, "head ", 5), 5);
  write_whole("/dev/fd/" + std::to_string(descriptor), "tail");
  ::close(descriptor);
  EXPECT_EQ(content(path), "head tail");
  const std::string fifo = scratch.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  write_whole(fifo, "through");
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof(text)), 7);
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  EXPECT_EQ(scratch.entries(), 2U);
}

}  // namespace
}  // namespace pacewise
