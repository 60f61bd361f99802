// Uses of operators, with attributes and operands drawn at random, for the tests that run every operator.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "tenon/graph/body.hpp"
#include "tenon/loader.hpp"
#include "tests/op/types.hpp"

namespace tenon::test {

/// Extents that chance does not find: a word for each operand, of letters, which stand for one extent in all
/// words, of ones, and of greater digits, which multiply the letter behind them. With a variadic operand
/// there are as many operands as words.
inline constexpr struct {
  std::string_view op, extents;
} hints[] = {
    {"LSTM", "sbi 14hi 14hh 18h b 1bh 1bh 13h"},
    {"AffineGrid", "12b3b 4b"},
    {"Adam", "1 1 ab ab ab ab"},
    {"Momentum", "1 1 ab ab ab"},
    {"Resize", "ac 2b 2b 2b"},
    {"Attention", "bhqd bhkd bhkv qk"},
    {"GridSample", "nchw nkl2z"},
    {"QLinearConv", "nchw 1 1 mc11 1 1 1 1 m"},
    {"Col2Im", "ncl 1 1"},
    {"DeformConv", "nch mc1 n1h m n1h"},
    {"MaxRoiPool", "5nchw r5u"},
    {"RoiAlign", "nchw r4u r"},
    {"GRU", "sbi 13hi 13hh 16h b 1bh"},
    {"LinearAttention", "btk btk btv b1kv bt1 bt1"},
    {"RNN", "sbi 1hi 1hh 12h b 1bh"},
    {"RotaryEmbedding", "bhs2p np np bs"},
};

using Attributes = std::vector<std::pair<std::string, op::AttributeValue>>;

inline Value tensor_of(DType d, std::initializer_list<double> numbers) {
  const auto n = static_cast<int64_t>(numbers.size());
  AnyTensor t = AnyTensor::uninitialized(d, Extents{n});
  convert_n(d, t.out().data(), DType::float64, numbers.begin(), n);
  return t;
}
/// The attribute that states numbers in a type: `prefix`_floats, _int64s (or `ints`), _strings, else _tensor.
inline std::pair<std::string, op::AttributeValue> listed(std::string_view prefix, DType d,
                                                         std::initializer_list<double> numbers,
                                                         std::string_view ints = "_int64s") {
  if (d == DType::float32)
    return {str_cat(prefix, "_floats"), std::vector<float>(numbers.begin(), numbers.end())};
  if (d == DType::int64) return {str_cat(prefix, ints), std::vector<int64_t>(numbers.begin(), numbers.end())};
  if (d == DType::string) {
    std::vector<std::string> texts;
    for (const double x : numbers) texts.push_back(str_cat(static_cast<int64_t>(x)));
    return {str_cat(prefix, "_strings"), std::move(texts)};
  }
  return {str_cat(prefix, "_tensor"), tensor_of(d, numbers)};
}

/// Attributes that chance does not find: small models, for features of type d and labels of type `label`
/// where that matters.
inline Attributes model_of(std::string_view op, int version, DType d, DType label) {
  using Ints = std::vector<int64_t>;
  using Reals = std::vector<float>;
  using Texts = std::vector<std::string>;
  const DType integral = label == DType::string ? label : DType::int64;
  if (op == "LabelEncoder" && version == 1)
    return {{"classes_strings", Texts{"0", "1", "2"}}, {"default_string", std::string("-1")}};
  if (op == "LabelEncoder") {
    const DType y = label == DType::undefined ? DType::int64 : label;
    Attributes s{listed("keys", d, {0, 1, 3}), listed("values", y, {1, 2, 3})};
    if (y == DType::float32) s.emplace_back("default_float", -1.0f);
    else if (y == DType::string) s.emplace_back("default_string", std::string("-1"));
    else if (y != DType::int64) s.emplace_back("default_tensor", tensor_of(y, {-1}));
    return s;
  }
  if (op == "CategoryMapper")
    return {{"cats_int64s", Ints{0, 1, 2}},
            {"cats_strings", Texts{"0", "1", "2"}},
            {"default_string", std::string("-1")}};
  if (op == "OneHotEncoder") return {listed("cats", d == DType::string ? d : DType::int64, {0, 1, 3})};
  if (op == "CastMap")
    return {{"cast_to", std::string(label == DType::string  ? "TO_STRING"
                                    : label == DType::int64 ? "TO_INT64"
                                                            : "TO_FLOAT")}};
  if (op == "TfIdfVectorizer")
    return {{"max_gram_length", int64_t{1}},
            {"max_skip_count", int64_t{0}},
            {"min_gram_length", int64_t{1}},
            {"mode", std::string("TF")},
            {"ngram_counts", Ints{0}},
            {"ngram_indexes", Ints{0, 1, 2}},
            listed("pool", d == DType::string ? d : DType::int64, {0, 1, 2})};
  if (op == "LinearClassifier")
    return {listed("classlabels", integral, {3, 4}, "_ints"),
            {"coefficients", Reals{1, -2}},
            {"intercepts", Reals{0, 1}}};
  if (op == "SVMRegressor")
    return {{"coefficients", Reals{2}},
            {"kernel_type", std::string("RBF")},
            {"n_supports", int64_t{1}},
            {"rho", Reals{1}},
            {"support_vectors", Reals{1}}};
  if (op == "SVMClassifier")
    return {listed("classlabels", integral, {3, 4}, "_ints"),
            {"coefficients", Reals{1, -1}},
            {"rho", Reals{0}},
            {"support_vectors", Reals{1, 2}},
            {"vectors_per_class", Ints{1, 1}}};
  if (op == "TreeEnsemble")
    return {{"leaf_targetids", Ints{0, 1, 0}},
            {"leaf_weights", tensor_of(d, {1, 2, 3})},
            {"membership_values", tensor_of(d, {1, 7, NAN})},
            {"nodes_falseleafs", Ints{0, 1}},
            {"nodes_falsenodeids", Ints{1, 2}},
            {"nodes_featureids", Ints{0, 0}},
            {"nodes_modes", tensor_of(DType::uint8, {0, 6})},
            {"nodes_splits", tensor_of(d, {1, 0})},
            {"nodes_trueleafs", Ints{1, 1}},
            {"nodes_truenodeids", Ints{0, 1}},
            {"tree_roots", Ints{0, 1}}};
  const bool classes = op == "TreeEnsembleClassifier";
  if (!classes && op != "TreeEnsembleRegressor") return {};
  const std::string vote = classes ? "class" : "target";
  Attributes s{{"nodes_falsenodeids", Ints{2, 0, 4, 0, 0}},
               {"nodes_featureids", Ints{0, 0, 0, 0, 0}},
               {"nodes_modes", Texts{"BRANCH_LEQ", "LEAF", "BRANCH_EQ", "LEAF", "LEAF"}},
               {"nodes_nodeids", Ints{0, 1, 2, 3, 4}},
               {"nodes_treeids", Ints{0, 0, 0, 0, 0}},
               {"nodes_truenodeids", Ints{1, 0, 3, 0, 0}},
               {"nodes_values", Reals{1, 0, 2, 0, 0}},
               {vote + "_ids", Ints{0, 1, 0}},
               {vote + "_nodeids", Ints{1, 3, 4}},
               {vote + "_treeids", Ints{0, 0, 0}},
               {vote + "_weights", Reals{1, 2, 3}}};
  if (classes) s.push_back(listed("classlabels", integral, {3, 4}));
  return s;
}

/// What chance does not find either: of type string the value of all attributes that are text, else the bytes
/// of operands of the type, in which one byte is changed half of the time.
inline constexpr struct {
  std::string_view op;
  DType type;
  std::string_view text;
} text_hints[] = {
    {"ImageDecoder", DType::uint8, "P3 2 1 255 1 2 3 4 5 6"},
    {"TfIdfVectorizer", DType::string, "TF"},
};

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

/// What is drawn follows from the seed alone, or from the bytes; with a pair of types it is the same
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
  /// A value of a type in the set: of element type `usual` if it is a tensor that may have it.
  Value value(const TypeSet& set, DType usual, const Extents& extents, DType wanted) {
    if (set.map_int64 | set.map_string) return map(set);
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

/// Memory for results of moderate size.
class Moderate final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    return bytes > std::size_t{1} << 24 ? nullptr : default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    default_allocator().deallocate(memory, bytes, alignment);
  }
};

