#pragma once
#include <vector>

#include "algebra/matrix.hpp"

namespace pacewise {

struct Triplet {
  std::int32_t row, col;
  double value;
};

/// Duplicates are summed in the order given; explicit zeros are kept out.
Sparse sparse_from_triplets(Index rows, Index cols, std::vector<Triplet> entries);
Sparse transpose(const Sparse& a);
Sparse multiply(const Sparse& a, const Sparse& b);
/// diag(left) * a * diag(right); an empty vector stands for ones
Sparse scale(const Sparse& a, const std::vector<double>& left, const std::vector<double>& right);
std::vector<double> diagonal(const Sparse& a);
/// Rows of a symmetric matrix, in groups that no entry connects; every group ascending, and small ones put together
/// until they have `least` members.
struct Groups {
  std::vector<std::vector<Index>> members;
  std::vector<std::int32_t> place;  // of every row within its group
};
Groups separate_groups(const Sparse& a, Index least);
/// a(group, group), its zeros left out
Sparse part_of(const Sparse& a, const Groups& groups, std::size_t group);
/// Square, indices in range and sorted, finite, symmetric to rounding: else an Error that begins with `name`.
void check_symmetric(const Sparse& a, const char* name);

}  // namespace pacewise
