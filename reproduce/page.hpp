#pragma once
#include <string>

#include "reproduce/report.hpp"

namespace pacewise::reproduce {

/// The report as one web page.
std::string report_page(const Findings& findings);

}  // namespace pacewise::reproduce