/// A body that gives up in the end, for loops that have none.
class Limited final : public CapturingBody {
 public:
  explicit Limited(std::shared_ptr<const CapturingBody> body) : body_(std::move(body)) {}
  int inputs() const override { return body_->inputs(); }
  int outputs() const override { return body_->outputs(); }
  std::vector<op::Info> infer(std::span<const op::Info> in) const override { return body_->infer(in); }
  const Graph& graph() const override { return body_->graph(); }
  std::vector<ValueId> outer_values() const override { return body_->outer_values(); }
  std::shared_ptr<const CapturingBody> moved(Graph& outer, std::span<const ValueId> here) const override {
    return std::make_shared<const Limited>(body_->moved(outer, here));
  }
  std::shared_ptr<const CapturingBody> compiled(const ProgramScope& scope,
                                                const ProgramOptions& options) const override {
    return std::make_shared<const Limited>(body_->compiled(scope, options));
  }
  std::vector<Value> run(op::Context& scope, std::span<const Value> in) const override {
    if (++runs_ > 20) throw Error(ErrorCode::not_supported, "body", "too many runs");
    return body_->run(scope, in);
  }

 private:
  std::shared_ptr<const CapturingBody> body_;
  mutable int runs_ = 0;
};

/// A few nodes over the inputs, a constant, and values of the graph around; no nodes for a pair of types,
/// which not all of them suit. Result k is input k + skip half of the time.
inline op::BodyRef draw_body(Draw& draw, Graph& outer, std::span<const Value> inputs, int results, int skip,
                             DType wanted) {
  Graph g = Graph::inside(outer);
  std::vector<ValueId> values;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    values.push_back(
        g.add_input(str_cat("in", k), draw.one_in(2) ? Type(Kind::unknown, {}) : inputs[k].type(), {}));
  values.push_back(g.add_constant(
      {}, draw.tensor(draw.pair() ? wanted : draw.type(types::all.tensor), draw.extents({}, 1))));
  for (const ValueId v : outer.inputs())
    if (draw.one_in(2)) values.push_back(g.capture(v));
  const auto any = [&] {
    return values[static_cast<std::size_t>(draw.below(static_cast<int64_t>(values.size())))];
  };
  for (int64_t n = draw.pair() ? 0 : draw.below(5); n > 0; --n) {
    static constexpr std::string_view names[] = {"Identity", "Add", "Mul", "Neg", "Not", "Less", "Shape"};
    const auto [c, version] = standard_registry().find("", draw.of(names), 25);
    std::vector<ValueId> in(static_cast<std::size_t>(c->spec->inputs.size()));
    std::generate(in.begin(), in.end(), any);
    try {
      values.push_back(g.add_node({}, make_operator(*c, version, {}), in, std::vector<std::string>(1))[0]);
    } catch (const Error&) {  // a node that its operands do not suit
    }
  }
  for (int k = 0; k < results; ++k) {
    const bool through = k + skip < static_cast<int>(inputs.size()) && draw.one_in(2);
    g.add_output(str_cat("out", k), through ? g.inputs()[static_cast<std::size_t>(k + skip)] : any());
  }
  return {std::make_shared<const Limited>(std::make_shared<const GraphBody>(std::move(g)))};
}

