#pragma once
#include "storage/atomic_file.hpp"
