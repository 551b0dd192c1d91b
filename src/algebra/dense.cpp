#include "algebra/dense.hpp"

#include <cblas.h>

#include "algebra/simd.hpp"

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dpotrs_(const char* uplo, const int* n, const int* nrhs, const double* a, const int* lda, double* b,
             const int* ldb, int* info);
void dlauum_(const char* uplo, const int* n, double* a, const int* lda, int* info);
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

constexpr Index kSmall = 32;

// row i of the inverse = (e_i - sum_{k<i} l_ik row k) / l_ii, whole rows of fixed length
PACEWISE_WIDE_VECTORS
void invert_small_lower(double* L, Index n, Index stride) {
  alignas(64) double inverse[kSmall][kSmall] = {};
  for (Index i = 0; i < n; ++i) {
    alignas(64) double row[kSmall] = {};
    for (Index k = 0; k < i; ++k) {
      const double l = L[i + k * stride];
      for (Index j = 0; j < kSmall; ++j) row[j] -= l * inverse[k][j];
    }
    const double scale = 1 / L[i + i * stride];
    for (Index j = 0; j < kSmall; ++j) inverse[i][j] = row[j] * scale;
    inverse[i][i] = scale;
  }
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i) L[i + j * stride] = inverse[i][j];
}

// One right side: for a single column LAPACK copies the triangle, which costs five times the solution.
PACEWISE_WIDE_VECTORS
void solve_one(MatrixView<const double> L, double* x) {
  const Index n = L.rows;
  for (Index j = 0; j < n; ++j) {
    const double* l = L.col(j);
    const double v = x[j] /= l[j];
    for (Index i = j + 1; i < n; ++i) x[i] -= l[i] * v;
  }
  for (Index j = n - 1; j >= 0; --j) {
    const double* l = L.col(j);
    double part[8] = {};
    Index i = j + 1;
    for (; i + 8 <= n; i += 8)
      for (Index t = 0; t < 8; ++t) part[t] += l[i + t] * x[i + t];
    double v = x[j] - (((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7])));
    for (; i < n; ++i) v -= l[i] * x[i];
    x[j] = v / l[j];
  }
}

// [A 0; B C]^-1 = [A^-1 0; -C^-1 B A^-1, C^-1]. LAPACK's dtrtri works column by column at the sizes of a dictionary: a
// third of the time of a row's Hessian.
void invert_lower(MatrixView<double> L) {
  const Index n = L.rows;
  if (n <= kSmall) {
    invert_small_lower(L.data, n, L.stride);
    return;
  }
  const Index half = (n / 2 + 7) / 8 * 8, rest = n - half;
  const MatrixView<double> A = L.block(0, 0, half, half), B = L.block(half, 0, rest, half),
                           C = L.block(half, half, rest, rest);
  const int stride = to_int(L.stride);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, to_int(rest), to_int(half), 1, A.data,
              stride, B.data, stride);
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, to_int(rest), to_int(half), -1, C.data,
              stride, B.data, stride);
  invert_lower(A);
  invert_lower(C);
}

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

template <class T>
void multiply_one(MatrixView<const std::type_identity_t<T>> A, const T* x, T* y) {
  const int n = to_int(A.rows), lda = to_int(std::max<Index>(A.stride, 1));
  if (n == 0) return;
  if constexpr (std::is_same_v<T, double>)
    cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, 1, A.data, lda, x, 1, 0, y, 1);
  else
    cblas_sgemv(CblasColMajor, CblasNoTrans, n, n, 1, A.data, lda, x, 1, 0, y, 1);
}
template void multiply_one<double>(MatrixView<const double>, const double*, double*);
template void multiply_one<float>(MatrixView<const float>, const float*, float*);

bool cholesky(MatrixView<double> A) {
  if (A.rows == 0) return true;
  const int n = to_int(A.rows), lda = to_int(A.stride);
  int info = 0;
  dpotrf_("L", &n, A.data, &lda, &info);
  return info == 0;
}

void cholesky_solve(MatrixView<const double> L, MatrixView<double> x) {
  if (L.rows == 0 || x.cols == 0) return;
  if (x.cols == 1) {
    solve_one(L, x.data);
    return;
  }
  const int n = to_int(L.rows), lda = to_int(L.stride), nrhs = to_int(x.cols), ldx = to_int(x.stride);
  int info = 0;
  dpotrs_("L", &n, &nrhs, L.data, &lda, x.data, &ldx, &info);
}

void cholesky_invert(MatrixView<double> L) {
  if (L.rows == 0) return;
  const int n = to_int(L.rows), lda = to_int(L.stride);
  int info = 0;
  invert_lower(L);
  dlauum_("L", &n, L.data, &lda, &info);  // L^-T L^-1
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < j; ++i) L(i, j) = L(j, i);
}

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
