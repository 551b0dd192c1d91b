#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "model/fit.hpp"

namespace pacewise::cli {

enum class Progress : std::uint8_t { automatic, plain, none };
Progress parse_progress(const std::string& text);

/// What the program says while it works, on stderr: one live line on a terminal, plain lines elsewhere, nothing when
/// quiet. Results go to stdout by print().
class Console {
 public:
  Console(bool quiet, Progress progress);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  bool quiet() const { return quiet_; }
  /// What is being done now; the live line shows it until the next one.
  void stage(const std::string& text);
  /// How far it is: the live line, else a line every few seconds.
  void fraction(const std::string& text, double done);
  void iteration(const Record& record, const Options& options);
  void note(const std::string& text);
  void notes(const std::vector<std::string>& texts, const std::string& about = {});
  /// Why the status will not be 0: said even when quiet.
  void warn(const std::string& text);
  /// A result, for stdout; nothing when quiet.
  void print(const std::string& text);
  void clear_line();

 private:
  void draw(const std::string& line);
  void line(const std::string& text);
  double elapsed() const;

  bool quiet_ = false, live_ = false, silent_ = false, drawn_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), stage_began_ = began_, last_draw_{};
  double fit_began_ = -1;  // seconds since began_ when the first iteration ended
  int first_iteration_ = 0;
};

/// Writes to stdout and fails with a WriteError where that does not work (a full disk behind a redirection).
void write_stdout(std::string_view text);
void flush_stdout();

/// 75.2 -> "1:15"
std::string clock_text(double seconds);

}  // namespace pacewise::cli
