// Results of one element type compared with another type's, for the tests that run an operator with all types
// that it permits.
#pragma once

#include <algorithm>
#include <limits>

#include "tenon/base/convert.hpp"
#include "tenon/tensor/difference.hpp"

namespace tenon::test {

/// Two element types of which one use of an operator is made each. Their order is by what they hold: of
/// float16 and double, `narrow` is float16.
struct TypePair {
  DType narrow = DType::undefined, wide = DType::undefined;
  explicit operator bool() const { return narrow != DType::undefined; }
  bool has(DType d) const { return d == narrow || d == wide; }
};

/// Element types by kind, the widest of each kind first.
inline constexpr DType by_width[] = {
    DType::float64,        DType::float32,    DType::float16,        DType::bfloat16,   DType::float8e4m3fn,
    DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz, DType::float4e2m1, DType::float8e8m0,
    DType::int64,          DType::int32,      DType::int16,          DType::int8,       DType::int4,
    DType::int2,           DType::uint64,     DType::uint32,         DType::uint16,     DType::uint8,
    DType::uint4,          DType::uint2,      DType::complex128,     DType::complex64,  DType::bool_,
    DType::string};

inline bool same_kind(DType a, DType b) { return detail::dtype_row(a).kind == detail::dtype_row(b).kind; }

/// The pair of d and the widest type of its kind in the set; where d itself is the widest, of d and the next
/// one; where it is the only one, of d and the widest type of another kind, an integer for integers. None
/// when d is alone.
inline TypePair pair_of(uint32_t set, DType d) {
  const auto permitted = [&](DType t) { return (set >> static_cast<int>(t) & 1) != 0 && t != d; };
  const auto is_kin = [&](DType t) { return same_kind(t, d); };
  const auto is_integral = [&](DType t) { return is_integer(t) && is_integer(d); };
  const auto first = [&](auto suits) {
    for (const DType t : by_width)
      if (permitted(t) && suits(t)) return t;
    return DType::undefined;
  };
  DType t = first(is_kin);
  if (t == DType::undefined) t = first(is_integral);
  if (t == DType::undefined) t = first([](DType) { return true; });
  if (t == DType::undefined) return {};
  const bool wider = std::find(std::begin(by_width), std::end(by_width), t) <
                     std::find(std::begin(by_width), std::end(by_width), d);
  return wider ? TypePair{d, t} : TypePair{t, d};
}

/// The distance from 1 to the next number of a float type; of the parts of a complex one.
inline double epsilon(DType d) {
  switch (d) {
    case DType::float64:
    case DType::complex128: return 0x1p-52;
    case DType::float32:
    case DType::complex64: return 0x1p-23;
    case DType::float16: return 0x1p-10;
    case DType::bfloat16: return 0x1p-7;
    case DType::float8e4m3fn:
    case DType::float8e4m3fnuz: return 0x1p-3;
    case DType::float8e5m2:
    case DType::float8e5m2fnuz: return 0x1p-2;
    case DType::float4e2m1: return 0x1p-1;
    case DType::float8e8m0: return 1;
    default: return 0;
  }
}

/// How results of one type follow from another type's, where it is not by rounding alone.
struct TypeRule {
  std::string_view op;
  double steps = 1;      ///< the number of roundings of a result to the type itself
  double roundings = 4;  ///< the number of its roundings in the type in which the operator computes
  double unit = 0;       ///< the distance that the operands' roundings may put between integers
  bool saturate =
      false;  ///< a number beyond the range of an integer or of a float of a byte gives the nearest
  /// Operands: all, those without NaN, or small numbers only, texts that are numbers among them.
  enum { any, numbers, moderate } operands = any;
  bool alone = false;  ///< results follow from bits: another type's results say nothing of them
  bool mask = false;   ///< an operand of type bool stands for 0 where it is true, else for -infinity
  bool blank = false;  ///< the empty text stands for 0
};

inline constexpr TypeRule type_rules[] = {
    {.op = "BitCast", .alone = true},
    {.op = "MurmurHash3", .alone = true},          // of bytes
    {.op = "SparseToDenseMatMul", .alone = true},  // which scales floats alone
    // A sum of many products, a softmax or a normalisation is rounded more often than one product. RoiAlign
    // rounds coordinates, between which elements may be far apart. A weight that one type rounds
    // to 0 gives NaN with an infinity.
    {.op = "Attention", .roundings = 16, .operands = TypeRule::moderate, .mask = true},
    {.op = "FlexAttention", .roundings = 16, .operands = TypeRule::moderate},
    {.op = "LinearAttention", .roundings = 16},
    {.op = "RoiAlign", .roundings = 256},
    {.op = "GlobalLpPool", .roundings = 8},
    {.op = "GroupNormalization", .roundings = 8},
    {.op = "LRN", .roundings = 8},
    {.op = "SwiGLU", .roundings = 8},
    // ONNX leaves a float beyond an integer's range open; other texts than numbers are Errors.
    {.op = "Cast", .operands = TypeRule::moderate},
    {.op = "CastLike", .operands = TypeRule::moderate},
    {.op = "CastMap", .operands = TypeRule::moderate},
    // A region's infinite coordinate becomes a limit, which float rounds.
    {.op = "MaxRoiPool", .operands = TypeRule::moderate},
    // An integer saturates where the result lies beyond its range, or is infinite: where
    // nothing is in a window or to reduce, for the logarithm of 0 and for 0 to the power of -1.
    {.op = "MaxPool", .saturate = true},
    {.op = "Pow", .saturate = true, .operands = TypeRule::moderate},  // whole powers wrap
    {.op = "ReduceMax", .saturate = true},
    {.op = "ReduceMin", .saturate = true},
    {.op = "ReduceLogSum", .saturate = true},
    {.op = "ReduceLogSumExp", .saturate = true},
    // Quantities divide in the type of the scale, which may turn a half into the next integer.
    {.op = "QuantizeLinear", .unit = 1, .saturate = true, .operands = TypeRule::numbers},
    {.op = "QLinearConv", .saturate = true, .operands = TypeRule::numbers},
    {.op = "QLinearMatMul", .unit = 1, .saturate = true, .operands = TypeRule::numbers},
    // The reference scales and shifts random numbers in the result's type, and so do these.
    {.op = "RandomNormal", .steps = 8},
    {.op = "RandomNormalLike", .steps = 8},
    {.op = "RandomUniform", .steps = 8},
    {.op = "RandomUniformLike", .steps = 8},
    {.op = "NonZero", .blank = true},
};

inline const TypeRule& type_rule(std::string_view op) {
  static constexpr TypeRule usual{};
  for (const TypeRule& r : type_rules)
    if (r.op == op) return r;
  return usual;
}

/// The number that a text begins with: True is 1, and of a complex number the real part counts.
inline double number_of(std::string_view text) {
  if (text == "True" || text == "False") return text == "True";
  return std::strtod(std::string(text.substr(text.starts_with('('))).c_str(), nullptr);
}
/// The elements as numbers.
inline Tensor<double> numbers(const AnyTensor& t) {
  Tensor<double> result{Extents(t.extents())};
  if (t.dtype() == DType::string)
    for (int64_t k = 0; k < t.size(); ++k)
      result[k] = number_of(static_cast<const std::string*>(t.data())[k]);
  else convert_n(DType::float64, result.data(), t.dtype(), t.data(), t.size());
  return result;
}

/// Whether a rule speaks of an operand of a table of cases; tests/op/check.cc counts those that it does not.
/// Moderate numbers are in the range of narrow types; others may be greater, as long as their quotients by a
/// scale are not beyond the range of float16.
inline bool suits(const Value& operand, const TypeRule& rule) {
  if (rule.operands == TypeRule::any || !operand.is_tensor()) return true;
  const Tensor<double> n = numbers(operand.tensor());
  const double most = rule.operands == TypeRule::numbers ? 4096 : 200;
  return std::all_of(n.data(), n.data() + n.size(), [&](double x) { return std::abs(x) <= most; });
}

/// The value with tensors of type `from` converted as Cast would; texts of whole numbers have no point.
inline Value converted(const Value& v, DType from, DType to) {
  if (v.is_tensor()) {
    if (v.tensor().dtype() != from) return v;
    const AnyTensor& t = v.tensor();
    AnyTensor result = AnyTensor::uninitialized(to, t.extents());
    convert_n(to, result.out().data(), from, t.data(), t.size());
    for (int64_t k = 0; to == DType::string && k < t.size(); ++k)
      if (std::string& text = result.out().as<std::string>()[k]; text.ends_with(".0"))
        text.resize(text.size() - 2);
    return result;
  }
  const auto type = [&](Type t) {
    if (t.element == from) t.element = to;
    return t;
  };
  if (v.is_sequence()) {
    Sequence s{type(v.sequence().element), {}};
    for (const Value& item : v.sequence().items) s.items.push_back(converted(item, from, to));
    return s;
  }
  if (v.is_optional()) {
    OptionalValue o{type(v.optional().element), nullptr};
    if (v.optional().value) o.value = std::make_shared<const Value>(converted(*v.optional().value, from, to));
    return o;
  }
  if (v.is_map())
    return Map{converted(v.map().keys, from, to).tensor(), converted(v.map().values, from, to).tensor()};
  return v;
}

/// The least and the greatest number of an integer type or a float type.
inline std::pair<double, double> range_of(DType d) {
  if (is_integer(d)) {
    const double most = std::ldexp(1.0, bits_of(d) - is_signed(d)) - 1;
    return {is_signed(d) ? -most - 1 : 0, most};
  }
  double most = 0;
  visit_dtype(d, [&]<class T>() {
    if constexpr (is_float(dtype_of<T>)) most = static_cast<double>(std::numeric_limits<T>::max());
  });
  return {-most, most};
}

/// The difference in words between the results of one use with the narrow type and with the wide type.
inline std::string difference(const Value& narrow, const Value& wide, TypePair pair, const TypeRule& rule) {
  const DType result = narrow.type().element;
  const bool in_float = epsilon(pair.narrow) > 0x1p-23 || epsilon(result) > 0x1p-23;
  const double step = rule.steps * std::max(epsilon(result), epsilon(pair.narrow)),
               steps = in_float ? step + rule.roundings * 0x1p-23 : step * (1 + rule.roundings);
  const Tolerance tolerance{steps, steps};
  if (rule.unit > 0 && is_integer(result) && result == wide.type().element)
    return difference(numbers(narrow.tensor()), numbers(wide.tensor()),
                      {steps, is_float(pair.narrow) ? rule.unit : 0});
  if (narrow.type() == wide.type()) {
    std::string d = difference(narrow, wide, tolerance);
    if (d.empty() || result != DType::string || !narrow.is_tensor()) return d;
    return difference(numbers(narrow.tensor()), numbers(wide.tensor()), {});
  }
  if (!narrow.is_tensor() || !wide.is_tensor())
    return difference(narrow, converted(wide, pair.wide, pair.narrow), tolerance);
  const DType other = wide.type().element;
  const bool follows = result == pair.narrow && other == pair.wide;
  if (follows && rule.saturate && (is_integer(result) || bits_of(result) <= 8)) {
    // What lies beyond the range of either type is bounded by both.
    const auto [least, most] = range_of(result);
    const auto [other_least, other_most] = range_of(other);
    Tensor<double> a = numbers(narrow.tensor()), b = numbers(wide.tensor());
    for (Tensor<double>* t : {&a, &b})
      for (int64_t k = 0; k < t->size(); ++k)
        (*t)[k] = std::clamp((*t)[k], std::max(least, other_least), std::min(most, other_most));
    // What has no NaN has some number in its place.
    for (int64_t k = 0; result == DType::float4e2m1 && k < a.size() && k < b.size(); ++k)
      if (std::isnan(b[k])) b[k] = a[k];
    std::string d = difference(a, b, tolerance);
    if (d.empty() || !is_integer(result)) return d;  // or it wraps
  }
  if (!follows || result == DType::string)
    return difference(numbers(narrow.tensor()), numbers(wide.tensor()), tolerance);
  return difference(narrow, converted(wide, pair.wide, pair.narrow), tolerance);
}

}  // namespace tenon::test
