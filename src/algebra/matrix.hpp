#pragma once
#include "pacewise/matrix.hpp"
