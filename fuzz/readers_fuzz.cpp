// One program for all fuzz targets: the environment variable PACEWISE_FUZZ names the one to run.
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "memory_file.hpp"
#include "targets.hpp"

namespace {

using namespace pacewise::fuzz;
using Body = std::function<int(std::string_view)>;

/// Files of one format: the input with its beginning replaced by what the format is recognised by.
Body reader(std::string start) {
  return [start = std::move(start)](std::string_view input) { return read_bytes(start, input); };
}

/// The header of a MATLAB file fills 128 bytes; what follows is fuzzed. HDF5 begins at byte 512 of v7.3.
std::string mat_header(std::string text, char version) {
  text.resize(124, ' ');
  return text + '\0' + version + "IM";
}

Body planted(void (*fault)(std::string_view)) {
  return [fault](std::string_view input) {
    fault(input);
    return 0;
  };
}

struct Target {
  const char* name;
  Body body;
};

const Target kTargets[] = {
    {"any", reader("")},
    {"csv", reader("1")},
    {"npy", reader("\x93NUMPY")},
    {"npz", reader("PK\x03\x04")},
    {"npz_entries", [](std::string_view input) { return read_bytes("", zip_of_arrays(input)); }},
    {"mat", reader(mat_header("MATLAB 5.0 MAT-file", 1))},
    {"mat73", reader(mat_header("MATLAB 7.3 MAT-file", 2))},
    {"hdf5", reader("\x89HDF\r\n\x1a\n")},
    {"idx", reader(std::string(2, '\0'))},
    {"mtx", reader("%%MatrixMarket matrix ")},
    {"png", reader("\x89PNG\r\n\x1a\n")},
    {"jpeg", reader("\xff\xd8\xff")},
    {"pgm", reader("P")},
    {"planted_overflow", planted(planted_overflow)},
    {"planted_allocation", planted(planted_allocation)},
    {"planted_hang", planted(planted_hang)},
};

const Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("PACEWISE_FUZZ");
  const std::string wanted = name == nullptr ? "" : name;
  for (const Target& target : kTargets) {
    if (wanted == "list") std::printf("%s\n", target.name);
    if (wanted == target.name) chosen = &target;
  }
  if (wanted == "list") std::exit(0);
  if (chosen == nullptr) {
    std::fprintf(stderr, "PACEWISE_FUZZ = %s: must be the name of a target, or list\n", wanted.c_str());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return chosen->body({reinterpret_cast<const char*>(data), size});
}
