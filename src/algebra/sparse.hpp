#pragma once
#include <vector>

#include "pacewise/matrix.hpp"

namespace pacewise {

struct Triplet {
  std::int32_t row, col;
  double value;
};

/// Duplicates are summed in the order given; explicit zeros are kept out.
Sparse sparse_from_triplets(Index rows, Index cols, const std::vector<Triplet>& entries);
Sparse transpose(const Sparse& a);

/// An order of the rows of a symmetric matrix that keeps connected rows close: order[p] is the row at position p.
/// Breadth first from a row of smallest degree, neighbours by degree, then reversed (Cuthill and McKee 1969, George
/// 1971). Ties go to the smaller index.
Vector<Index> reverse_cuthill_mckee(const Sparse& symmetric);

/// Square, indices in range and sorted, finite, symmetric to rounding: else an Error that begins with `name`.
void check_symmetric(const Sparse& a, const char* name);

}  // namespace pacewise
