#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pacewise/error.hpp"

namespace pacewise {

// The self-paced regularisers. Each is a small type with
//   value(v, lambda)   F(v; lambda) of one unit, and
//   weight(l, lambda)  the v in [0, 1] that minimises  v l + F(v; lambda).
// A type with a parameter lists it in `parameters`: name, member, range and one sentence of help.
// To add one: write its type here and append it to `Regularizer`. The names, options and help of the program, of Python
// and of model files follow from that, and so does the validation.

template <class Type>
struct Parameter {
  std::string_view name;  // among the options of a fit
  double Type::*member;
  Range range;
  std::string_view help;
  std::string_view old_name = {};  // in files written before 0.6
};

struct Hard {
  static constexpr std::string_view name = "hard";
  static double value(double v, double lambda) { return -lambda * v; }
  static double weight(double l, double lambda) { return l < lambda ? 1 : 0; }
};

/// The paper's eq. 6 and 7, with the lambda its printed eq. 7 loses.
struct Linear {
  static constexpr std::string_view name = "linear";
  static double value(double v, double lambda) { return lambda * (v * v / 2 - v); }
  static double weight(double l, double lambda) { return l < lambda ? 1 - l / lambda : 0; }
};

struct Polynomial {
  static constexpr std::string_view name = "polynomial";
  double power = 3;  // t > 1; t = 2 is linear
  static constexpr std::array parameters = {Parameter<Polynomial>{
      "power", &Polynomial::power, above(1), "Exponent of the polynomial regularizer; 2 is linear"}};
  double value(double v, double lambda) const { return lambda * (std::pow(v, power) / power - v); }
  double weight(double l, double lambda) const { return l < lambda ? std::pow(1 - l / lambda, 1 / (power - 1)) : 0; }
};

/// Defined for 0 < lambda < 1 with z = 1 - lambda, so losses are divided by a scale c > lambda first:
///   F = c (z v - z^v / log z),  v = log(l / c + z) / log z,  z = 1 - lambda / c.
struct Logarithmic {
  static constexpr std::string_view name = "logarithmic";
  double scale = 0;  // c; 0: c = 2 lambda, which makes v a function of l / lambda as in the other regularisers
  static constexpr std::array parameters = {
      Parameter<Logarithmic>{"log_scale", &Logarithmic::scale, at_least(0),
                             "Scale of the losses in the logarithmic regularizer; 0: 2 lambda", "scale"}};
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
};

/// lambda1 = lambda, lambda2 = ratio * lambda, z = lambda1 lambda2 / (lambda1 - lambda2).
struct Mixture {
  static constexpr std::string_view name = "mixture";
  double ratio = 0.5;  // 0 < ratio < 1
  static constexpr std::array parameters = {Parameter<Mixture>{
      "mixture_ratio", &Mixture::ratio, {0, 1, true, true}, "lambda2 / lambda1 of the mixture regularizer", "ratio"}};
  double z(double lambda) const { return lambda * ratio / (1 - ratio); }
  double value(double v, double lambda) const { return -z(lambda) * std::log(v + z(lambda) / lambda); }
  double weight(double l, double lambda) const {
    if (l <= ratio * lambda) return 1;
    return l < lambda ? z(lambda) / l - z(lambda) / lambda : 0;
  }
};

/// From the robust loss lambda (1 - exp(-l / lambda)).
struct Welsch {
  static constexpr std::string_view name = "welsch";
  static double value(double v, double lambda) { return v > 0 ? lambda * (v * std::log(v) - v) : 0; }
  static double weight(double l, double lambda) { return std::exp(-l / lambda); }
};

using Regularizer = std::variant<Hard, Linear, Polynomial, Logarithmic, Mixture, Welsch>;

namespace detail {
template <class F, std::size_t... I>
void for_each_regularizer(F&& f, std::index_sequence<I...>) {
  (f(std::variant_alternative_t<I, Regularizer>{}), ...);
}
}  // namespace detail

/// Calls f with one of each.
template <class F>
void for_each_regularizer(F&& f) {
  detail::for_each_regularizer(f, std::make_index_sequence<std::variant_size_v<Regularizer>>{});
}
/// Calls f with each parameter of a type.
template <class Type, class F>
void for_each_parameter(const Type&, F&& f) {
  if constexpr (requires { Type::parameters; })
    for (const Parameter<Type>& parameter : Type::parameters) f(parameter);
}

std::vector<std::string_view> regularizer_names();
Regularizer parse_regularizer(std::string_view name);  // with the default parameter; an Error lists the names
inline std::string_view name_of(const Regularizer& r) {
  return std::visit([](const auto& type) { return type.name; }, r);
}
void validate(const Regularizer& r);
inline double pace_weight(const Regularizer& r, double loss, double lambda) {
  return std::visit([&](const auto& type) { return type.weight(loss, lambda); }, r);
}
inline double pace_value(const Regularizer& r, double v, double lambda) {
  return std::visit([&](const auto& type) { return type.value(v, lambda); }, r);
}

}  // namespace pacewise
