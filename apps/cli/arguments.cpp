#include "apps/cli/arguments.hpp"

#include "apps/cli/fit_options.hpp"
#include "apps/cli/generate.hpp"
#include "apps/cli/outcome.hpp"
#include "pacewise/version.hpp"

namespace pacewise::cli {
namespace {

/// "--alpha A" in one column, what it does and its default in the other.
class Help : public CLI::Formatter {
 public:
  Help() { column_width(30); }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0 || option->get_positional()) return {};
    return option->get_type_name().empty() ? std::string() : " " + option->get_type_name();
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string absent = option->get_default_str();
    return option->get_description() + (absent.empty() ? "" : " [" + absent + "]");
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string line = "Usage: " + (app->get_parent() != nullptr ? "pacewise " + app->get_name() : name);
    for (const CLI::Option* o : app->get_options())
      if (o->get_positional()) line += " " + o->get_name(true, false);
    for (const CLI::Option* o : app->get_options())
      if (!o->get_positional() && o->get_required()) line += " " + o->get_name() + " " + o->get_type_name();
    return line + (app->get_parent() != nullptr ? " [OPTIONS]\n" : " COMMAND\n");
  }
};

/// The rule of a number that is no option of the table.
CLI::Validator within(Range range) {
  return {[range](const std::string& text) {
            double value = 0;
            const bool good = CLI::detail::lexical_cast(text, value) && range.contains(value);
            return good ? std::string() : "= " + text + ": must be " + range.rule();
          },
          ""};
}

