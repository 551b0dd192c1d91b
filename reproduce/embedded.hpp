#pragma once
#include <string_view>

namespace pacewise::reproduce {

// reproduce/*.csv as they were when the program was built.
extern const std::string_view kPaperCsv;     // Tables 1 and 2 of the paper as printed
extern const std::string_view kSettingsCsv;  // weights of the terms, for runs that do not tune

}  // namespace pacewise::reproduce
