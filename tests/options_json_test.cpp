#include "model/options_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pacewise/error.hpp"

namespace {

using namespace pacewise;
using nlohmann::json;

TEST(OptionsJson, EveryOptionComesBack) {
  const Options given{.atoms = 3,
                      .beta = 0.25,
                      .atom_penalty = {1, 0, 2.5},
                      .positive_codes = true,
                      .regularizer = Mixture{.ratio = 0.125},
                      .graph_space = {Space::Kind::half, 7},
                      .normalized_laplacian = false,
                      .seed = 9007199254740993};
  const Options read = options_from_json(json::parse(to_json(given).dump()));
  for (const Option& row : option_table()) EXPECT_EQ(row.get(read), row.get(given)) << row.name;
  EXPECT_EQ(to_json(given).size(), option_table().size());
}

TEST(OptionsJson, NamesOfOlderFilesAreKnown) {
  const Options read = options_from_json(
      {{"n_components", 7}, {"regularizer", "logarithmic"}, {"scale", 2}, {"memory_bytes", 0}, {"beta", nullptr}});
  EXPECT_EQ(read.atoms, 7);
  EXPECT_EQ(std::get<Logarithmic>(read.regularizer).scale, 2);
  EXPECT_FALSE(read.beta);
  EXPECT_EQ(read.k, Options().k);
}

TEST(OptionsJson, BadValuesAreRefused) {
  EXPECT_THROW(options_from_json({{"atoms", 0}}), Error);
  EXPECT_THROW(options_from_json({{"atoms", "many"}}), Error);
  EXPECT_THROW(options_from_json({{"level", 3}}), Error);
  EXPECT_THROW(options_from_json({{"alpha", {{"a", 1}}}}), Error);
  EXPECT_THROW(options_from_json({{"atom_penalty", {1, "a"}}}), Error);
}

}  // namespace
