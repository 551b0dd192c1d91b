#pragma once
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/report/table.hpp"

namespace pacewise {

/// What a picture of tiles tells when pointed at.
struct Tiles {
  int rows = 0, columns = 0;                                          // pixels of a tile
  int gap = 1;                                                        // pixels around and between the tiles
  int across = 1;                                                     // tiles in a row
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;  // values of black and white; NaN: none are told
  bool strip = false;                                                 // a tile is one row of features, not a picture
  std::vector<std::string> names;                                     // of the tiles, row by row
};

/// One picture of a page: a finished PNG file as bytes, shown `width` pixels wide (less on a narrow screen).
struct Picture {
  std::string caption;
  std::string png;
  int width = 200;
  std::optional<Tiles> tiles = std::nullopt;
};

/// A web page in one file: styles, pictures and one small script inside, nothing loaded from anywhere (its own policy
/// forbids it). Light and dark by the reader's setting, narrow screens, paper. Without JavaScript every table and the
/// last frame of every series of pictures can still be read. All text is escaped here.
class Page {
 public:
  explicit Page(const std::string& title);

  void heading(const std::string& text);
  void paragraph(const std::string& text);
  /// A click (or Enter) on a head sorts by that column, a second one the other way round: numbers as numbers by what
  /// the cell begins with ("0.894 ±0.012", "12.5 s"), else as text; "-" and empty cells are last either way. The
  /// browser decides per column: numbers where every cell that is not "-" begins with one.
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