/// The element type that the operands of a type variable are to have, and whether one had it.
struct WantedType {
  int variable = -1;
  DType type = DType::undefined;
  bool met = false;
};

inline std::vector<Value> draw_operands(Draw& draw, const op::Spec& spec, int version, WantedType& wanted) {
  DType usual[5]{};
  for (int v = 0; v < spec.types.size(); ++v)
    if (const uint32_t mask = spec.types[v].at(version).tensor; mask != 0) usual[v] = draw.type(mask);
  if (wanted.variable >= 0) usual[wanted.variable] = wanted.type;
  const bool brief = draw.tame() && draw.one_in(2);  // optional operands are left out
  std::vector<Value> in;
  int64_t n = spec.inputs.size();
  if (spec.variadic_inputs()) {
    const int64_t hinted = Draw::hinted_operands(spec.name);
    n = hinted > 0 ? hinted : n + draw.below(4) - 1;
  }
  for (int64_t k = 0; k < n; ++k) {
    const op::Param& p = spec.input(static_cast<int>(k), version);
    if (!p.in(version)) continue;
    if (p.arity == op::Arity::optional && (brief || draw.one_in(3))) {
      in.emplace_back();
      continue;
    }
    const int v = spec.variable(p.type);
    if (Value hinted = draw.hinted(spec.name, spec.permits(p, version))) {
      in.push_back(std::move(hinted));
      wanted.met |= v >= 0 && v == wanted.variable && in.back().type() == Type(wanted.type);
      continue;
    }
    in.push_back(draw.value(spec.permits(p, version), v < 0 ? DType::undefined : usual[v],
                            draw.extents(spec.name, k), wanted.type));
    wanted.met |= v >= 0 && v == wanted.variable && in.back().type() == Type(wanted.type);
  }
  return in;
}

