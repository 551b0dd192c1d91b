#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "apps/cli/commands.hpp"
#include "apps/cli/demo_images.hpp"
#include "apps/cli/fit_report.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/outputs.hpp"
#include "apps/cli/signals.hpp"
#include "apps/report/page.hpp"
#include "evaluate/scores.hpp"
#include "io/write.hpp"
#include "model/encode.hpp"
#include "pacewise/version.hpp"
#include "solve/weights.hpp"

namespace pacewise::cli {
namespace {

struct Method {
  const char* name;
  Level level;
  bool graph;
  const char* what;
};
constexpr Method kMethods[] = {
    {"SC", Level::none, false, "sparse coding"},
    {"CSC", Level::none, true, "with the graph and consistency terms"},
    {"SPSC-S", Level::sample, true, "CSC with self-paced weights of samples"},
    {"SPSC-F", Level::feature, true, "CSC with self-paced weights of features (pixels)"},
    {"SPSC-E", Level::element, true, "CSC with self-paced weights of single entries"},
};

struct Outcome {
  const Method* method = nullptr;
  Scores scores;  // means over the k-means runs
  double entry_auroc = 0, entry_precision = 0, image_auroc = 0, given_error = 0, mended_error = 0, seconds = 0;
  double score_entry_auroc = std::nan(""), score_image_auroc = std::nan("");  // of SPSC-E alone
  std::vector<double> loss;                                                   // of every entry
  double lambda = 0;   // the loss at which an entry is not trusted at all
  Matrix<float> back;  // the images as they come back
  Result<float> result;
};

Options options_of(const Method& method, const DemoArguments& a) {
  Options o;
  o.atoms = a.atoms;
  o.seed = a.seed;
  o.level = method.level;
  if (!method.graph) {
    o.alpha = o.gamma = 0;
    o.graph = GraphKind::none;
  }
  return o;
}

double entry_auroc_of(const DemoImages& images, const Matrix<float>& confidence) {
  std::vector<double> doubt(images.changed.size());
  for (std::size_t u = 0; u < doubt.size(); ++u) doubt[u] = 1 - static_cast<double>(confidence.data()[u]);
  return auroc(doubt, images.changed);
}

/// What methods are compared by: how far an entry is from what the fit says of it, and the images it gives back, mended
/// by its weights or, without any, reconstructed. A fit with weights says two things of an entry: where the pace judged
/// it, what the other entries of the image make of it, and at the end what the image's neighbours do. Both count.
void judge(const DemoImages& images, const Control& control, Outcome& out) {
  const Model<float>& model = out.result;
  const Data<float>& data = out.result.data;
  const Index n = images.values.cols(), m = images.values.rows();
  const Descent<float>& descent = model.descent;
  const auto losses = [&](const Matrix<float>& B, const Matrix<float>& S) {
    return unit_losses<float>(data.values, data.weights, B, S, Level::element, control);
  };
  const Vector<float> end = losses(model.dictionary, model.codes);
  out.loss.assign(end.begin(), end.end());
  out.lambda = model.entry_lambda;
  if (descent.settled) {
    const bool entries = model.options.level == Level::element;
    const auto doubt = [&](double l) { return entries ? out.lambda * (1 - confidence_of(l / out.lambda)) : l; };
    const Vector<float> judged = losses(descent.dictionary, descent.codes);
    for (std::size_t u = 0; u < judged.size(); ++u)
      out.loss[u] = (doubt(out.loss[u]) + doubt(static_cast<double>(judged[u]))) / 2;
  }
  std::vector<double> image(static_cast<std::size_t>(n), 0.0);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      const double l = out.loss[static_cast<std::size_t>(j * m + i)];
      image[static_cast<std::size_t>(j)] += model.options.level == Level::none ? l : std::min(1.0, l / out.lambda);
    }
  out.entry_auroc = auroc(out.loss, images.changed);
  out.entry_precision = average_precision(out.loss, images.changed);
  const Matrix<float> back =
      descent.settled ? model.mend(images.values) : model.reconstruct(model.codes.view(), model.sample_scale);
  double apart = 0, size = 0, given = 0;
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {  // on the scale of unit norm
      const auto clean = static_cast<double>(images.clean(i, j)), scale = static_cast<double>(data.sample_scale[j]);
      apart += std::pow((static_cast<double>(back(i, j)) - clean) / scale, 2);
      given += std::pow((static_cast<double>(images.values(i, j)) - clean) / scale, 2);
      size += std::pow(clean / scale, 2);
    }
  out.back = back;
  out.mended_error = std::sqrt(apart / size);
  out.given_error = std::sqrt(given / size);
  out.image_auroc = auroc(image, images.corrupted);
}

/// What `pacewise score` says of the images, which it codes anew, without graph: low confidence should find the entries
/// that were changed, high outlier scores the images.
void score_images(const DemoImages& images, const Control& control, Outcome& out) {
  Problem<float> problem;
  problem.values = images.values.view();
  EncodeOptions options;
  options.tol = 1e-4;
  const Trust<float> trust = out.result.score(problem, options, control);
  out.score_entry_auroc = entry_auroc_of(images, trust.confidence);
  out.score_image_auroc = auroc({trust.outlier_score.begin(), trust.outlier_score.end()}, images.corrupted);
}

/// Beside every method that has no confidence: its plain reconstruction error, which may well be the better score.
std::string score_text(const std::vector<Outcome>& outcomes) {
  const auto both = [](double entries, double images) {
    const std::string text = fmt::format("{:.3f} (pixels)", entries);
    return std::isnan(images) ? text : text + fmt::format(", {:.3f} (images)", images);
  };
  const Outcome& last = outcomes.back();
  std::string text = fmt::format("pacewise score with the model of {}: AUROC {}", last.method->name,
                                 both(last.score_entry_auroc, last.score_image_auroc));
  for (const Outcome& o : outcomes)
    if (o.method->level == Level::none)
      text += fmt::format("; the reconstruction error of {}: {}", o.method->name, both(o.entry_auroc, o.image_auroc));
  return text;
}

void cluster(const DemoImages& images, const Control& control, Outcome& out) {
  KMeansOptions options;
  options.clusters = images.classes;
  options.runs = 10;
  options.unit_norm = true;
  const std::vector<KMeansRun> runs = kmeans(out.result.codes, options, control);
  for (const KMeansRun& run : runs) {
    const Scores s = clustering_scores(images.labels, run.assignment);
    const double share = 1 / static_cast<double>(runs.size());
    out.scores.acc += share * s.acc;
    out.scores.purity += share * s.purity;
    out.scores.nmi += share * s.nmi;
    out.scores.ari += share * s.ari;
  }
}

Outcome run_method(const Method& method, const DemoImages& images, const DemoArguments& a, Console& console) {
  Outcome out;
  out.method = &method;
  Control control;
  control.threads = a.threads;
  control.cancel = &interrupted();
  Problem<float> problem;
  problem.values = images.values.view();
  const Options options = options_of(method, a);
  console.stage(fmt::format("{}: {}", method.name, method.what));
  const auto began = std::chrono::steady_clock::now();
  const bool live = a.progress == "auto";
  out.result = fit<float>(problem, options, control, [&](const Record& r, const State<float>&) {
    if (live)
      console.fraction(fmt::format("{}: iteration {}, {}", method.name, r.iteration, name_of(r.phase)),
                       static_cast<double>(r.iteration) / options.max_iter);
    return true;
  });
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  cluster(images, control, out);
  judge(images, control, out);
  if (method.level == Level::element) score_images(images, control, out);
  if (interrupted()) throw Interrupted("interrupted; nothing was written");
  return out;
}

TextTable table_of(const std::vector<Outcome>& outcomes) {
  TextTable t;
  t.head = {"method", "pixels: AUROC", "precision", "images: AUROC", "error", "ACC", "NMI", "seconds"};
  for (const Outcome& o : outcomes)
    t.rows.push_back({o.method->name, fixed_text(o.entry_auroc), fixed_text(o.entry_precision),
                      fixed_text(o.image_auroc), fixed_text(o.mended_error), fixed_text(o.scores.acc),
                      fixed_text(o.scores.nmi), fixed_text(o.seconds, 1)});
  return t;
}

/// The method with the best value, in words
std::string winners(const std::vector<Outcome>& outcomes) {
  const auto best = [&](const auto& value, bool largest) {
    const Outcome* first = &outcomes.front();
    for (const Outcome& o : outcomes)
      if (largest ? value(o) > value(*first) : value(o) < value(*first)) first = &o;
    return std::string(first->method->name);
  };
  return fmt::format(
      "Wrong pixels are ranked best by {}; the images that come back are nearest to the clean ones with {} (given: "
      "{:.3f}); "
      "clusters agree best with the classes with {} (ACC) and {} (NMI).",
      best([](const Outcome& o) { return o.entry_auroc; }, true),
      best([](const Outcome& o) { return o.mended_error; }, false), outcomes.front().given_error,
      best([](const Outcome& o) { return o.scores.acc; }, true),
      best([](const Outcome& o) { return o.scores.nmi; }, true));
}

/// One thing done to the images, and what the methods make of it
struct Scene {
  const char *name, *what;
  Damage damage;
  DemoImages images = {};
  std::vector<Outcome> outcomes = {};
};

/// What was given, what SPSC-E finds wrong in it, what it makes of it, and what is gained: one picture each
std::vector<Picture> story(const Scene& scene) {
  constexpr Index shown = 12;
  const DemoImages& images = scene.images;
  const Outcome &plain = scene.outcomes.front(), &ours = scene.outcomes.back();
  const Index m = images.values.rows();
  std::vector<Index> chosen;
  for (const bool occluded : {true, false})
    for (Index j = 0; j < images.values.cols() && std::ssize(chosen) < (occluded ? shown / 2 : shown); ++j)
      if (images.corrupted[static_cast<std::size_t>(j)] && images.occluded[static_cast<std::size_t>(j)] == occluded)
        chosen.push_back(j);
  const auto at = [m](Index i, Index j) { return static_cast<std::size_t>(j * m + i); };
  const auto trust = [&](Index i, Index j) { return std::max(0.0, 1 - ours.loss[at(i, j)] / ours.lambda); };
  const auto changed = [&](Index i, Index j) { return images.changed[at(i, j)]; };
  double called = 0, wrong = 0, both = 0;
  for (Index j = 0; j < images.values.cols(); ++j)
    for (Index i = 0; i < m; ++i) {
      const bool doubted = trust(i, j) < 0.5;
      called += doubted ? 1 : 0;
      wrong += changed(i, j) ? 1 : 0;
      both += doubted && changed(i, j) ? 1 : 0;
    }
  using Tile = std::function<double(Index i, Index j)>;
  const auto picture = [&](const std::string& caption, const std::vector<Tile>& rows) {
    const auto width = static_cast<Index>(chosen.size());
    Matrix<float> tiles(m, std::ssize(rows) * width);
    for (Index row = 0; row < std::ssize(rows); ++row)
      for (Index c = 0; c < width; ++c)
        for (Index i = 0; i < m; ++i)
          tiles(i, row * width + c) =
              static_cast<float>(rows[static_cast<std::size_t>(row)](i, chosen[static_cast<std::size_t>(c)]));
    const Range unit{0, 1};
    return Picture{caption, montage_png<float>(tiles.view(), kSide, kSide, std::max<Index>(width, 1), &unit),
                   shown * (kSide + 1) * 2};
  };
  const auto of = [](const Matrix<float>& values) {
    return Tile([&values](Index i, Index j) { return static_cast<double>(values(i, j)); });
  };
  const auto percent = [](double part, double of_all) { return fmt::format("{:.0f}%", 100 * part / of_all); };
  return {picture("Given. " + std::string(scene.what) + "; nobody says where.", {of(images.values)}),
          picture(fmt::format(
                      "Found wrong. Black: what Pacewise does not trust. Below: what really was changed. It finds {} "
                      "of the pixels that were changed; of those it calls wrong, {} were.",
                      percent(both, wrong), percent(both, called)),
                  {trust, Tile([&](Index i, Index j) { return changed(i, j) ? 0.0 : 1.0; })}),
          picture("Mended. What is not trusted is replaced by what the other pixels and images say.", {of(ours.back)}),
          picture(fmt::format(
                      "The gain. Top: what comes back from sparse coding that trusts every pixel, the usual way; {} "
                      "off. Middle: from Pacewise; {} off (given: {}). Bottom: the images before the damage.",
                      percent(plain.mended_error, 1), percent(ours.mended_error, 1), percent(ours.given_error, 1)),
                  {of(plain.back), of(ours.back), of(images.clean)})};
}

nlohmann::json json_of(const std::vector<Outcome>& outcomes) {
  nlohmann::json methods = nlohmann::json::array();
  for (const Outcome& o : outcomes)
    methods.push_back({{"method", o.method->name},
                       {"acc", o.scores.acc},
                       {"purity", o.scores.purity},
                       {"nmi", o.scores.nmi},
                       {"auroc_entries", o.entry_auroc},
                       {"precision_entries", o.entry_precision},
                       {"auroc_images", o.image_auroc},
                       {"error_given", o.given_error},
                       {"error", o.mended_error},
                       {"seconds", o.seconds}});
  return methods;
}

nlohmann::json json_of(const std::vector<Scene>& scenes) {
  const std::vector<Outcome>& first = scenes.back().outcomes;
  nlohmann::json out = {
      {"version", kVersion},
      {"data", scenes.front().images.source},
      {"images", scenes.front().images.values.cols()},
      {"methods", json_of(first)},
      {"score", {{"auroc_entries", first.back().score_entry_auroc}, {"auroc_images", first.back().score_image_auroc}}}};
  for (const Scene& scene : scenes) out["scenes"][scene.name] = json_of(scene.outcomes);
  return out;
}

/// The images and what was done to them, to try the other commands on.
void save(const std::string& folder, const DemoImages& images) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // a failure shows when the first file is opened
  const Index m = images.values.rows(), n = images.values.cols();
  Matrix<float> changed(m, n), corrupted(1, n);
  for (Index u = 0; u < m * n; ++u) changed.data()[u] = images.changed[static_cast<std::size_t>(u)] ? 1.0F : 0.0F;
  for (Index j = 0; j < n; ++j) corrupted(0, j) = images.corrupted[static_cast<std::size_t>(j)] ? 1.0F : 0.0F;
  write_npy<float>(folder + "/images.npy", images.values.view());
  write_npy<float>(folder + "/changed.npy", changed.view());
  write_npy<float>(folder + "/corrupted.npy", corrupted.view());
  write_npy(folder + "/labels.npy", images.labels);
}

