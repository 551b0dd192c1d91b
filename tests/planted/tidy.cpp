// Used after it was moved from: the lint test proves that clang-tidy reports it.
#include <string>
#include <utility>

std::size_t planted() {
  std::string text = "text";
  const std::string other = std::move(text);
  return text.size() + other.size();
}
