#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "apps/report/table.hpp"

namespace pacewise {

/// One picture of a page: a finished PNG file as bytes, shown `width` pixels wide (less on a narrow screen).
struct Picture {
  std::string caption;
  std::string png;
  int width = 200;
};

/// A web page in one file: styles, pictures and one small script inside, nothing loaded from anywhere (its own policy
/// forbids it). Light and dark by the reader's setting, narrow screens, paper. Without JavaScript every table and the
/// last frame of every series of pictures can still be read. All text is escaped here.
class Page {
 public:
  explicit Page(const std::string& title);

  void heading(const std::string& text);
  void paragraph(const std::string& text);
  void table(const TextTable& table);
  void pictures(const std::vector<Picture>& pictures);
  /// One picture at a time, chosen by a slider that begins at the last one, its caption beside the slider. On paper and
  /// without JavaScript the last one is shown. Nothing for no frames; one frame is shown without a slider.
  void frames(const std::string& caption, const std::vector<Picture>& frames);
  /// Ready markup, from convergence_chart().
  void markup(const std::string& html) { body_ += html; }
  std::string html() const;

 private:
  std::string title_, body_;
};

std::string escape_html(std::string_view text);
std::string base64(std::string_view bytes);

}  // namespace pacewise
