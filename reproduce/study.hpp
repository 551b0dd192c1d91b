#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/graph.hpp"
#include "pacewise/options.hpp"

namespace pacewise::reproduce {

// What the paper's experiments are made of, and the words for it in files and on the command line.

enum class Method : std::uint8_t { os, sc, lsc_g, lsc_h, csc, spsc_e, spsc_s, spsc_f };
inline constexpr std::array kMethods = {Method::os,  Method::sc,     Method::lsc_g,  Method::lsc_h,
                                        Method::csc, Method::spsc_e, Method::spsc_s, Method::spsc_f};
inline constexpr std::array kSelfPaced = {Method::spsc_e, Method::spsc_s, Method::spsc_f};

/// Where the graph comes from: the noisy data in the raw space, the noisy data in half-whitened principal components,
/// or the clean data in the raw space. The last is what the paper must have used; it is leakage. OS and SC have none.
enum class Source : std::uint8_t { none, raw, half, clean };
inline constexpr std::array kSources = {Source::raw, Source::half, Source::clean};

/// How codes are clustered. paper: k-means from random samples on the codes as they are. recommended: k-means++ on the
/// codes scaled to unit norm.
enum class Protocol : std::uint8_t { paper, recommended };
inline constexpr std::array kProtocols = {Protocol::paper, Protocol::recommended};
inline constexpr int kRuns = 30;  // of k-means

enum class Metric : std::uint8_t { acc, purity, nmi, ari };
inline constexpr std::array kMetrics = {Metric::acc, Metric::purity, Metric::nmi, Metric::ari};

inline constexpr std::array<std::string_view, 3> kDatasets = {"coil20", "mnist", "pie"};  // the paper's
inline constexpr std::string_view kFashion = "fashion";  // not the paper's, but free to show
inline const std::vector<double> kRhos = {0, 0.2, 0.4, 0.6, 0.8, 1};

std::string_view name_of(Method method);
std::string_view name_of(Source source);
std::string_view name_of(Protocol protocol);
std::string_view name_of(Metric metric);  // as in files
std::string_view title_of(Metric metric);
std::string_view title_of(std::string_view dataset);
/// An Error lists the names there are.
std::string_view parse_dataset(std::string_view text);
Method parse_method(std::string_view text);
Source parse_source(std::string_view text);
Protocol parse_protocol(std::string_view text);
Metric parse_metric(std::string_view text);

inline bool has_graph(Method method) { return method != Method::os && method != Method::sc; }
Level level_of(Method method);

/// The same number of iterations for every method: the methods without a pace spend those of the pace on more of the
/// same.
struct Budget {
  int plain, warm, pace, polish;
  double step_tol;
  int iterations() const { return plain + warm + pace + polish; }
};
inline constexpr Budget kBudget{2, 1, 6, 1, 1e-4};

/// The weights of the terms, 0 where the method has no such term, and the neighbours of each sample in the graph, for
/// which the paper has 3.
struct Setting {
  double beta = 0, alpha = 0, gamma = 0, eta = 0;
  int k = 3;
  auto all() const { return std::tie(beta, alpha, gamma, eta, k); }
  bool operator==(const Setting& other) const { return all() == other.all(); }
  bool operator<(const Setting& other) const { return all() < other.all(); }
};

/// Settings are tuned on clean data. What a user has is judged by the recommended protocol; the clean graph, which the
/// paper must have used, by the paper's. Without noise the raw and the clean graph are one: the same fits, judged
/// twice.
inline Protocol judged_by(Source source) { return source == Source::clean ? Protocol::paper : Protocol::recommended; }
/// OS and SC have no graph, yet SC has a beta: that of a source which is judged by the protocol.
inline Source source_for(Protocol protocol) { return protocol == Protocol::recommended ? Source::half : Source::clean; }

/// The paper's 128 atoms, or half as many as there are samples where those are few.
Options fit_options(Method method, Source source, const Setting& setting, std::uint64_t seed, Index samples);

}  // namespace pacewise::reproduce
