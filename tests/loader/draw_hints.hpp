// What chance does not find for operators: extents, small models, texts.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tenon/base/convert.hpp"
#include "tenon/op/framework/attribute.hpp"
#include "tests/op/types.hpp"

namespace tenon::test {

/// Extents that chance does not find: a word for each operand, of letters, which stand for one extent in all
/// words, of ones, and of greater digits, which multiply the letter after them. With a variadic operand
/// there are as many operands as words.
inline constexpr struct {
  std::string_view op, extents;
} hints[] = {
    {"LSTM", "sbi 14hi 14hh 18h b 1bh 1bh 13h"},
    {"AffineGrid", "12b3b 4b"},
    {"SparseToDenseMatMul", "aa aa"},
    {"Adam", "1 1 ab ab ab ab"},
    {"Momentum", "1 1 ab ab ab"},
    {"Resize", "ac 2b 2b 2b"},
    {"Attention", "bhqd bhkd bhkv qk"},
    {"GridSample", "nchw nkl2z"},
    {"QLinearConv", "nchw 1 1 mc11 1 1 1 1 m"},
    {"CausalConvWithState", "bcl c1k c bcj"},
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

}  // namespace tenon::test