std::string page_of(const std::vector<Scene>& scenes) {
  Page page("Pacewise: wrong pixels found and mended");
  page.paragraph(
      fmt::format("{}: {} images of 28 x 28. Pacewise sees only the damaged images, without labels: it learns what "
                  "images look like and which pixels to trust.",
                  scenes.front().images.source, scenes.front().images.values.cols()));
  for (const Scene& scene : scenes) {
    page.heading(scene.what);
    page.pictures(story(scene));
    page.table(table_of(scene.outcomes));
    page.paragraph(winners(scene.outcomes));
    page.paragraph(score_text(scene.outcomes) + ".");
  }
  page.heading("How to read the tables");
  page.paragraph(
      "Pixels: how well a method's doubt finds the pixels that were changed (AUROC: .5 is chance; precision: average "
      "precision). Images: the same for whole images, where not all are damaged. Error: of the images that come back, "
      "against the clean ones. ACC, NMI: k-means++ on unit-norm codes against the classes, mean of 10 runs.");
  page.paragraph(
      "SC and CSC have no weights: their doubt is the reconstruction error, and what comes back is the reconstruction. "
      "The doubt of the others is the mean of two, one by the codes of the image alone, one by those tied to its "
      "neighbours. One seed: it shows what the methods do, not which is better.");
  const Outcome& last = scenes.back().outcomes.back();
  add_convergence(page, last.result.history);
  add_atoms(page, last.result.dictionary, kSide, kSide);
  return page.html();
}

}  // namespace

