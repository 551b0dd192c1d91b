#include "algebra/dense.hpp"

#include <cblas.h>

extern "C" void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
                        double* work, const int* lwork, int* iwork, const int* liwork, int* info);

namespace pacewise {
namespace {

int to_int(Index i) { return static_cast<int>(i); }
CBLAS_TRANSPOSE flag(Op op) { return op == Op::plain ? CblasNoTrans : CblasTrans; }

}  // namespace

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

template void gram<double>(Op, double, MatrixView<const double>, double, MatrixView<double>);
template void gram<float>(Op, double, MatrixView<const float>, double, MatrixView<float>);

Vector<double> symmetric_eigen(MatrixView<double> A) {
  Vector<double> values(A.rows);
  if (values.empty()) return values;
  const int n = to_int(A.rows), lda = to_int(A.stride), lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
  Vector<double> work(lwork);
  Vector<int> integers(liwork);
  int info = 0;
  dsyevd_("V", "L", &n, A.data, &lda, values.data(), work.data(), &lwork, integers.data(), &liwork, &info);
  if (info != 0) throw Error("symmetric eigenvalues: the matrix is not finite");
  return values;
}

}  // namespace pacewise
