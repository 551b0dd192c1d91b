#pragma once
// Robust dictionary learning by self-paced sparse coding: everything a program needs.
#include "pacewise/algebra/blas_kernels.hpp"
#include "pacewise/algebra/random.hpp"
#include "pacewise/evaluate/kmeans.hpp"
#include "pacewise/evaluate/scores.hpp"
#include "pacewise/model/encode.hpp"
#include "pacewise/model/fit.hpp"
#include "pacewise/model/learn.hpp"
#include "pacewise/solve/consistency.hpp"
#include "pacewise/solve/dictionary.hpp"
#include "pacewise/solve/weights.hpp"
#include "pacewise/version.hpp"
