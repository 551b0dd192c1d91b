#pragma once

namespace pacewise {

/// OpenBLAS chooses its kernels by the processor's model number. To a processor younger than itself it gives those of
/// 2004, which take five times as long. Where that has happened and the instruction sets allow better ones, this has
/// them chosen by name instead; where OPENBLAS_CORETYPE is set, or the BLAS is another one, it does nothing. SerialBlas
/// calls it once, before the library's first product: no other thread may be inside the same OpenBLAS at that moment.
void choose_blas_kernels();

}  // namespace pacewise
