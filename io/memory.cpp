#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include "io/table.hpp"

namespace pacewise {
namespace {

/// The number after `key` in a file of "key number" lines, or `absent`.
double number_after(const std::string& path, const std::string& key, double absent) {
  std::ifstream file(path);
  std::string word;
  double number = 0;
  while (file >> word) {
    if (word == key && file >> number) return number;
    file.clear();
  }
  return absent;
}

double number_in(const std::string& path, double absent) {
  std::ifstream file(path);
  double number = 0;
  return file >> number ? number : absent;  // "max" is no number: no limit
}

/// What the control group `folder` leaves; file pages that can be dropped count as free.
double left_in_group(const std::string& folder) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double limit = number_in(folder + "/memory.max", infinite);
  if (limit == infinite) return infinite;
  const double used = number_in(folder + "/memory.current", 0);
  return limit - used + number_after(folder + "/memory.stat", "inactive_file", 0) +
         number_after(folder + "/memory.stat", "active_file", 0);
}

}  // namespace

std::size_t available_memory() {
  const double installed =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  double available = 1024 * number_after("/proc/meminfo", "MemAvailable:", installed / 1024);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string entry; std::getline(groups, entry);) {
    if (entry.rfind("0::/", 0) != 0) continue;
    for (std::string group = entry.substr(3);; group.resize(group.rfind('/'))) {
      available = std::min(available, left_in_group("/sys/fs/cgroup" + group));
      if (group.rfind('/') == std::string::npos || group.empty()) break;
    }
  }
  return static_cast<std::size_t>(std::max(available, 0.0));
}

template <class T>
Matrix<T> densify(const Sparse& sparse, std::size_t available) {
  const double bytes = static_cast<double>(sparse.rows) * static_cast<double>(sparse.cols) * sizeof(T);
  if (bytes > static_cast<double>(available))
    throw ReadError(line_of("sparse data: ", sparse.cols, " samples of ", sparse.rows, " features take ",
                            size_text(bytes), " as a dense matrix, ", size_text(static_cast<double>(available)),
                            " are free; use single precision, fewer samples or fewer features"));
  Matrix<T> out(sparse.rows, sparse.cols);
  for (Index j = 0; j < sparse.cols; ++j) {
    const auto column = static_cast<std::size_t>(j);
    for (Index k = sparse.start[column]; k < sparse.start[column + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      out(sparse.index[entry], j) = static_cast<T>(sparse.value[entry]);
    }
  }
  return out;
}

template <class T>
void densify(Table<T>& table, std::size_t available) {
  if (!table.sparse) return;
  auto dense = std::make_shared<Matrix<T>>(densify<T>(*table.sparse, available));
  table.values = std::as_const(*dense).view();
  table.owner = std::move(dense);
  table.sparse.reset();
}

template Matrix<float> densify(const Sparse&, std::size_t);
template Matrix<double> densify(const Sparse&, std::size_t);
template void densify(Table<float>&, std::size_t);
template void densify(Table<double>&, std::size_t);

}  // namespace pacewise
