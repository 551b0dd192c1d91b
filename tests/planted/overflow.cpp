// With an argument, signed overflow; without, one past the end of a buffer: proves that both sanitizers stop a test.
#include <limits>
#include <vector>

int main(int count, char**) {
  if (count > 1) return std::numeric_limits<int>::max() + count == 0;
  std::vector<int> values(static_cast<std::size_t>(count));
  return values.data()[count] == 1;
}
