// Reaches the BLAS, OpenMP and the exception type through the installed headers alone.
#include <algebra/dense.hpp>
#include <algebra/parallel.hpp>
#include <cstring>
#include <pacewise/version.hpp>
#include <vector>

int main(int argc, char** argv) {
  using namespace pacewise;
  if (argc > 1 && std::strcmp(argv[1], kVersion) != 0) return 2;

  Matrix<double> a(2, 3, 1.0), square(2, 2);
  gram<double>(Op::plain, 1.0, a, 0.0, square.view());
  if (square(0, 1) != 3.0) return 3;

  Control control;
  control.threads = 2;
  std::vector<Index> seen(8, -1);
  parallel_blocks(8, control, [&](Index block, int) { seen[static_cast<std::size_t>(block)] = block; });
  for (Index i = 0; i < 8; ++i)
    if (seen[static_cast<std::size_t>(i)] != i) return 4;

  try {
    checked_size(-1, 1);
  } catch (const Error&) {
    return 0;
  }
  return 5;
}
