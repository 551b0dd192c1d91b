#pragma once
#include "pacewise/error.hpp"
