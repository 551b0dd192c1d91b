#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "algebra/blas_kernels.hpp"
#include "apps/cli/arguments.hpp"
#include "apps/cli/console.hpp"
#include "apps/cli/inputs.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/signals.hpp"
#include "io/file_error.hpp"

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
  } catch (const Error& e) {  // what the library says about data, or about data that do not fit together
    return complain(with_file_name(e.what()).c_str(), kBadInput);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory; use fewer samples, fewer atoms or --precision single", kBadInput);
  } catch (const std::exception& e) {
    return complain(e.what(), kBadInput);
  }
}

/// A thread that waits must not burn the core another program could use: with more threads than free cores, spinning
/// for milliseconds, as OpenMP does, costs ten times the work. A tenth of one costs 3 % there and spares free cores the
/// time it takes to wake each other. OpenMP reads the variable while the program is loaded, so it is loaded once more.
void spin_briefly(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || ::setenv("GOMP_SPINCOUNT", "3000", 0) != 0) return;
  if (::setenv("OMP_WAIT_POLICY", "passive", 0) != 0) return;
  ::execv("/proc/self/exe", argv);  // comes back only where that is impossible: then it is merely slower
}

}  // namespace

int main(int argc, char** argv) {
  spin_briefly(argv);
  choose_blas_kernels();
  ::pthread_setname_np(::pthread_self(), "pacewise");  // loaded anew it would be called "exe", and pkill not find it
  catch_signals();
  return run(argc, argv);
}
