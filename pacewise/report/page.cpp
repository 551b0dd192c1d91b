#include "pacewise/report/page.hpp"

namespace pacewise {
namespace {

constexpr char kStyle[] = R"(
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--paper:#fff;--line:#d9dee5;--band:#f3f5f8;
--a:#1f6fd1;--b:#c2571a;--c:#3a8f52}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--paper:#14181e;--line:#333c48;--band:#1c222b;
--a:#6fb0ff;--b:#f0995c;--c:#7fcf97}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem 1rem 3rem;max-width:60rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper)}
h1{font-size:1.5rem;margin:.4rem 0 .8rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.4rem 0;max-width:46rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.6rem 0}
th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:.2rem;white-space:pre}th{color:var(--soft);font-weight:600}
.pictures{display:flex;flex-wrap:wrap;gap:1rem;margin:.8rem 0}
figure{margin:0;max-width:100%}figcaption{color:var(--soft);font-size:.85rem;max-width:24rem}
img{display:block;max-width:100%;height:auto;image-rendering:pixelated;border:1px solid var(--line);margin-bottom:.25rem}
svg{display:block;width:100%;height:auto;max-width:46rem}
svg text{fill:var(--soft);font:12px system-ui,sans-serif}
@media(max-width:40rem){svg text{font-size:19px}table{font-size:.85rem}th,td{padding:.3rem .4rem}th{white-space:normal}}
.axis{stroke:var(--line);fill:none}.band{fill:var(--band)}.legend{color:var(--soft);font-size:.85rem}
.legend span{display:inline-block;margin-right:1.2em}
.a{stroke:var(--a)}.b{stroke:var(--b)}.c{stroke:var(--c)}.a,.b,.c{fill:none;stroke-width:2}
.legend i{display:inline-block;width:1.2em;border-top:3px solid;margin:0 .35em .25em 0}
i.a{border-color:var(--a)}i.b{border-color:var(--b)}i.c{border-color:var(--c)}
)";

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
  const auto row = [&](const std::vector<std::string>& cells, const char* tag) {
    body_ += "<tr>";
    for (const std::string& cell : cells) body_ += std::string("<") + tag + ">" + escape_html(cell) + "</" + tag + ">";
    body_ += "</tr>\n";
  };
  body_ += "<div class=\"scroll\"><table>\n";
  if (!table.head.empty()) row(table.head, "th");
  for (const auto& cells : table.rows) row(cells, "td");
  body_ += "</table></div>\n";
}

void Page::pictures(const std::vector<Picture>& pictures) {
  body_ += "<div class=\"pictures\">\n";
  for (const Picture& p : pictures) {
    const std::string caption = escape_html(p.caption);
    body_ += "<figure><img alt=\"" + caption + "\" width=\"" + std::to_string(p.width) +
             "\" src=\"data:image/png;base64," + base64(p.png) + "\"><figcaption>" + caption +
             "</figcaption></figure>\n";
  }
  body_ += "</div>\n";
}

std::string Page::html() const {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title_ + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n" + body_ + "</body>\n</html>\n";
}

}  // namespace pacewise