/// Without the second blank line between groups.
std::string help_of(const CLI::App& app) {
  std::string text = app.help();
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

/// Adds options with the looks all commands share.
class Command {
 public:
  Command(Program& program, const char* name, const char* help, const char* example)
      : app_(*program.app->add_subcommand(name, help)), program_(program) {
    app_.footer(std::string("Example:\n  ") + example);
  }
  CLI::App& app() { return app_; }
  void group(const char* name) { group_ = name; }
  CLI::Option* file(const char* name, std::string& value, const char* help, const char* type = "FILE") {
    return app_.add_option(name, value, help)->group(group_)->type_name(type);
  }
  template <class V>
  CLI::Option* value(const char* name, V& value, const char* type, const char* help) {
    CLI::Option* option = app_.add_option(name, value, help)->group(group_)->type_name(type)->capture_default_str();
    if constexpr (std::is_unsigned_v<V>) option->check(within(at_least(0)));  // else -1 wraps around
    return option;
  }
  /// Left out unless given.
  template <class V>
  CLI::Option* number(const char* name, std::optional<V>& value, const char* type, const char* help) {
    return app_.add_option(name, value, help)->group(group_)->type_name(type);
  }
  CLI::Option* input(const char* name, std::string& value, const char* help) {
    return app_.add_option(name, value, help)->required()->type_name("");
  }
  void data(DataSource& source, const char* name = "DATA",
            const char* help = "Samples as rows: .npy .npz .csv .mat IDX .mtx HDF5, or a folder of images") {
    input(name, source.path, help);
  }
  void reading(DataSource& source) {
    ReadOptions& o = source.options;
    file("--variable", o.variable, "Which array of a .npz, .mat or HDF5 file", "NAME");
    file("--label-column", o.label_column, "CSV: the column that holds labels, a name or a number from 1", "NAME");
    file("--id", o.id_column, "CSV: the column that names the samples; none: no column does", "NAME");
    names("--columns", o.columns, "CSV: these columns alone, separated by commas");
    names("--drop", o.drop, "CSV: all columns but these");
    names("--categorical", o.categorical, "CSV: a column for each value of these; all: of every column of text");
    threads(source.threads);
  }
  void names(const char* name, std::vector<std::string>& value, const char* help) {
    app_.add_option(name, value, help)->group(group_)->type_name("NAMES")->delimiter(',')->allow_extra_args(false);
  }
  void threads(int& value) {
    app_.add_option("--threads", value, "Threads; results do not depend on it")
        ->group(group_)
        ->type_name("N")
        ->default_str("all cores")
        ->check(within(at_least(0)));
  }
  void quiet(bool& value) { app_.add_flag("--quiet", value, "Print errors only")->group(group_); }
  void force(bool& value) { app_.add_flag("--force", value, "Replace files of another kind")->group(group_); }
  void run(std::function<int()> body) {
    app_.callback([&program = program_, body = std::move(body)] { program.run = body; });
  }

 private:
  CLI::App& app_;
  Program& program_;
  std::string group_ = "Options";
};

void define_fit(Program& program) {
  Command c(program, "fit", "Learn a dictionary and sparse codes from data",
            "pacewise fit data.npy -o model.pw --atoms 64 --level element");
  auto a = std::make_shared<FitArguments>();
  c.data(a->data);
  c.group("Files");
  c.file("-o,--output", a->output, "The model", "MODEL")->required();
  c.file("--labels", a->labels, "Labels: the codes are clustered and compared with them");
  c.file("--weights", a->weights, "Weights >= 0 of samples (n), features (m) or entries (n x m); 0 = missing");
  c.file("--codes", a->codes, "Write the codes (.npy .csv .mtx)");
  c.file("--weights-out", a->weights_out, "Write the self-paced weights (.npy .csv .mtx)");
  c.file("--json", a->json, "Write what happened, iteration by iteration");
  c.file("--report", a->report, "Write a web page about the run", "FILE.html");
  c.file("--dictionary", a->dictionary, "Start from these atoms, one in a row");
  c.file("--start-codes", a->start_codes, "Start from these codes, one sample in a row");
  const auto options = std::make_shared<TableOptions>(c.app(), std::vector<std::string>{"graph", "graph_space"});
  c.group("Run");
  c.value("--precision", a->precision, "single|double", "Precision of all computations");
  c.number("--max-seconds", a->max_seconds, "S", "Stop after this time, with what there is")->check(within(above(0)));
  c.file("--checkpoint", a->checkpoint, "Write the state here every --every iterations and when interrupted");
  c.value("--every", a->every, "N", "Iterations between checkpoints")->check(within(above(0)));
  c.file("--resume", a->resume, "Go on from a checkpoint, with its options");
  c.reading(a->data);
  c.force(a->force);
  c.quiet(a->quiet);
  c.value("--progress", a->progress, "auto|plain|none", "What is shown while it runs");
  c.run([a, options] {
    options->collect(*a);
    return about(a->data.path, [&] { return run_fit(*a); });
  });
}

std::shared_ptr<ModelDataArguments> model_and_data(Command& c) {
  auto a = std::make_shared<ModelDataArguments>();
  c.input("MODEL", a->model, "What `fit` wrote");
  c.data(a->data);
  return a;
}

/// What follows the options of its own of a command for new samples
void for_new_samples(Command& c, const std::shared_ptr<ModelDataArguments>& a, int (*run)(const ModelDataArguments&)) {
  c.file("--weights", a->weights, "Weights >= 0 of samples (n), features (m) or entries (n x m); 0 = missing");
  c.app().add_flag("--plain", a->plain, "Trust every entry: no self-paced weights")->group("Options");
  c.reading(a->data);
  c.force(a->force);
  c.quiet(a->quiet);
  c.run([a, run] { return about(a->data.path, [&] { return run(*a); }); });
}

void define_new_samples(Program& program) {
  {
    Command c(program, "encode", "Sparse codes of new samples", "pacewise encode model.pw new.npy -o codes.npy");
    auto a = model_and_data(c);
    c.file("-o,--output", a->output, "The codes (.npy .csv .mtx)", "CODES")->required();
    c.file("--weights-out", a->weights_out, "Write the self-paced weights (.npy .csv .mtx)");
    c.file("--scale-out", a->scale_out, "Write the norms the samples were divided by, for reconstruct --scale");
    c.number("--nonzeros", a->nonzeros, "K",
             "Orthogonal matching pursuit instead: this many atoms a sample, every entry trusted")
        ->check(within(at_least(1)));
    c.number("--error", a->error, "E", "The same: until the weighted squared error of a sample is at most E")
        ->check(within(at_least(0)));
    for_new_samples(c, a, run_encode);
  }
  {
    Command c(program, "score", "Outlier score per sample, confidence per entry",
              "pacewise score model.pw new.npy -o scores.csv --confidence confidence.npy");
    auto a = model_and_data(c);
    c.file("-o,--output", a->output, "The scores (.npy .csv .mtx); else they are printed");
    c.file("--confidence", a->confidence, "Write the confidence of every entry in [0, 1] (.npy .csv .mtx)");
    c.file("--truth", a->truth, "Not 0 where a sample (n) or entry (n x m) is known to be bad: prints the AUROC");
    c.number("--folds", a->folds, "K",
             "Judge entries by codes that have not seen them, in K groups of features; 0: by codes of all")
        ->default_str("15 below 256 features, else 0");
    for_new_samples(c, a, run_score);
  }
  {
    Command c(program, "mend", "Data with what is missing or not trusted replaced by what the model expects",
              "pacewise mend model.pw data.npy -o mended.npy");
    auto a = model_and_data(c);
    c.file("-o,--output", a->output, "The data, in their units (.npy .csv .mtx)", "DATA")->required();
    for_new_samples(c, a, run_mend);
  }
}

void define_table(Program& program, const char* name, const char* help, const char* example, const char* output,
                  int (*run)(const TableArguments&)) {
  Command c(program, name, help, example);
  auto a = std::make_shared<TableArguments>();
  c.data(a->data);
  c.file("-o,--output", a->output, output, "DATA")->required();
  if (run == run_clean)
    c.file("--cells", a->cells, "Write what was changed: row, column, old and new value, confidence", "LIST.csv");
  c.file("--weights", a->weights, "Weights >= 0 of samples (n), features (m) or entries (n x m); 0 = missing");
  const auto options = std::make_shared<TableOptions>(c.app(), std::vector<std::string>{});
  c.reading(a->data);
  c.force(a->force);
  c.quiet(a->quiet);
  c.run([a, options, run] {
    options->collect(*a);
    return about(a->data.path, [&] { return run(*a); });
  });
}

void define_reconstruct(Program& program) {
  Command c(program, "reconstruct", "Data from codes: dictionary times codes, in the units of the data",
            "pacewise reconstruct model.pw codes.npy -o clean.npy");
  auto a = std::make_shared<ReconstructArguments>();
  c.input("MODEL", a->model, "What `fit` wrote");
  c.input("CODES", a->codes, "Codes, a row per sample");
  c.file("-o,--output", a->output, "The data (.npy .csv .mtx)", "DATA")->required();
  c.file("--scale", a->scale, "Norms of the samples, as encode --scale-out wrote them; else unit norm");
  c.force(a->force);
  c.quiet(a->quiet);
  c.run([a] { return run_reconstruct(*a); });
}

void define_cluster(Program& program) {
  Command c(program, "cluster", "k-means on data, on codes or on the codes in a model",
            "pacewise cluster codes.npy --clusters 10 --labels labels.npy");
  auto a = std::make_shared<ClusterArguments>();
  c.data(a->data, "DATA", "Data or codes, samples as rows; or a model");
  c.value("--clusters", a->options.clusters, "K", "Number of clusters, 1 <= K <= n")->required()->default_str("");
  c.file("--labels", a->labels, "Labels to compare with: ACC, purity, NMI, ARI");
  c.value("--runs", a->options.runs, "N", "Independent restarts");
  c.value("--init", a->init, "random|k-means++", "First centres");
  c.file("--normalize", a->normalize, "Samples to unit norm first", "unit|none")
      ->default_str("unit; codes of a model as its data");
  c.value("--max-iter", a->options.max_iter, "N", "Iterations of one run");
  c.value("--seed", a->options.seed, "N", "Same seed, same result");
  c.file("-o,--output", a->output, "Write the assignment of the best run (.npy .csv)");
  c.file("--json", a->json, "Write the scores: mean, sd, min and max over the runs");
  c.reading(a->data);
  c.force(a->force);
  c.quiet(a->quiet);
  c.run([a] { return about(a->data.path, [&] { return run_cluster(*a); }); });
}

void define_graph(Program& program) {
  Command c(program, "graph", "Laplacian (and incidence) of the neighbours in the data",
            "pacewise graph data.npy -o laplacian.mtx --incidence incidence.mtx --k 5");
  auto a = std::make_shared<GraphArguments>();
  c.data(a->data);
  c.file("-o,--output", a->output, "The Laplacian, n x n", "L.mtx")->required();
  c.file("--incidence", a->incidence, "Write the incidence matrix, hyperedges x samples", "H.mtx");
  const auto options = std::make_shared<TableOptions>(
      c.app(), std::vector<std::string>{"graph_space"},
      std::vector<std::string>{"kind", "graph", "k", "graph_space", "edge_weight", "heat_width", "normalized_laplacian",
                               "normalize", "seed"});
  c.reading(a->data);
  c.force(a->force);
  c.quiet(a->quiet);
  c.run([a, options] {
    options->collect(*a);
    if (a->options.graph == GraphKind::none) throw UsageError("graph = none: must be knn or hypergraph");
    return about(a->data.path, [&] { return run_graph(*a); });
  });
}

void define_judging(Program& program) {
  {
    Command c(program, "evaluate", "Agreement of a clustering with labels: ACC, purity, NMI, ARI",
              "pacewise evaluate labels.npy assignment.npy");
    auto a = std::make_shared<EvaluateArguments>();
    c.input("LABELS", a->labels, "One label per sample");
    c.input("ASSIGNMENT", a->assignment, "One cluster per sample");
    c.file("--json", a->json, "Write the scores");
    c.force(a->force);
    c.run([a] { return run_evaluate(*a); });
  }
  {
    Command c(program, "verify", "Recompute objective and certificates from the data; status 1 if the model's differ",
              "pacewise verify model.pw data.npy");
    auto a = std::make_shared<ModelDataArguments>();
    c.input("MODEL", a->model, "What `fit` wrote");
    c.data(a->data, "DATA", "The data it was fitted to");
    c.file("--weights", a->weights, "The weights it was fitted with, if any");
    c.file("--graph", a->graph_file, "The graph file it was fitted with, if any");
    c.file("--graph-space", a->points_file, "The coordinates file it was fitted with, if any");
    c.reading(a->data);
    c.force(a->force);
    c.quiet(a->quiet);
    c.run([a] { return about(a->data.path, [&] { return run_verify(*a); }); });
  }
  {
    Command c(program, "info", "What a model, a checkpoint or a data file holds", "pacewise info model.pw");
    auto a = std::make_shared<InfoArguments>();
    c.data(a->data, "FILE", "What `fit` wrote, or data");
    c.app().add_flag("--json", a->json, "As JSON; of a model the whole header")->group("Options");
    c.reading(a->data);
    c.run([a] { return run_info(*a); });
  }
}

void define_demo(Program& program) {
  Command c(program, "demo", "Five methods on corrupted images: a table and a web page", "pacewise demo -o demo.html");
  auto a = std::make_shared<DemoArguments>();
  c.file("-o,--output", a->output, "The web page", "FILE.html")->default_str(a->output);
  c.value("--data", a->data, "DIR", "Folder of Fashion-MNIST (t10k); without it, drawn shapes are used");
  c.file("--json", a->json, "Write the table");
  c.file("--save", a->save, "Only write the images and what was changed, to try the other commands on", "DIR");
  c.value("--per-class", a->per_class, "N", "Images of each class")->check(within({4, 1000}));
  c.value("--atoms", a->atoms, "N", "Atoms of each dictionary")->check(within({1, 4096}));
  c.value("--seed", a->seed, "N", "Same seed, same result");
  c.threads(a->threads);
  c.force(a->force);
  c.quiet(a->quiet);
  c.value("--progress", a->progress, "auto|plain|none", "What is shown while it runs");
  c.run([a] { return run_demo(*a); });
}

void define_generate(Program& program) {
  CLI::App* sub = program.app->add_subcommand("generate", "man page and completions")->group("");
  auto what = std::make_shared<std::string>();
  sub->add_option("WHAT", *what, "man, bash, zsh or fish")->required();
  sub->callback([&program, what] {
    program.run = [&program, what] {
      write_stdout(generate(*program.app, *what));
      return static_cast<int>(kDone);
    };
  });
}

/// Damerau's distance of adjacent words: insert, delete, replace, swap two neighbours.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// The known word that `word` was probably meant to be: smallest edit distance (a swap of neighbours counts one), at
/// most a third of its length; empty where none is near.
std::string nearest_spelling(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/// Options that nobody defined come first: they are the cause of whatever else went wrong.
[[noreturn]] void explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  for (const CLI::App* sub : app.get_subcommands()) at = sub;
  const std::string help = at == &app ? "pacewise --help" : "pacewise " + at->get_name() + " --help";
  for (const std::string& word : app.remaining(true)) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> known;
    for (const CLI::Option* option : at->get_options())
      for (const std::string& l : option->get_lnames()) known.push_back("--" + l);
    const std::string near = nearest_spelling(name, known);
    throw UsageError("no option " + name + (near.empty() ? "" : "; did you mean " + near + "?") + " (" + help + ")");
  }
  std::string what = error.what();
  for (char& c : what)
    if (c == '\n') c = ' ';
  if (const std::size_t colon = what.find(": = "); colon != std::string::npos)
    what.erase(colon, 1);  // "--k: = 0: must be .."
  throw UsageError(what + " (" + help + ")");
}

}  // namespace

