#include <sys/mman.h>

#include "pacewise/matrix.hpp"

namespace pacewise {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PACEWISE_WATCHED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PACEWISE_WATCHED
#endif

#ifdef PACEWISE_WATCHED  // the sanitizer sees only what the program asks of malloc
void* allocate_large(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{64}); }
void free_large(void* memory, std::size_t) noexcept { ::operator delete (memory, std::align_val_t{64}); }
#else
void* allocate_large(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}
void free_large(void* memory, std::size_t bytes) noexcept { munmap(memory, bytes); }
#endif

}  // namespace pacewise
