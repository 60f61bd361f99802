// Values and attributes drawn at random.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/loader/draw_hints.hpp"

namespace tenon::test {

/// Numbers to draw from: bytes as far as there are some, then what their number seeds.
class Randomness {
 public:
  explicit Randomness(uint64_t seed) : engine_(seed) {}
  explicit Randomness(std::span<const uint8_t> bytes) : bytes_(bytes), engine_(bytes.size()) {}

  /// A number below n, of one byte, or of eight for a large n.
  uint64_t below(uint64_t n) {
    if (bytes_.empty()) return engine_() % n;
    uint64_t x = 0;
    for (std::size_t left = n > 256 ? 8 : 1; left > 0 && !bytes_.empty(); --left, bytes_ = bytes_.subspan(1))
      x = x << 8 | bytes_[0];
    return x % n;
  }

 private:
  std::span<const uint8_t> bytes_;
  std::mt19937_64 engine_;
};

/// The drawn values follow from the seed alone, or from the bytes; with a pair of types it is the same
/// whichever of them an operand has, moderate numbers that both hold exactly. Two draws of three are tame:
/// numbers are small, the first operand is a cube, the others have extents in common that suit it, and most
/// attributes are left out.
class Draw {
 public:
  explicit Draw(uint64_t seed, TypePair pair = {}, const TypeRule& rule = {})
      : Draw(Randomness(seed), pair, rule) {}
  explicit Draw(std::span<const uint8_t> bytes) : Draw(Randomness(bytes)) {}
  explicit Draw(Randomness randomness, TypePair pair = {}, const TypeRule& rule = {})
      : random_(randomness),
        pair_(pair),
        rule_(rule),
        tame_(pair || !one_in(3)),
        side_(of({1, 1, 2, 2, 3, 4})),
        rank_(static_cast<int>(below(6))) {
    const int64_t lengths[] = {1, 1, side_, side_, rank_, rank_, 2 * rank_};
    others_ = one_in(2) ? cube() : Extents{of(lengths)};
    if (pair) special_ = one_in(4) && rule.operands != TypeRule::moderate;
  }
  bool tame() const { return tame_; }
  TypePair pair() const { return pair_; }

