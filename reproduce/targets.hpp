#pragma once
#include "reproduce/tables.hpp"

namespace pacewise::reproduce {

/// ACC and NMI of the three self-paced methods at the paper's six rho against its printed numbers: 36 comparisons.
struct Count {
  int reached = 0, compared = 0;
  static constexpr int wanted = 36;
};
Count count_against_paper(const Tables& tables, const std::string& dataset, Protocol protocol, Source source);

/// Differences that change sign freely if two methods are equally good: p is the share of all sign patterns whose mean
/// is at least as far from 0 as the one observed. All 2^n patterns up to n = 16, else 10,000 drawn from a fixed seed
/// (the observed one counted in).
struct SignFlip {
  double mean = 0, p = 1;
  int pairs = 0;
  bool exact = true;
};
SignFlip sign_flip_test(const std::vector<double>& differences);

/// Two methods on the same data, pair by pair: ACC at each (rho, seed).
struct Comparison {
  std::string dataset;
  Protocol protocol = Protocol::recommended;
  Source source = Source::half;
  Method first = Method::csc, second = Method::sc;
  bool strict = true;  // first > second is claimed, else >=
  SignFlip test;
  bool holds() const { return test.pairs > 0 && (strict ? test.mean > 0 : test.mean >= 0); }
};
/// SPSC's best level (highest mean ACC) > CSC >= LSC-H > SC; those whose methods were run.
std::vector<Comparison> compare_in_order(const Tables& tables, const std::string& dataset, Protocol protocol,
                                         Source source);

/// PIE, recommended protocol, half:40: the best self-paced level against .93/.97 at rho 0 and .55/.74 at rho 1.
struct PieTarget {
  double rho, acc, nmi;
  Method best = Method::spsc_e;
  const Entry *found_acc = nullptr, *found_nmi = nullptr;  // nullptr: not computed
  bool reached() const { return found_acc != nullptr && found_acc->mean >= acc && found_nmi->mean >= nmi; }
};
std::vector<PieTarget> pie_targets(const Tables& tables);

/// The targets and how far they are reached, one line each: what the terminal and the report show first.
std::vector<std::string> headline(const Tables& tables);
std::string text_of(const Comparison& comparison);

}  // namespace pacewise::reproduce
