#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/console.hpp"
#include "apps/cli/inputs.hpp"
#include "pacewise/evaluate.hpp"
#include "pacewise/options.hpp"

namespace pacewise::cli {

// One plain struct per subcommand, filled by arguments.cpp; one function that runs it and returns the exit status.

/// What the command line says about the options of the method.
struct GivenOptions {
  Options options;
  std::vector<std::string> given;  // "--alpha"
  std::vector<std::string> named;  // "alpha": options of the table
  std::map<std::string, std::string>
      files;  // by option, where a file was given instead of a word: "graph", "graph_space"
};

struct FitArguments : GivenOptions {
  DataSource data;
  std::string output, labels, weights, dictionary, start_codes;
  std::string precision = "double";
  std::optional<double> max_seconds;
  std::string checkpoint, resume;
  int every = 10;
  std::string codes, weights_out, json, report;
  bool quiet = false, force = false;
  std::string progress = "auto";
};
int run_fit(const FitArguments& arguments);

/// encode, mend, score and verify: a model and data.
struct ModelDataArguments {
  std::string model;
  DataSource data;
  std::string weights, output, weights_out, scale_out, confidence, truth, graph_file, points_file;
  bool plain = false;  // no self-paced weights
  // encode: orthogonal matching pursuit, with so many atoms or to this squared error
  std::optional<Index> nonzeros;
  std::optional<double> error;
  std::optional<int> folds;  // score
  bool quiet = false, force = false;
};
int run_encode(const ModelDataArguments& arguments);
int run_mend(const ModelDataArguments& arguments);
int run_score(const ModelDataArguments& arguments);
int run_verify(const ModelDataArguments& arguments);

/// impute and clean: data alone
struct TableArguments : GivenOptions {
  DataSource data;
  std::string output, cells, weights;
  bool quiet = false, force = false;
};
int run_impute(const TableArguments& arguments);
int run_clean(const TableArguments& arguments);

struct ReconstructArguments {
  std::string model, codes, output, scale;
  bool quiet = false, force = false;
};
int run_reconstruct(const ReconstructArguments& arguments);

struct ClusterArguments {
  DataSource data;
  std::string labels, output, json;
  std::string init = "k-means++";
  std::string normalize;  // empty: unit, or as the model's data were
  KMeansOptions options;
  bool quiet = false, force = false;
};
int run_cluster(const ClusterArguments& arguments);

struct GraphArguments : GivenOptions {
  DataSource data;
  std::string output, incidence;
  bool quiet = false, force = false;
};
int run_graph(const GraphArguments& arguments);

struct EvaluateArguments {
  std::string labels, assignment, json;
  bool force = false;
};
int run_evaluate(const EvaluateArguments& arguments);

struct InfoArguments {
  DataSource data;  // a model, a checkpoint or data
  bool json = false;
};
int run_info(const InfoArguments& arguments);

struct DemoArguments {
  std::string output = "pacewise-demo.html", json, save;
  std::string data = "/usr/share/datasets/fashion-mnist";
  int per_class = 60;
  Index atoms = 32;
  int threads = 0;
  std::uint64_t seed = 0;
  bool quiet = false, force = false;
  std::string progress = "auto";
};
int run_demo(const DemoArguments& arguments);

}  // namespace pacewise::cli
