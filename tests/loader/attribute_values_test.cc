// An attribute that has few values refuses all others, whatever the operands are: modes by their names,
// flags, and numbers that have a least value. The exceptions are listed, each with its reason.
#include <doctest/doctest.h>

#include <set>

#include "tenon/model.hpp"

namespace tenon {
namespace {

/// Attributes under one name of all operators, or of one ("Resize.axis"), and why they are listed.
using Names = std::map<std::string, std::string>;

/// Strings that are text, and name no mode.
const Names texts{
    {"default_string", "an element"},
    {"delimiter", "text"},
    {"equation", "a language of its own; einsum_test has its errors"},
    {"locale", "has a say only where case changes; string_normalizer_test has the errors"},
    {"pattern", "a language of its own; regex_full_match_test has its errors"},
    {"value_string", "an element"},
    {"y", "the name of a value of the graph"},
};

/// Modes that may be "".
const Names unnamed{
    {"auto_pad", "NOTSET, as in ONNX Runtime and ONNX's reference; writers that leave it out write that"},
};

/// Numbers that may be -1 and 7.
const Names numbers{
    {"axis", "only the operands' ranks tell"},
    {"chunk_size", "a hint; ONNX: \"does not affect output correctness\""},
    {"default_int64", "an element"},
    {"detect_negative", "ONNX: 0 turns it off"},
    {"detect_positive", "ONNX: 0 turns it off"},
    {"end", "an axis, clamped"},
    {"ignore_index", "any class, or none"},
    {"is_test", "ONNX: \"if nonzero\""},
    {"keepdims", "reductions keep the axes where it is 1, as ONNX Runtime and ONNX's reference compare"},
    {"k", "EyeLike: any diagonal; TopK-1: an operand by now, which top_k_test has"},
    {"kv_num_heads", "read only with operands of three axes; attention_test has the errors"},
    {"left_window_size", "-1 is no window; attention_test has the errors"},
    {"max_map", "read only with the SPARSE form; cast_map_test has the errors"},
    {"maxsplit", "below 0 is without a limit, as Python's, by which ONNX defines it"},
    {"num_heads", "read only with an X of three axes; rotary_embedding_test has the errors"},
    {"num_scan_inputs", "only the operands tell; scan_test has the errors"},
    {"output_sequence", "without meaning; later versions have none"},
    {"q_num_heads", "read only with operands of three axes; attention_test has the errors"},
    {"replaced_value_int64", "an element"},
    {"right_window_size", "-1 is no window; attention_test has the errors"},
    {"seed", "any"},
    {"start", "an axis, clamped"},
    {"value_int", "an element"},
    {"TreeEnsemble.n_targets", "takes trees; tree_ensemble_test has the errors"},
};

/// Numbers that may be 7, but not -1.
const Names counts{
    {"batch_dims", "only the operands' ranks tell how many there may be"},
    {"block_size", "from 0"},
    {"blocksize", "from 1"},
    {"dtype", "ONNX's number of a type; 7 is int64"},
    {"group", "from 1"},
    {"hidden_size", "from 0"},
    {"n_supports", "from 0"},
    {"n_targets", "from 1"},
    {"num_groups", "from 1"},
    {"num_outputs", "from 1"},
    {"offset_group", "from 1"},
    {"output_datatype", "ONNX's number of a type; 7 is int64"},
    {"output_dtype", "ONNX's number of a type; the output's types tell which"},
    {"output_height", "from 1"},
    {"output_width", "from 1"},
    {"p", "from 1"},
    {"sample_size", "from 0"},
    {"sampling_ratio", "from 0, which is as many as the region takes"},
    {"size", "from 1"},
    {"targets", "from 1"},
    {"to", "ONNX's number of a type; 7 is int64"},
};

/// What a use needs beyond required attributes, which are 1 or {1, 1}.
const std::map<std::string, op::AttributeValue> needed{
    {"GivenTensorFill.values", std::vector<float>{1}},
    {"LpPool.kernel_shape", std::vector<int64_t>{1, 1}},
    {"OneHotEncoder.cats_int64s", std::vector<int64_t>{1}},
    {"SVMRegressor.rho", std::vector<float>{1}},
};

/// An operator at a version, with one attribute given.
AnyOperator with(const Registry::Key& key, const OperatorClass& c, int version,
                 const op::AttributeInfo& given, op::AttributeValue value) {
  const std::shared_ptr<void> object = c.create(version);
  std::vector<op::AttributeInput> inputs;
  for (const op::AttributeInfo& a : c.attributes(object.get())) {
    const std::string name(a.name);
    if (!a.in(version) || a.name == given.name) continue;
    if (const auto it = needed.find(key.second + "." + name); it != needed.end())
      c.set_attribute(object.get(), version, name, op::AttributeValue(it->second), inputs);
    else if (a.required && a.type == op::AttributeType::integer)
      c.set_attribute(object.get(), version, name, int64_t{1}, inputs);
    else if (a.required && a.type == op::AttributeType::integers)
      c.set_attribute(object.get(), version, name, std::vector<int64_t>{1, 1}, inputs);
  }
  c.set_attribute(object.get(), version, given.name, std::move(value), inputs);
  return {c, object, version};
}

/// What the rule says of `operands` operands of one rank, of which nothing else is known.
std::string refusal(const AnyOperator& op, int operands, const Dims& dims) {
  const int version = op.version();
  std::vector<op::Info> in(static_cast<std::size_t>(operands));
  for (op::Info& i : in) i.type = Type(Kind::unknown, DType::undefined), i.dims = dims;
  std::string said;
  for (int outputs : {std::max(1, op.spec().min_outputs(version)), op.spec().outputs.size()}) {
    std::vector<op::Info> out(static_cast<std::size_t>(outputs));
    said += str_cat(op.infer(in, out).view(), "\n");
  }
  return said;
}

/// Whether an operator refuses a value of an attribute by the attribute's name, with operands of some number
/// and rank.
bool refuses(const Registry::Key& key, const OperatorClass& c, int version, const op::AttributeInfo& a,
             op::AttributeValue value) {
  std::string said;
  try {
    const AnyOperator op = with(key, c, version, a, std::move(value));
    for (int operands = c.spec->min_inputs(version); operands <= c.spec->max_inputs(version); ++operands)
      for (const Dims& dims : {Dims(), Dims::of_rank(3), Dims::of_rank(4)})
        said += refusal(op, operands, dims);
  } catch (const Error& e) {
    said = e.what();
  }
  return said.find(a.name) != std::string::npos;
}

bool lists(const Names& names, const std::string& op, std::string_view attribute,
           std::set<std::string>& used) {
  for (const std::string& name : {std::string(attribute), str_cat(op, ".", attribute)})
    if (names.contains(name)) return used.insert(name), true;
  return false;
}

TEST_CASE("Attributes of few values refuse all others") {
  std::set<std::string> used;
  int modes = 0, flags = 0;
  for (const auto& [key, versions] : standard_registry().operators())
    for (const auto& [version, c] : versions)
      for (const op::AttributeInfo& a : c->attributes(c->create(version).get())) {
        if (!a.in(version)) continue;
        CAPTURE(key.second);
        CAPTURE(version);
        CAPTURE(std::string(a.name));
        const auto refuse = [&](op::AttributeValue value) {
          return refuses(key, *c, version, a, std::move(value));
        };
        if (a.type == op::AttributeType::string && !lists(texts, key.second, a.name, used)) {
          CHECK(refuse("nonsense"));
          if (!lists(unnamed, key.second, a.name, used)) CHECK(refuse(""));
          ++modes;
        } else if (a.type == op::AttributeType::integer && !lists(numbers, key.second, a.name, used)) {
          CHECK(refuse(int64_t{-1}));
          if (lists(counts, key.second, a.name, used)) continue;
          CHECK(refuse(int64_t{7}));
          ++flags;
        }
      }
  CHECK(modes > 100);
  CHECK(flags > 150);
  for (const Names* names : {&texts, &unnamed, &numbers, &counts})
    for (const auto& [name, why] : *names) CHECK_MESSAGE(used.contains(name), name);
}

}  // namespace
}  // namespace tenon
