#include "pacewise/algebra/dense.hpp"

#include <cblas.h>

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dpotrs_(const char* uplo, const int* n, const int* nrhs, const double* a, const int* lda, double* b,
             const int* ldb, int* info);
void dpotri_(const char* uplo, const int* n, double* a, const int* lda, int* info);
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

bool cholesky(MatrixView<double> A) {
  if (A.rows == 0) return true;
  const int n = to_int(A.rows), lda = to_int(A.stride);
  int info = 0;
  dpotrf_("L", &n, A.data, &lda, &info);
  return info == 0;
}

void cholesky_solve(MatrixView<const double> L, MatrixView<double> x) {
  if (L.rows == 0 || x.cols == 0) return;
  const int n = to_int(L.rows), lda = to_int(L.stride), nrhs = to_int(x.cols), ldx = to_int(x.stride);
  int info = 0;
  dpotrs_("L", &n, &nrhs, L.data, &lda, x.data, &ldx, &info);
}

void cholesky_invert(MatrixView<double> L) {
  if (L.rows == 0) return;
  const int n = to_int(L.rows), lda = to_int(L.stride);
  int info = 0;
  dpotri_("L", &n, L.data, &lda, &info);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < j; ++i) L(i, j) = L(j, i);
}

}  // namespace pacewise
