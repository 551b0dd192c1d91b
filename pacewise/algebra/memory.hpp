#pragma once
#include <cstddef>

namespace pacewise {

/// 64-byte aligned; large arrays on pages of 2 MiB where the system has them: the first touch of a small page costs as
/// much as reading it ten times. `bytes` is the same in both.
void* allocate_numbers(std::size_t bytes);
void free_numbers(void* p, std::size_t bytes) noexcept;

}  // namespace pacewise
