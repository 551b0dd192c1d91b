#include "apps/cli/console.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>

#include "apps/cli/outcome.hpp"
#include "pace/descent.hpp"
#include "pace/schedule.hpp"
#include "storage/file_error.hpp"

namespace pacewise::cli {
namespace {

constexpr std::chrono::milliseconds kLivePause{100}, kPlainPause{3000};

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// Iterations the schedule will take at most; of the geometric pace an estimate, its end depends on the losses.
int expected_iterations(const Options& options) {
  const Options& s = options;
  if (s.level == Level::none) return s.max_iter;
  if (descends(s)) {  // of the first draw of hidden entries
    int all = s.plain_iter + s.polish;
    for (std::size_t t = 0; t < stage_scales(s).size(); ++t) all += stage_iterations(s, static_cast<int>(t));
    return std::min(s.max_iter, all);
  }
  const int paced =
      s.pace == Pace::quantile ? s.pace_iter : static_cast<int>(std::ceil(std::log(1e4) / std::log(s.mu)));
  const int last = s.polish > 0 ? s.polish : s.max_iter;
  return std::min(s.max_iter, s.plain_iter + s.warm_iter + paced + last);
}

std::string bar(double done, int width = 16) {
  const auto full = static_cast<int>(std::lround(width * std::clamp(done, 0.0, 1.0)));
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), '.') + "]";
}

void to_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress parse_progress(const std::string& text) {
  if (text == "auto") return Progress::automatic;
  if (text == "plain") return Progress::plain;
  if (text == "none") return Progress::none;
  throw UsageError("progress = " + text + ": must be auto, plain or none");
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::max(0.0, seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

Console::Console(bool quiet, Progress progress)
    : quiet_(quiet),
      live_(!quiet && progress == Progress::automatic && ::isatty(STDERR_FILENO) == 1),
      silent_(quiet || progress == Progress::none) {}

Console::~Console() { clear_line(); }

double Console::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

void Console::clear_line() {
  if (drawn_) to_stderr("\r\033[K");
  drawn_ = false;
}

void Console::draw(const std::string& text) {
  to_stderr("\r\033[K" + text.substr(0, terminal_width() - 1));
  drawn_ = true;
  last_draw_ = std::chrono::steady_clock::now();
}

void Console::line(const std::string& text) {
  clear_line();
  to_stderr(text + "\n");
}

void Console::stage(const std::string& text) {
  if (silent_) return;
  if (live_)
    draw(fmt::format("{} ..", text));
  else
    line(text);
  stage_began_ = last_draw_ = std::chrono::steady_clock::now();
}

void Console::fraction(const std::string& text, double done) {
  if (silent_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool last = live_ && done >= 1;
  if (!last && now - last_draw_ < (live_ ? kLivePause : kPlainPause)) return;
  const double passed = std::chrono::duration<double>(now - stage_began_).count();
  const std::string left =
      passed > 1 && done > 0 ? fmt::format("  {} left", clock_text(passed * (1 - done) / done)) : std::string();
  if (live_)
    draw(fmt::format("{} {:3.0f}% {}{}", bar(done), 100 * done, text, left));
  else
    line(fmt::format("{} {:.0f}%{}", text, 100 * done, left));
  last_draw_ = now;
}

void Console::iteration(const Record& r, const Options& options) {
  if (silent_) return;
  if (fit_began_ < 0) {
    fit_began_ = elapsed();
    first_iteration_ = r.iteration;
  }
  const double worst = std::max({r.certificate.codes, r.certificate.dictionary, r.certificate.consistency});
  const auto certificate = [&](int digits) {  // infinite where the iteration took a cheap step and computed none
    return std::isfinite(worst) ? fmt::format("{:.{}e}", worst, digits) : std::string("-");
  };
  const std::string lambda = std::isinf(r.lambda) ? "inf" : fmt::format("{:.3g}", r.lambda);
  const std::string facts =
      fmt::format("{:<6} lambda {}  selected {:3.0f}%  objective {:.6g}  certificate {}", name_of(r.phase), lambda,
                  100 * r.selected, r.objective.total(), certificate(1));
  if (!live_) {
    line(fmt::format("iteration {:3}  {}  {}", r.iteration, facts, clock_text(elapsed())));
    return;
  }
  const int total = std::max(expected_iterations(options), r.iteration);
  const int done = r.iteration - first_iteration_;
  const double share = static_cast<double>(r.iteration) / total;
  const std::string left =
      done > 0 ? fmt::format("{} left", clock_text((elapsed() - fit_began_) / done * (total - r.iteration))) : "";
  const std::string full =
      fmt::format("{} {}/{} {}  {}  {}", bar(share), r.iteration, total, facts, clock_text(elapsed()), left);
  if (full.size() < terminal_width()) {
    draw(full);
    return;
  }
  draw(fmt::format("{} {}/{} lambda {}  in {:.0f}%  obj {:.5g}  cert {}  {}", bar(share, 8), r.iteration, total, lambda,
                   100 * r.selected, r.objective.total(), certificate(0), left));
}

void Console::note(const std::string& text) {
  if (!quiet_) line("note: " + text);
}

void Console::notes(const std::vector<std::string>& texts, const std::string& about) {
  for (const std::string& text : texts) note(about.empty() ? text : about + ": " + text);
}

void Console::warn(const std::string& text) { line("pacewise: warning: " + text); }

void Console::print(const std::string& text) {
  if (quiet_) return;
  clear_line();
  write_stdout(text);
  flush_stdout();
}

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    throw WriteError("stdout: cannot write: " + system_text(errno));
}

void flush_stdout() {
  if (std::fflush(stdout) != 0) throw WriteError("stdout: cannot write: " + system_text(errno));
}

}  // namespace pacewise::cli
