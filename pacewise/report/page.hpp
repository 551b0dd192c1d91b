#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "pacewise/report/table.hpp"

namespace pacewise {

/// One picture of a page: a finished PNG file as bytes, shown `width` pixels wide (less on a narrow screen).
struct Picture {
  std::string caption;
  std::string png;
  int width = 200;
};

/// A web page in one file: styles and pictures inside, no scripts, nothing loaded from anywhere. Light and dark by the
/// reader's setting. All text is escaped here.
class Page {
 public:
  explicit Page(const std::string& title);

  void heading(const std::string& text);
  void paragraph(const std::string& text);
  void table(const TextTable& table);
  void pictures(const std::vector<Picture>& pictures);
  /// Ready markup, from chart().
  void markup(const std::string& html) { body_ += html; }
  std::string html() const;

 private:
  std::string title_, body_;
};

std::string escape_html(std::string_view text);
std::string base64(std::string_view bytes);

}  // namespace pacewise