  int64_t below(int64_t n) { return static_cast<int64_t>(random_.below(static_cast<uint64_t>(n))); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  T of(const T (&list)[N]) {
    return list[below(N)];
  }

  int64_t integer() {
    if (tame_) return of({0, 0, 1, 1, 1, 1, 2, -1});
    static constexpr int64_t near[] = {0, 0, 1, 1, 1, 2, 2, 3, 4, 5, -1, -1, -2, -3, -4, 7, 8, 16, -100};
    static constexpr int64_t far[] = {
        1000000,         INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MIN + 1, int64_t{1} << 32 | 1,
        int64_t{1} << 40};
    return one_in(4) ? of(far) : of(near);
  }
  float real() {
    if (pair_) return of({0.0f, 1.0f, 1.0f, 2.0f, -1.0f, 0.5f, 0.25f, 3.0f, -7.25f});
    static constexpr float list[] = {0,     -0.0f,  1,        -1,        0.5f, 3,     -7.25f,
                                     1e30f, -1e30f, INFINITY, -INFINITY, NAN,  1e-40f};
    return of(list);
  }
  std::string text() {
    static constexpr const char* list[] = {"",
                                           "NOTSET",
                                           "SAME_UPPER",
                                           "VALID",
                                           "constant",
                                           "reflect",
                                           "wrap",
                                           "none",
                                           "tanh",
                                           "add",
                                           "max",
                                           "DCR",
                                           "CRD",
                                           "forward",
                                           "reverse",
                                           "up",
                                           "nearest",
                                           "INT64",
                                           "bidirectional",
                                           "Tanh",
                                           "Affine",
                                           "LEFT",
                                           "RIGHT",
                                           "-3",
                                           "1.5",
                                           "nan",
                                           "a text that is too long to lie in its object"};
    return of(list);
  }
  Extents extents() {
    static constexpr int64_t list[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8};
    Extents e;
    for (int64_t rank = below(6); rank > 0; --rank) e.push_back(of(list));
    return e;
  }
  DType type(uint32_t mask) {
    DType d = DType::undefined;
    while (!(mask >> static_cast<int>(d) & 1)) d = static_cast<DType>(1 + below(dtype_count - 1));
    return d;
  }
  /// For a pair, the wanted one half of the time.
  DType type(uint32_t mask, DType wanted) {
    const bool both =
        pair_ && (mask >> static_cast<int>(pair_.narrow) & mask >> static_cast<int>(pair_.wide) & 1) != 0;
    return both && one_in(2) ? wanted : type(mask);
  }
  /// The number of operands that a hint states, or 0.
  static int64_t hinted_operands(std::string_view op) {
    for (const auto& hint : hints)
      if (hint.op == op) return 1 + std::count(hint.extents.begin(), hint.extents.end(), ' ');
    return 0;
  }
  /// Extents of operand k.
  Extents extents(std::string_view op, int64_t k) {
    if (!tame_ || one_in(8)) return extents();
    for (const auto& hint : hints)
      if (hint.op == op) return hinted(hint.extents, k);
    return k == 0 ? cube() : one_in(4) ? Extents() : others_;
  }
  std::vector<int64_t> list() {
    const int spatial = std::max(0, rank_ - 2);
    std::vector<int64_t> numbers(
        static_cast<std::size_t>(tame_ ? of({1, rank_, spatial, 2 * spatial}) : below(one_in(20) ? 40 : 5)));
    for (int64_t& n : numbers) n = integer();
    if (tame_ && one_in(2)) std::fill(numbers.begin(), numbers.end(), 1);
    return numbers;
  }
  AnyTensor tensor(DType d, const Extents& extents) {
    AnyTensor t = AnyTensor::uninitialized(d, extents);
    if (pair_ &&
        (pair_.has(d) || !drawn_alike(d) || (d == DType::string && rule_.operands == TypeRule::moderate))) {
      if (is_packed(d))
        std::memset(t.out().data(), 0, static_cast<std::size_t>(t.bytes()));  // the last byte's rest
      const std::vector<double> numbers = numbers_of(d);
      for (int64_t k = 0; k < t.size(); ++k) {
        const double real = of(numbers);
        set_number(t, k, real, is_complex(d) ? of(numbers) : 0);
      }
      return t;
    }
    for (int64_t k = 0; k < t.size(); ++k) {
      if (d == DType::string) t.out().as<std::string>()[k] = text();
      else if (d == DType::bool_) t.out().as<bool>()[k] = one_in(2);
      else if (d == DType::int64) t.out().as<int64_t>()[k] = integer();
      else if (d == DType::int32) t.out().as<int32_t>()[k] = static_cast<int32_t>(integer());
      else if (d == DType::float32) t.out().as<float>()[k] = real();
      else if (d == DType::float64) t.out().as<double>()[k] = static_cast<double>(real());
    }
    const bool other = d != DType::string && d != DType::bool_ && d != DType::int64 && d != DType::int32 &&
                       d != DType::float32 && d != DType::float64;
    for (int64_t k = 0; other && k < t.bytes(); ++k)
      static_cast<unsigned char*>(t.out().data())[k] = static_cast<unsigned char>(below(256));
    return t;
  }
  /// A map of a type in the set.
  Value map(const TypeSet& set) {
    const bool texts = set.map_string && (one_in(2) || !set.map_int64);
    std::vector<std::string> words;
    std::vector<int64_t> numbers;
    const auto draw_key = [&](auto& keys, auto key) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    };
    for (int64_t n = below(4); n > 0; --n) texts ? draw_key(words, text()) : draw_key(numbers, integer());
    const Extents n{static_cast<int64_t>(texts ? words.size() : numbers.size())};
    const AnyTensor keys = texts ? AnyTensor(Tensor<std::string>(n, words.begin(), words.end()))
                                 : AnyTensor(Tensor<int64_t>(n, numbers.begin(), numbers.end()));
    return Map{keys, tensor(type(texts ? set.map_string : set.map_int64), n)};
  }
  /// A sparse tensor that has about half of the elements.
  Value sparse(DType d, const Extents& extents) {
    std::vector<int64_t> offsets;
    for (int64_t k = 0; k < element_count(extents); ++k)
      if (one_in(2)) offsets.push_back(k);
    const Extents n{static_cast<int64_t>(offsets.size())};
    return SparseTensor{tensor(d, n), Tensor<int64_t>(n, offsets.begin(), offsets.end()), extents};
  }
  /// A value of a type in the set: of element type `usual` if it is a tensor that may have it.
  Value value(const TypeSet& set, DType usual, const Extents& extents, DType wanted) {
    if (set.map_int64 | set.map_string) return map(set);
    if (const uint32_t types = set.sparse_tensor)
      return sparse(types >> static_cast<int>(wanted) & 1 ? wanted : type(types), extents);
    if (set.tensor && (!one_in(4) || !(set.sequence | set.optional)))
      return tensor(set.contains(usual) ? usual : type(set.tensor), extents);
    if (set.sequence && (one_in(2) || !set.optional)) {
      Sequence s{type(set.sequence, wanted), {}};
      for (int64_t n = below(4); n > 0; --n) s.items.push_back(tensor(s.element.element, this->extents()));
      return s;
    }
    if (!set.optional) return {};
    const DType d = type(set.optional, wanted);
    return OptionalValue{d, one_in(3) ? nullptr : std::make_shared<const Value>(tensor(d, extents))};
  }
  /// An operand made of a hint's bytes, if there is one.
  Value hinted(std::string_view op, const TypeSet& set) {
    for (const auto& hint : text_hints) {
      if (hint.op != op || !set.contains(hint.type) || hint.type == DType::string) continue;
      AnyTensor t = AnyTensor::uninitialized(hint.type, {static_cast<int64_t>(hint.text.size())});
      auto* bytes = static_cast<char*>(std::memcpy(t.out().data(), hint.text.data(), hint.text.size()));
      if (one_in(2)) bytes[below(t.size())] = static_cast<char>(below(256));
      return t;
    }
    return {};
  }
  /// `wanted` is the type under test.
  op::AttributeValue attribute(std::string_view op, const op::AttributeInfo& a, DType wanted) {
    const bool names_type = a.name.ends_with("dtype") || a.name == "output_datatype" || a.name == "to" ||
                            (pair_ && a.name == "stash_type");
    if (pair_ && a.name == "is_test") return int64_t{1};
    if (a.flag && !one_in(8)) return static_cast<int64_t>(below(2));
    if (pair_ && names_type && !one_in(4)) {
      const DType d = one_in(3) ? DType::float32 : wanted;
      if (a.type == op::AttributeType::string) return upper(d);
      return static_cast<int64_t>(d);
    }
    if (pair_ && a.type == op::AttributeType::tensor && one_in(2))
      return Value(tensor(wanted, one_in(2) ? Extents{1} : extents()));
    for (const auto& hint : text_hints)
      if (hint.op == op && hint.type == DType::string && a.type == op::AttributeType::string)
        return std::string(hint.text);
    std::vector<std::string> texts;
    switch (a.type) {
      case op::AttributeType::integer:
        return names_type && a.name != "output_datatype" && a.name != "stash_type" ? below(28) : integer();
      case op::AttributeType::real: return real();
      case op::AttributeType::string:
        return a.required && a.name == "mode" && one_in(2) ? "standard" : text();
      case op::AttributeType::integers: return list();
      case op::AttributeType::reals: return std::vector<float>{real(), real()};
      case op::AttributeType::strings:
        for (int64_t n = below(7); n > 0; --n) texts.push_back(text());
        return texts;
      case op::AttributeType::tensor: return Value(tensor(type(~uint32_t{1}), extents()));
      default: return {};
    }
  }

