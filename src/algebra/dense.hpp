#pragma once
#include <vector>

#include "pacewise/matrix.hpp"

namespace pacewise {

/// The dense linear algebra of the library: what a backend has to offer. All single-threaded inside, all in place.
/// The two decompositions ask LAPACK for its workspace, nothing else allocates.
enum class Op : std::uint8_t { plain, transposed };

/// C = a op(A) op(B) + c C
template <class T>
void gemm(Op op_a, Op op_b, double a, MatrixView<const std::type_identity_t<T>> A,
          MatrixView<const std::type_identity_t<T>> B, double c, MatrixView<T> C);

/// C = a op(A) op(A)' + c C, both triangles written
template <class T>
void gram(Op op_a, double a, MatrixView<const std::type_identity_t<T>> A, double c, MatrixView<T> C);

/// A, rows >= cols -> an orthonormal basis of its columns' span (Q of A = Q R)
void orthonormalise(MatrixView<double> A);
/// Symmetric A -> its eigenvectors, one per column, eigenvalues ascending; reads the lower triangle.
std::vector<double> symmetric_eigen(MatrixView<double> A);

}  // namespace pacewise