inline int draw_results(Draw& draw, const op::Spec& spec) {
  return static_cast<int>(1 + draw.below(spec.variadic_outputs() ? 4 : spec.outputs.size()));
}

/// The operator with attributes; body() draws attributes that are graphs.
template <class Body>
AnyOperator draw_operator(Draw& draw, const OperatorClass& c, int version, const WantedType& wanted,
                          Body body) {
  const std::vector<op::AttributeInfo> known = c.attributes(c.create(version).get());
  const DType usual = draw.type(types::floats.tensor);
  const bool of_result = wanted.variable >= 0 && !c.spec->names_input(wanted.variable, version);
  const DType type = wanted.type, features = type == DType::undefined || of_result ? usual : type;
  if (Attributes model = model_of(c.spec->name, version, features, of_result ? type : DType::undefined);
      !model.empty() && (draw.pair() || draw.one_in(2))) {
    if (draw.pair()) return make_operator(c, version, model);
    auto& [name, value] = model[static_cast<std::size_t>(draw.below(static_cast<int64_t>(model.size())))];
    for (const op::AttributeInfo& a : known)
      if (a.name == name && a.in(version) && draw.one_in(2)) value = draw.attribute(c.spec->name, a, type);
    return make_operator(c, version, model);
  }
  Attributes attributes;
  for (const op::AttributeInfo& a : known) {
    const bool always =
        a.required || (draw.pair() && (a.name == "seed" || a.name == "is_test" ||
                                       (a.type == op::AttributeType::tensor && draw.one_in(2))));
    if (draw.pair() && a.name == "saturate") continue;  // without it types differ beyond the range of one
    if (!a.in(version) || (!always && !draw.one_in(draw.tame() ? 4 : 2))) continue;
    op::AttributeValue v =
        a.type == op::AttributeType::graph ? body() : draw.attribute(c.spec->name, a, type);
    if (v.index() != 0) attributes.emplace_back(a.name, std::move(v));
  }
  return make_operator(c, version, attributes);
}

/// The operands of a use, and its results.
struct Used {
  std::vector<Value> in, results;
};

/// Draws everything for one use of an operator, and evaluates it. Error where it refuses.
inline Used use_alone(Draw& draw, const OperatorClass& c, int version, Allocator& memory,
                      WantedType& wanted) {
  const AnyOperator any = draw_operator(draw, c, version, wanted, [] { return op::AttributeValue(); });
  const std::vector<Value> in = draw_operands(draw, *c.spec, version, wanted);
  std::vector<const Value*> operands;
  for (const Value& v : in) operands.push_back(&v);
  op::Context context(memory);
  const auto count = static_cast<std::size_t>(draw_results(draw, *c.spec));
  return {in, op::evaluate(any, context, operands, count)};
}