std::unique_ptr<Program> define_program() {
  auto program = std::make_unique<Program>();
  program->app =
      std::make_shared<CLI::App>("Pacewise: robust dictionary learning by self-paced sparse coding", "pacewise");
  CLI::App& app = *program->app;
  app.formatter(std::make_shared<Help>());
  app.set_help_flag("-h,--help", "Show this help and leave");
  app.set_version_flag("--version", std::string("pacewise ") + kVersion, "Show the version and leave");
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app.footer(
      "`pacewise COMMAND --help` shows the options of a command.\n"
      "Exit status: 0 done; 1 the answer is no, or the tolerance was not reached; 2 bad usage; 3 bad input;\n"
      "4 cannot write; 130 interrupted (a checkpoint is written).");
  define_fit(*program);
  define_table(*program, "impute", "Data with the missing values filled in; the others stay as they are",
               "pacewise impute data.csv -o filled.csv", "The data (.npy .csv .mtx)", run_impute);
  define_table(*program, "clean", "Data with the wrong cells replaced; what is missing stays missing",
               "pacewise clean data.csv -o clean.csv --cells list.csv", "The data (.npy .csv .mtx)", run_clean);
  define_new_samples(*program);
  define_reconstruct(*program);
  define_cluster(*program);
  define_graph(*program);
  define_judging(*program);
  define_demo(*program);
  define_generate(*program);
  return program;
}

int parse_and_run(Program& program, int argc, char** argv) {
  CLI::App& app = *program.app;
  if (argc < 2) throw UsageError("no command given (pacewise --help)");
  const std::string first = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  if (first[0] != '-' && std::find(names.begin(), names.end(), first) == names.end()) {
    const std::string near = nearest_spelling(first, names);
    throw UsageError("no command " + first + (near.empty() ? "" : "; did you mean " + near + "?") +
                     " (pacewise --help)");
  }
  if (argc > 3 && first == "generate" && argv[2] == std::string("words")) {
    write_stdout(completions(app, {argv + 3, argv + argc}));
    return kDone;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    write_stdout(help_of(chosen.empty() ? app : *chosen.front()));
    return kDone;
  } catch (const CLI::CallForVersion&) {
    write_stdout(std::string("pacewise ") + kVersion + "\n");
    return kDone;
  } catch (const CLI::ParseError& error) {
    explain(app, error);
  }
  return program.run();
}

}  // namespace pacewise::cli
