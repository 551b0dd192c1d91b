#include <gtest/gtest.h>

#include "algebra/blas_kernels.hpp"

int main(int argc, char** argv) {
  pacewise::choose_blas_kernels();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
