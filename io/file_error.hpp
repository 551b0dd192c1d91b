#pragma once
#include "storage/file_error.hpp"
