#include <cstdio>
#include <exception>
#include <new>

#include "apps/cli/arguments.hpp"
#include "apps/cli/console.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/signals.hpp"
#include "storage/file_error.hpp"

namespace {

using namespace pacewise;
using namespace pacewise::cli;

int complain(const char* what, int status) {
  std::fprintf(stderr, "pacewise: %s\n", what);
  return status;
}

int run(int argc, char** argv) {
  try {
    const auto program = define_program();
    const int status = parse_and_run(*program, argc, argv);
    flush_stdout();
    return status;
  } catch (const UsageError& e) {
    return complain(e.what(), kBadUsage);
  } catch (const Interrupted& e) {
    return complain(e.what(), kInterrupted);
  } catch (const WriteError& e) {
    return complain(e.what(), kCannotWrite);
  } catch (const ReadError& e) {
    return complain(e.what(), kBadInput);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory; use fewer samples, fewer atoms or --precision single", kBadInput);
  } catch (const std::exception& e) {
    return complain(e.what(), kBadInput);
  }
}

}  // namespace

int main(int argc, char** argv) {
  catch_signals();
  return run(argc, argv);
}
