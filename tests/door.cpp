// The C++ door for tests/cli/doors_test.py, through the public headers alone.
//   door fit ROWS COLUMNS MODEL      fits samples read from stdin, a sample per row
//   door codes ROWS COLUMNS MODEL    prints their codes
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pacewise/pacewise.hpp>

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  pacewise::Matrix<double> X(std::atol(argv[3]), std::atol(argv[2]));  // a row of the file is a column here
  for (pacewise::Index k = 0; k < X.size(); ++k)
    if (std::scanf("%lf", X.data() + k) != 1) return 3;
  if (std::strcmp(argv[1], "fit") == 0) {
    pacewise::fit(X, {.atoms = 5, .pace = pacewise::Pace::quantile, .pace_iter = 4, .polish = 3}).save(argv[4]);
  } else {
    const auto codes = pacewise::load(argv[4]).encode(X).codes;
    for (pacewise::Index k = 0; k < codes.size(); ++k) std::printf("%.17g\n", codes.data()[k]);
  }
}
