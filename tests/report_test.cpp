#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "apps/report/chart.hpp"
#include "apps/report/page.hpp"

namespace pacewise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

bool holds(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

/// d of the only path of that class
std::string path_of(const std::string& svg, const std::string& kind) {
  const std::size_t at = svg.find("<path class=\"" + kind + "\"");
  if (at == std::string::npos) return {};
  const std::size_t first = svg.find(" d=\"", at) + 4;
  return svg.substr(first, svg.find('"', first) - first);
}

// What a reader sees of a page is tested in a browser: cli/page_test.py.
TEST(Page, EscapesWhateverItIsGivenAndLetsNothingIn) {
  const std::string evil = "<script>alert(\"1\")</script>&";
  Page page(evil);
  page.heading(evil);
  page.paragraph(evil);
  page.table({std::vector<std::string>(13, evil), {std::vector<std::string>(13, "0")}});
  const Picture picture{evil, "png", 20};
  page.pictures({picture});
  page.frames(evil, {picture, picture});
  page.markup(svg_text(0, 0, evil, "end") + svg_dot(0, 0, 0, evil) + legend_entry(0, evil));
  const std::string html = page.html();
  EXPECT_EQ(count(html, "<script>"), 1U);  // the page's own
  EXPECT_FALSE(holds(html, "alert(\"1\")"));
  EXPECT_TRUE(holds(html, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;"));
  EXPECT_TRUE(holds(html, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "));
  for (const char* way : {"http://", "https://", "eval(", "Function(", "fetch(", "XMLHttpRequest", "import("})
    EXPECT_FALSE(holds(html, way)) << way;
  EXPECT_TRUE(holds(html, "<table class=\"dense\">")) << "many columns";
  EXPECT_EQ(count(html, "<td class=\"zero\">0</td>"), 12U) << "the first column is a name";
}

TEST(Page, OneFrameHasNoSlider) {
  Page one("p"), none("p");
  one.frames("weights", {{"only", "a", 30}});
  none.frames("weights", {});
  EXPECT_TRUE(holds(one.html(), "<div class=\"frame\"><p class=\"caption\">only</p>"));
  EXPECT_FALSE(holds(one.html(), "type=\"range\""));
  EXPECT_EQ(none.html(), Page("p").html());
}

TEST(Ticks, AreRoundAndInside) {
  EXPECT_EQ(ticks(0, 1, 5), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
  EXPECT_EQ(ticks(1, 4, 7, true), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(ticks(2, 2, 5), std::vector<double>{2});
  for (const auto& [from, to] : {std::pair{-3.7, 12.2}, {1e-9, 3e-9}, {-5e7, -1e7}, {0.61, 0.93}}) {
    const std::vector<double> t = ticks(from, to, 5);
    EXPECT_GE(t.size(), 3U) << from;
    EXPECT_LE(t.size(), 9U) << from;
    const double slack = 1e-8 * (to - from);
    EXPECT_GE(t.front(), from - slack);
    EXPECT_LE(t.back(), to + slack);
  }
}

std::vector<Record> run() {
  std::vector<Record> history(6);
  for (int t = 0; t < 6; ++t) {
    Record& r = history[static_cast<std::size_t>(t)];
    r.iteration = t + 1;
    r.phase = t < 2 ? Phase::plain : Phase::paced;
    r.lambda = t < 2 ? kInfinity : 0.5 * t;
    r.objective.fit = 10 - t;
    r.selected = t < 2 ? 1 : 0.1 * t;
  }
  return history;
}

TEST(ConvergenceChart, CutsTheObjectiveWhereLambdaChanges) {
  const std::string svg = convergence_chart(run());
  EXPECT_EQ(count(path_of(svg, "curve s1"), "M"), 5U);  // two plain iterations are joined, each paced one is alone
  EXPECT_EQ(count(path_of(svg, "curve s2"), "M"), 1U);
  EXPECT_EQ(count(svg, "<title>"), 18U);
  EXPECT_TRUE(holds(svg, "<title>iteration 5 (paced): objective 6 at lambda 2</title>"));
  EXPECT_TRUE(holds(svg, "<title>iteration 5 (paced): 40.0% of the units selected at lambda 2</title>"));
}

TEST(ConvergenceChart, EveryDotLiesInItsPanel) {
  std::vector<Record> history = run();
  history[3].objective.pace = -2000;
  const std::string svg = convergence_chart(history), begin = "transform=\"translate(";
  int dots = 0;
  for (std::size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1), ++dots) {
    double x = 0, y = 0;
    ASSERT_EQ(std::sscanf(svg.c_str() + at + begin.size(), "%lf %lf", &x, &y), 2);
    EXPECT_TRUE(x >= 74 && x <= 690 && y >= 26 && y <= 370) << svg.substr(at, 80);
  }
  EXPECT_EQ(dots, 18);
}

TEST(ConvergenceChart, ThreeCurvesHaveThreeLooks) {
  const std::string svg = convergence_chart(run()), legend = svg.substr(svg.find("<figcaption"));
  std::set<std::string> looks;
  for (std::size_t at = legend.find("<g class=\"dot "); at != std::string::npos;
       at = legend.find("<g class=\"dot ", at + 1))
    looks.insert(legend.substr(at + 15, legend.find("</g>", at) - at));
  EXPECT_EQ(looks.size(), 3U);
}

TEST(ConvergenceChart, WithoutPaceIterationsOrFiniteNumbers) {
  std::vector<Record> history = run();
  history.resize(2);
  const std::string svg = convergence_chart(history);
  EXPECT_TRUE(holds(svg, "aria-label=\"objective over the iterations\""));
  EXPECT_EQ(count(svg, "<title>"), 2U);
  EXPECT_FALSE(holds(svg, "mean weight"));
  for (Record& r : history) r.objective.fit = std::nan("");
  EXPECT_FALSE(holds(convergence_chart(history), "nan"));
  EXPECT_EQ(convergence_chart({}), "");
}

TEST(StageChart, ShowsEveryJudgedStageAndWhereThePaceStopped) {
  std::vector<Stage> stages(4);
  for (std::size_t k = 0; k < 3; ++k) {
    stages[k].hidden = 100;
    stages[k].sum = 100.0 * static_cast<double>(3 - k);
    stages[k].gain = -100.0 * static_cast<double>(k);
    stages[k].gain_squares = 100.0 * static_cast<double>(k * k) + 1;
    if (k > 0) stages[k].scale = 16.0 / static_cast<double>(k);
  }
  stages[3].scale = 1;  // not visited
  const std::string svg = stage_chart(stages, 2);
  EXPECT_EQ(count(svg, "<title>"), 3U);
  EXPECT_TRUE(holds(svg, "<title>8 robust scales: error 1, gain 2, standard error 0.01</title>"));
  EXPECT_TRUE(holds(svg, ">all in</text>"));
  EXPECT_EQ(count(svg, "stopped here"), 1U);
  EXPECT_FALSE(holds(svg, "nan"));
  EXPECT_EQ(stage_chart({}, 0), "");
  EXPECT_EQ(stage_chart(std::vector<Stage>(2), 0), "");
}

}  // namespace
}  // namespace pacewise
