#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <variant>

#include "algebra/error.hpp"

namespace pacewise {

// The self-paced regularisers. Each is a small type with
//   value(v, lambda)   F(v; lambda) of one unit, and
//   weight(l, lambda)  the v in [0, 1] that minimises  v l + F(v; lambda).
// To add one: write its type here and append it to `Regularizer`. Parsing, listing and validation follow from that.

struct Hard {
  static constexpr std::string_view name = "hard";
  static double value(double v, double lambda) { return -lambda * v; }
  static double weight(double l, double lambda) { return l < lambda ? 1 : 0; }
  static void validate() {}
};

/// The paper's eq. 6 and 7, with the lambda its printed eq. 7 loses.
struct Linear {
  static constexpr std::string_view name = "linear";
  static double value(double v, double lambda) { return lambda * (v * v / 2 - v); }
  static double weight(double l, double lambda) { return l < lambda ? 1 - l / lambda : 0; }
  static void validate() {}
};

struct Polynomial {
  static constexpr std::string_view name = "polynomial";
  double power = 3;  // t > 1; t = 2 is linear
  double value(double v, double lambda) const { return lambda * (std::pow(v, power) / power - v); }
  double weight(double l, double lambda) const { return l < lambda ? std::pow(1 - l / lambda, 1 / (power - 1)) : 0; }
  void validate() const {
    if (!(power > 1) || !std::isfinite(power))
      throw Error("polynomial power = " + std::to_string(power) + ": must be finite and > 1");
  }
};

/// Defined for 0 < lambda < 1 with z = 1 - lambda, so losses are divided by a scale c > lambda first:
///   F = c (z v - z^v / log z),  v = log(l / c + z) / log z,  z = 1 - lambda / c.
struct Logarithmic {
  static constexpr std::string_view name = "logarithmic";
  double scale = 0;  // c; 0: c = 2 lambda, which makes v a function of l / lambda as in the other regularisers
  // a lambda that comes near or passes the scale carries it along
  double c(double lambda) const { return scale > 0 ? std::max(scale, lambda / (1 - 1e-6)) : 2 * lambda; }
  double value(double v, double lambda) const {
    const double z = 1 - lambda / c(lambda);
    return c(lambda) * (z * v - std::pow(z, v) / std::log(z));
  }
  double weight(double l, double lambda) const {
    if (!(l < lambda)) return 0;
    const double z = 1 - lambda / c(lambda);
    return std::log(l / c(lambda) + z) / std::log(z);
  }
  void validate() const {
    if (!(scale >= 0) || !std::isfinite(scale))
      throw Error("logarithmic scale = " + std::to_string(scale) +
                  ": must be finite and above every lambda, or 0 for 2 lambda");
  }
};

/// lambda1 = lambda, lambda2 = ratio * lambda, z = lambda1 lambda2 / (lambda1 - lambda2).
struct Mixture {
  static constexpr std::string_view name = "mixture";
  double ratio = 0.5;  // 0 < ratio < 1
  double z(double lambda) const { return lambda * ratio / (1 - ratio); }
  double value(double v, double lambda) const { return -z(lambda) * std::log(v + z(lambda) / lambda); }
  double weight(double l, double lambda) const {
    if (l <= ratio * lambda) return 1;
    return l < lambda ? z(lambda) / l - z(lambda) / lambda : 0;
  }
  void validate() const {
    if (!(ratio > 0 && ratio < 1))
      throw Error("mixture ratio = " + std::to_string(ratio) + ": must lie strictly between 0 and 1");
  }
};

/// From the robust loss lambda (1 - exp(-l / lambda)).
struct Welsch {
  static constexpr std::string_view name = "welsch";
  static double value(double v, double lambda) { return v > 0 ? lambda * (v * std::log(v) - v) : 0; }
  static double weight(double l, double lambda) { return std::exp(-l / lambda); }
  static void validate() {}
};

using Regularizer = std::variant<Hard, Linear, Polynomial, Logarithmic, Mixture, Welsch>;

namespace detail {
template <std::size_t... I>
constexpr auto regularizer_names(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{std::variant_alternative_t<I, Regularizer>::name...};
}
template <std::size_t I = 0>
Regularizer make_regularizer(std::string_view name) {
  if constexpr (I < std::variant_size_v<Regularizer>) {
    using Type = std::variant_alternative_t<I, Regularizer>;
    return name == Type::name ? Regularizer(Type{}) : make_regularizer<I + 1>(name);
  } else {
    std::string known;
    for (const std::string_view one : regularizer_names(std::make_index_sequence<std::variant_size_v<Regularizer>>{}))
      known += (known.empty() ? "" : ", ") + std::string(one);
    throw Error("regularizer = " + std::string(name) + ": must be one of " + known);
  }
}
}  // namespace detail

inline constexpr auto regularizer_names =
    detail::regularizer_names(std::make_index_sequence<std::variant_size_v<Regularizer>>{});

inline Regularizer parse_regularizer(std::string_view name) { return detail::make_regularizer(name); }
inline std::string_view name_of(const Regularizer& r) {
  return std::visit([](const auto& type) { return type.name; }, r);
}
inline void validate(const Regularizer& r) {
  std::visit([](const auto& type) { type.validate(); }, r);
}
inline double pace_weight(const Regularizer& r, double loss, double lambda) {
  return std::visit([&](const auto& type) { return type.weight(loss, lambda); }, r);
}
inline double pace_value(const Regularizer& r, double v, double lambda) {
  return std::visit([&](const auto& type) { return type.value(v, lambda); }, r);
}

}  // namespace pacewise
