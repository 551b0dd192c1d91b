#include "apps/report/page.hpp"

#include <algorithm>
#include <cmath>

#include "apps/report/page_script.hpp"
#include "apps/report/page_style.hpp"

namespace pacewise {
namespace {

/// Nothing is fetched: only what stands in the page itself is let in.
constexpr char kPolicy[] =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'";

constexpr std::size_t kRoomyColumns = 12;

/// Blue below 0, red above, the stronger the further
std::string colour(double shade) {
  return std::string(shade < 0 ? "rgba(50,110,220," : "rgba(220,60,40,") +
         fixed_text(std::min(std::abs(shade), 1.0) * 0.6, 2) + ")";
}

std::string image(const Picture& p) {
  return "<img alt=\"" + escape_html(p.caption) + "\" width=\"" + std::to_string(p.width) +
         "\" src=\"data:image/png;base64," + base64(p.png) + "\">";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) -> unsigned {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned word = at(0) << 16U | at(1) << 8U | at(2);
    out += digits[word >> 18U];
    out += digits[word >> 12U & 63U];
    out += i + 1 < bytes.size() ? digits[word >> 6U & 63U] : '=';
    out += i + 2 < bytes.size() ? digits[word & 63U] : '=';
  }
  return out;
}

Page::Page(const std::string& title) : title_(escape_html(title)) { body_ = "<h1>" + title_ + "</h1>\n"; }

void Page::heading(const std::string& text) { body_ += "<h2>" + escape_html(text) + "</h2>\n"; }

void Page::paragraph(const std::string& text) { body_ += "<p>" + escape_html(text) + "</p>\n"; }

void Page::table(const TextTable& table) {
  // many columns are counts: closer together, and what is not 0 stands out
  const bool dense = table.head.size() > kRoomyColumns;
  body_ += std::string("<div class=\"scroll\"><table") + (dense ? " class=\"dense\"" : "") + ">\n";
  if (!table.head.empty()) {
    body_ += "<thead><tr>";
    for (const std::string& cell : table.head) body_ += "<th scope=\"col\">" + escape_html(cell) + "</th>";
    body_ += "</tr></thead>\n";
  }
  body_ += "<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    body_ += "<tr>";
    for (std::size_t c = 0; c < table.rows[r].size(); ++c) {
      const std::string& cell = table.rows[r][c];
      const double shade = table.shade.empty() ? 0 : table.shade[r][c];
      body_ += shade != 0                      ? "<td style=\"background:" + colour(shade) + "\">"
               : dense && c > 0 && cell == "0" ? "<td class=\"zero\">"
                                               : "<td>";
      body_ += escape_html(cell) + "</td>";
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void Page::pictures(const std::vector<Picture>& pictures) {
  body_ += "<div class=\"pictures\">\n";
  for (const Picture& p : pictures)
    body_ += "<figure>" + image(p) + "<figcaption>" + escape_html(p.caption) + "</figcaption></figure>\n";
  body_ += "</div>\n";
}

void Page::frames(const std::string& caption, const std::vector<Picture>& frames) {
  if (frames.empty()) return;
  const std::string words = escape_html(caption), last = std::to_string(frames.size() - 1);
  body_ += "<figure class=\"frames\"><figcaption>" + words + "</figcaption>\n";
  if (frames.size() > 1)
    body_ += "<div class=\"slide\"><input type=\"range\" min=\"0\" max=\"" + last + "\" step=\"1\" value=\"" + last +
             "\" autocomplete=\"off\" aria-label=\"" + words + "\"></div>\n";
  for (std::size_t k = 0; k < frames.size(); ++k)
    body_ += std::string("<div class=\"frame\"") + (k + 1 < frames.size() ? " hidden" : "") + "><p class=\"caption\">" +
             escape_html(frames[k].caption) + "</p>" + image(frames[k]) + "</div>\n";
  body_ += "</figure>\n";
}

std::string Page::html() const {
  return std::string("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n") +
         "<meta http-equiv=\"Content-Security-Policy\" content=\"" + kPolicy + "\">\n" +
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
         "<link rel=\"icon\" href=\"data:,\">\n<title>" + title_ + "</title>\n<style>" + kPageStyle +
         "</style>\n</head>\n<body>\n" + body_ + "<script>" + kPageScript + "</script>\n</body>\n</html>\n";
}

}  // namespace pacewise
