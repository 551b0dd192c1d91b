#pragma once
// Robust dictionary learning by self-paced sparse coding: everything a program needs.
#include "algebra/random.hpp"
#include "evaluate/kmeans.hpp"
#include "evaluate/scores.hpp"
#include "model/encode.hpp"
#include "model/fit.hpp"
#include "model/learn.hpp"
#include "pacewise/version.hpp"
#include "solve/consistency.hpp"
#include "solve/dictionary.hpp"
#include "solve/weights.hpp"
