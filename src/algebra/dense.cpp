#include "algebra/dense.hpp"

#include <cblas.h>

#include "algebra/simd.hpp"

extern "C" {
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork,
             int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work,
             const int* lwork, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
}

namespace pacewise {
namespace {

int to_int(Index i) { return static_cast<int>(i); }
CBLAS_TRANSPOSE flag(Op op) { return op == Op::plain ? CblasNoTrans : CblasTrans; }

}  // namespace

template <class T>
void gemm(Op op_a, Op op_b, double a, MatrixView<const std::type_identity_t<T>> A,
          MatrixView<const std::type_identity_t<T>> B, double c, MatrixView<T> C) {
  const int m = to_int(C.rows), n = to_int(C.cols), k = to_int(op_a == Op::plain ? A.cols : A.rows);
  if (m == 0 || n == 0) return;
  const int lda = to_int(std::max<Index>(A.stride, 1)), ldb = to_int(std::max<Index>(B.stride, 1));
  if constexpr (std::is_same_v<T, double>)
    cblas_dgemm(CblasColMajor, flag(op_a), flag(op_b), m, n, k, a, A.data, lda, B.data, ldb, c, C.data,
                to_int(C.stride));
  else
    cblas_sgemm(CblasColMajor, flag(op_a), flag(op_b), m, n, k, static_cast<float>(a), A.data, lda, B.data, ldb,
                static_cast<float>(c), C.data, to_int(C.stride));
}

template <class T>
void gram(Op op_a, double a, MatrixView<const std::type_identity_t<T>> A, double c, MatrixView<T> C) {
  const int n = to_int(C.rows), k = to_int(op_a == Op::plain ? A.cols : A.rows);
  if (n == 0) return;
  const int lda = to_int(std::max<Index>(A.stride, 1));
  if constexpr (std::is_same_v<T, double>)
    cblas_dsyrk(CblasColMajor, CblasLower, flag(op_a), n, k, a, A.data, lda, c, C.data, to_int(C.stride));
  else
    cblas_ssyrk(CblasColMajor, CblasLower, flag(op_a), n, k, static_cast<float>(a), A.data, lda, static_cast<float>(c),
                C.data, to_int(C.stride));
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < j; ++i) C(i, j) = C(j, i);
}

template void gemm<double>(Op, Op, double, MatrixView<const double>, MatrixView<const double>, double,
                           MatrixView<double>);
template void gemm<float>(Op, Op, double, MatrixView<const float>, MatrixView<const float>, double, MatrixView<float>);
template void gram<double>(Op, double, MatrixView<const double>, double, MatrixView<double>);
template void gram<float>(Op, double, MatrixView<const float>, double, MatrixView<float>);

void orthonormalise(MatrixView<double> A) {
  if (A.cols == 0) return;
  const int m = to_int(A.rows), n = to_int(A.cols), lda = to_int(A.stride), block = 64, lwork = n * block;
  std::vector<double> tau(static_cast<std::size_t>(n)), work(static_cast<std::size_t>(lwork));
  int info = 0;
  dgeqrf_(&m, &n, A.data, &lda, tau.data(), work.data(), &lwork, &info);
  dorgqr_(&m, &n, &n, A.data, &lda, tau.data(), work.data(), &lwork, &info);
}

std::vector<double> symmetric_eigen(MatrixView<double> A) {
  const auto size = static_cast<std::size_t>(A.rows);
  std::vector<double> values(size);
  if (size == 0) return values;
  const int n = to_int(A.rows), lda = to_int(A.stride), lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
  std::vector<double> work(static_cast<std::size_t>(lwork));
  std::vector<int> integers(static_cast<std::size_t>(liwork));
  int info = 0;
  dsyevd_("V", "L", &n, A.data, &lda, values.data(), work.data(), &lwork, integers.data(), &liwork, &info);
  if (info != 0) throw Error("symmetric eigenvalues: the matrix is not finite");
  return values;
}

}  // namespace pacewise
