#pragma once
#include <string>
#include <vector>

#include "data/problem.hpp"
#include "pacewise/options.hpp"

namespace pacewise {

struct KindFound {
  Kind kind = Kind::images;
  std::string why;
};

/// What the data look like, of at most 1,000 samples. `pictures`: the file says that samples are.
template <class T>
KindFound find_kind(const Problem<T>& problem, const Options& options, bool pictures = false);

/// The options for data of this kind: those `given`, which are not at the defaults of Options or are `named`, over the
/// defaults of the kind. A penalty that was given stands alone: nothing is added to it.
Options for_kind(Kind kind, const Options& given, const std::vector<std::string>& named = {});

/// .. with the kind that options ask for, or else the one found
template <class T>
Options settle_kind(const Problem<T>& problem, const Options& given, const std::vector<std::string>& named = {},
                    bool pictures = false);

/// What was chosen and why, in a line
template <class T>
std::string kind_note(const Problem<T>& problem, const Options& settled, bool pictures = false);

}  // namespace pacewise