/// A use as a graph: the operands, some of them constants, and what a session is to be fed.
struct DrawnGraph {
  Graph graph;
  std::vector<Value> in;
  Feeds feeds;
};

/// Draws everything for one use of an operator, and adds it to a graph, which brings old versions into the
/// newest form. Bodies may capture its values. Error where it refuses.
inline DrawnGraph draw_graph(Draw& draw, const OperatorClass& c, int version, WantedType& wanted) {
  const op::Spec& spec = *c.spec;
  const std::vector<Value> in = draw_operands(draw, spec, version, wanted);
  const int results = draw_results(draw, spec);
  Graph g;
  Feeds feeds;
  std::vector<ValueId> ids;
  for (const Value& v : in) {
    static constexpr std::string_view names[] = {"0", "1", "2", "3", "4",  "5",
                                                 "6", "7", "8", "9", "10", "11"};
    const std::string_view name = names[ids.size()];
    const Dims dims = v.is_tensor() && draw.one_in(2) ? Dims(v.tensor().extents()) : Dims();
    const bool constant = draw.one_in(4);
    ids.push_back(!v         ? -1
                  : constant ? g.add_constant({}, v)
                             : g.add_input(std::string(name), v.type(), dims));
    if (v && !constant) feeds.emplace_back(name, v);
  }
  // A body of Loop takes all operands and gives the condition first; one of SequenceMap takes all, a tensor
  // in place of each sequence; one of Scan takes the variadic ones, one of If none.
  const bool loop = spec.name == "Loop", map = spec.name == "SequenceMap";
  const std::size_t first = loop || map         ? 0
                            : spec.name == "If" ? 1
                                                : static_cast<std::size_t>(spec.inputs.size()) - 1;
  std::vector<Value> taken(in.begin() + static_cast<std::ptrdiff_t>(std::min(first, in.size())), in.end());
  for (Value& v : taken)
    if (map && v.is_sequence()) v = draw.tensor(v.sequence().element.element, {});
  const AnyOperator any = draw_operator(draw, c, version, wanted, [&] {
    return op::AttributeValue(draw_body(draw, g, taken, results + loop, loop, wanted.type));
  });
  const std::vector<std::string> names(static_cast<std::size_t>(results));
  for (const ValueId v : g.add_node({}, any, ids, names)) g.add_output(str_cat("result", v), v);
  return {std::move(g), in, std::move(feeds)};
}

/// The same as use_alone in a session: for operators with bodies, and for old versions.
inline Used use_in_session(Draw& draw, const OperatorClass& c, int version, Allocator& memory,
                           WantedType& wanted) {
  DrawnGraph drawn = draw_graph(draw, c, version, wanted);
  Outputs out = Session(std::move(drawn.graph), {.allocator = &memory}).run(drawn.feeds);
  return {std::move(drawn.in), std::move(out.values())};
}

/// Whether an operator has a graph as an attribute.
inline bool has_body(const OperatorClass& c, int version) {
  const auto attributes = c.attributes(c.create(version).get());
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const op::AttributeInfo& a) { return a.type == op::AttributeType::graph; });
}

/// One use, drawn in one of the two ways, in moderate memory.
inline Used use(Draw& draw, const OperatorClass& c, int version, WantedType& wanted) {
  static Moderate memory;
  const bool in_session = has_body(c, version) || version != c.spec->latest();
  return (in_session ? use_in_session : use_alone)(draw, c, version, memory, wanted);
}

inline uint64_t seed_of(uint64_t number, int version) {
  return number << 32 | static_cast<uint64_t>(version);
}

/// Gradient is a rewrite of the graph around it, and refuses all operands without one
/// (tests/graph/gradient_test.cc).
inline bool runs_alone(const Registry::Key& key) { return key.second != "Gradient"; }

}  // namespace tenon::test