 private:
  template <class T>
  T of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int64_t>(list.size())))];
  }
  /// Whether operands of the type are drawn in the same way with a pair of types as without.
  static bool drawn_alike(DType d) {
    return d == DType::int64 || d == DType::int32 || d == DType::bool_ || d == DType::string;
  }
  /// "FLOAT16", as Cast-1 names the type.
  static std::string upper(DType d) {
    std::string text(name_of(d));
    for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return text;
  }
  /// Whether the type holds the number exactly; strings hold digits.
  static bool holds(DType d, double x) {
    if (d == DType::string) return x >= 0 && x <= 9 && x == std::floor(x) && !std::signbit(x);
    unsigned char bytes[16]{};
    double back = 0;
    convert_n(d, bytes, DType::float64, &x, 1);
    convert_n(DType::float64, &back, d, bytes, 1);
    return std::isnan(x) ? std::isnan(back) : back == x && std::signbit(back) == std::signbit(x);
  }
  /// The numbers to draw from for operands of a type.
  std::vector<double> numbers_of(DType d) const {
    static constexpr double usual[] = {0,   0,    1,    1,   1,   1,     2, 2, 3,  -1, -1, -2,
                                       0.5, -0.5, 0.25, 1.5, 2.5, -0.75, 4, 5, -3, -4, 7};
    static constexpr double special[] = {NAN, INFINITY, -INFINITY, -0.0, 100,  -100,
                                         200, 1000,     12,        -8,   3000, 1e30};
    const bool paired = pair_.has(d);
    std::vector<double> numbers;
    const auto add = [&](double x) {
      if (paired ? holds(pair_.narrow, x) && holds(pair_.wide, x) : holds(d, x)) numbers.push_back(x);
    };
    for (const double x : usual) add(x);
    if (special_)
      for (const double x : special)
        if (!std::isnan(x) || rule_.operands == TypeRule::any) add(x);
    return numbers;
  }
  void set_number(AnyTensor& t, int64_t k, double real, double imaginary) const {
    const DType d = t.dtype();
    if (rule_.mask && pair_.narrow == DType::bool_ && d == pair_.wide) real = real != 0 ? 0 : -INFINITY;
    if (rule_.blank && d == DType::string && real == 0) return;
    if (d == DType::string) {
      t.out().as<std::string>()[k] = std::to_string(static_cast<int>(real));
    } else if (d == DType::complex64) {
      t.out().as<std::complex<float>>()[k] = {static_cast<float>(real), static_cast<float>(imaginary)};
    } else if (d == DType::complex128) {
      t.out().as<std::complex<double>>()[k] = {real, imaginary};
    } else {
      visit_dtype(d, [&]<class T>() {
        if constexpr (!std::is_same_v<T, std::string> && !is_complex(dtype_of<T>))
          t.out().as<T>()[k] = convert<T>(real);
      });
    }
  }

  Extents cube() const { return Extents::filled(rank_, side_); }
  Extents hinted(std::string_view words, int64_t k) const {
    for (; k > 0 && !words.empty(); --k) words.remove_prefix(std::min(words.find(' '), words.size() - 1) + 1);
    Extents e;
    int64_t factor = 1;
    for (char c : words.substr(0, words.find(' '))) {
      if (c == '1') e.push_back(1);
      else if (c >= '0' && c <= '9') factor = c - '0';
      else e.push_back(std::exchange(factor, 1) * (1 + (side_ + c) % 3));
    }
    return e;
  }

  Randomness random_;
  TypePair pair_;
  TypeRule rule_;
  bool tame_;
  bool special_ = false;  ///< whether numbers that need care are among those drawn for a pair
  int64_t side_;
  int rank_;
  Extents others_;
};

}  // namespace tenon::test