int run_demo(const DemoArguments& a) {
  check_files({}, {{{"--output", a.save.empty() ? a.output : ""}, Holds::page}, {{"--json", a.json}, Holds::json}},
              a.force);
  Console console(a.quiet, parse_progress(a.progress));
  console.stage("reading images");
  Random random(a.seed);
  const DemoImages clean = clean_images(a.data, a.per_class, random);
  std::vector<Scene> scenes{
      {"all", "30% of the pixels of every image are black or white", Damage::all},
      {"some", "A fifth of the images is damaged, by a square or by 20% salt and pepper", Damage::some}};
  for (auto scene = scenes.rbegin(); scene != scenes.rend(); ++scene) {
    scene->images = clean;
    corrupt(scene->images, scene->damage, random);
  }
  console.print(fmt::format("{}: {} images\n", clean.source, clean.values.cols()));
  if (!a.save.empty()) {
    save(a.save, scenes.back().images);
    console.print(
        fmt::format("{}: images.npy, labels.npy, corrupted.npy (which images), changed.npy (which entries)\n", a.save));
    return kDone;
  }
  for (Scene& scene : scenes) {
    for (const Method& method : kMethods) scene.outcomes.push_back(run_method(method, scene.images, a, console));
    console.print(fmt::format("\n{}\n\n{}\n{}\n{}\n", scene.what, to_text(table_of(scene.outcomes)),
                              winners(scene.outcomes), score_text(scene.outcomes)));
  }
  write_text(a.output, page_of(scenes));
  if (!a.json.empty()) write_json(a.json, json_of(scenes));
  console.print("report: " + a.output + "\n");
  return kDone;
}

}  // namespace pacewise::cli
