#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "io/table.hpp"

namespace pacewise {
namespace {

/// The first number of a file, or the number after `key`; `absent` where there is none ("max" is no number: no limit).
double number_in(const std::string& path, const std::string& key, double absent) {
  std::ifstream file(path);
  std::string word;
  while (!key.empty() && word != key && file >> word) continue;
  double number = 0;
  return file >> number ? number : absent;
}

/// What the control group `folder` leaves; file pages that can be dropped count as free.
double left_in_group(const std::string& folder) {
  const double limit = number_in(folder + "/memory.max", "", std::numeric_limits<double>::infinity());
  const std::string stat = folder + "/memory.stat";
  return limit - number_in(folder + "/memory.current", "", 0) + number_in(stat, "inactive_file", 0) +
         number_in(stat, "active_file", 0);
}

}  // namespace

std::size_t available_memory() {
  const double installed =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  double available = 1024 * number_in("/proc/meminfo", "MemAvailable:", installed / 1024);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string entry; std::getline(groups, entry);) {
    if (!entry.starts_with("0::/")) continue;
    for (std::string group = entry.substr(3);; group.resize(group.rfind('/'))) {
      available = std::min(available, left_in_group("/sys/fs/cgroup" + group));
      if (group.rfind('/') == std::string::npos) break;
    }
  }
  return static_cast<std::size_t>(std::max(available, 0.0));
}

template <class T>
void densify(Table<T>& table, std::size_t available) {
  if (!table.sparse) return;
  const Sparse& sparse = *table.sparse;
  const double bytes = static_cast<double>(sparse.rows) * static_cast<double>(sparse.cols) * sizeof(T);
  if (bytes > static_cast<double>(available))
    throw ReadError(line_of("sparse data: ", sparse.cols, " samples of ", sparse.rows, " features take ",
                            size_text(bytes), " as a dense matrix, ", size_text(static_cast<double>(available)),
                            " are free; use single precision, fewer samples or fewer features"));
  const auto dense = std::make_shared<Matrix<T>>(sparse.rows, sparse.cols);
  for (std::size_t j = 0; j + 1 < sparse.start.size(); ++j)
    for (auto k = static_cast<std::size_t>(sparse.start[j]); k < static_cast<std::size_t>(sparse.start[j + 1]); ++k)
      (*dense)(sparse.index[k], static_cast<Index>(j)) = static_cast<T>(sparse.value[k]);
  table.values = std::as_const(*dense).view();
  table.owner = dense;
  table.sparse.reset();
}

template void densify(Table<float>&, std::size_t);
template void densify(Table<double>&, std::size_t);

}  // namespace pacewise
