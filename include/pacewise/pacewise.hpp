#pragma once
// Robust dictionary learning by self-paced sparse coding.
#include "pacewise/evaluate.hpp"
#include "pacewise/steps.hpp"
#include "pacewise/version.hpp"
