#include "pacewise/algebra/memory.hpp"

#include <new>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace pacewise {
namespace {

constexpr std::size_t kPage = std::size_t{1} << 21, kLarge = 2 * kPage;
std::align_val_t alignment_of(std::size_t bytes) { return std::align_val_t{bytes >= kLarge ? kPage : 64}; }

}  // namespace

void* allocate_numbers(std::size_t bytes) {
  void* p = ::operator new(bytes, alignment_of(bytes));
#ifdef MADV_HUGEPAGE
  if (bytes >= kLarge) madvise(p, bytes / kPage * kPage, MADV_HUGEPAGE);  // advice: a refusal changes nothing
#endif
  return p;
}

void free_numbers(void* p, std::size_t bytes) noexcept { ::operator delete(p, alignment_of(bytes)); }

}  // namespace pacewise
