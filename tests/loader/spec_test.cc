// Every operator that is registered states what ONNX states of it, at every version.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "tenon/model.hpp"

namespace tenon {
namespace {

struct Operand {
  std::string name, type;
  op::Arity arity = op::Arity::single;
  int min_arity = 1;
  bool heterogeneous = false;
};
struct AttributeFact {
  std::string type;
  bool required = false, has_default = false;
  std::string value;
};
/// One version of one operator.
struct Schema {
  bool random = false, unstated = false, deprecated = false;
  std::vector<Operand> inputs, outputs;
  std::map<std::string, AttributeFact> attributes;
  std::map<std::string, TypeSet> types;
};
using Facts = std::map<Registry::Key, std::map<int, Schema>>;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

TypeSet type_set(const std::vector<std::string>& groups) {
  TypeSet set;
  const std::map<std::string, uint32_t TypeSet::*> kinds = {
      {"tensor", &TypeSet::tensor},         {"seq", &TypeSet::sequence},
      {"optional", &TypeSet::optional},     {"optional_seq", &TypeSet::optional_sequence},
      {"map_int64", &TypeSet::map_int64},   {"seq_map_int64", &TypeSet::sequence_map_int64},
      {"map_string", &TypeSet::map_string}, {"seq_map_string", &TypeSet::sequence_map_string},
  };
  for (const std::string& group : groups) {
    const std::size_t colon = group.find(':');
    uint32_t& mask = set.*kinds.at(group.substr(0, colon));
    for (const std::string& element : split(group.substr(colon + 1), ',')) {
      REQUIRE(dtype_from_name(element) != DType::undefined);
      mask |= 1u << static_cast<int>(dtype_from_name(element));
    }
  }
  return set;
}

Operand operand(const std::string& text) {
  const std::size_t colon = text.find(':');
  Operand o{text.substr(0, colon), text.substr(colon + 1)};
  if (o.type.ends_with('?')) {
    o.arity = op::optional;
    o.type.pop_back();
  } else if (const std::size_t mark = o.type.find_first_of("*~"); mark != std::string::npos) {
    o.arity = op::variadic;
    o.heterogeneous = o.type[mark] == '~';
    o.min_arity = std::stoi(o.type.substr(mark + 1));
    o.type.resize(mark);
  }
  return o;
}

AttributeFact attribute(std::string text) {
  AttributeFact a;
  if (const std::size_t equals = text.find('='); equals != std::string::npos) {
    a.has_default = true;
    a.value = text.substr(equals + 1);
    text.resize(equals);
  }
  if (text.ends_with('!')) {
    a.required = true;
    text.pop_back();
  }
  a.type = text;
  return a;
}

const Facts& facts() {
  static const Facts all = [] {
    Facts f;
    std::map<std::string, TypeSet> sets;
    std::map<int, Schema>* versions = nullptr;
    Schema* schema = nullptr;
    std::ifstream file("tests/data/onnx_operators.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with('#')) continue;
      std::vector<std::string> words = split(line, ' ');
      const std::string section = words.front();
      words.erase(words.begin());
      if (section == "set") {
        const std::string name = words.front();
        words.erase(words.begin());
        sets[name] = type_set(words);
      } else if (section == "op") {
        const std::size_t colon = words[0].find(':');
        const std::string domain = colon == std::string::npos ? "" : words[0].substr(0, colon);
        versions = &f[{domain, words[0].substr(colon == std::string::npos ? 0 : colon + 1)}];
      } else if (section == "v") {
        Schema next = versions->empty() ? Schema() : versions->rbegin()->second;
        const auto flag = [&](const char* f) {
          return std::find(words.begin(), words.end(), f) != words.end();
        };
        next.random = flag("random");
        next.unstated = flag("unstated");
        next.deprecated = flag("deprecated");
        schema = &((*versions)[std::stoi(words[0])] = next);
      } else if (section == "in" || section == "out") {
        std::vector<Operand>& list = section == "in" ? schema->inputs : schema->outputs;
        list.clear();
        for (const std::string& w : words) list.push_back(operand(w));
      } else if (section == "attr") {
        schema->attributes.clear();
        for (const std::string& w : words)
          schema->attributes[w.substr(0, w.find(':'))] = attribute(w.substr(w.find(':') + 1));
      } else {
        REQUIRE(section == "type");
        schema->types.clear();
        for (const std::string& w : words)
          schema->types[w.substr(0, w.find('='))] = sets.at(w.substr(w.find('=') + 1));
      }
    }
    return f;
  }();
  return all;
}

std::string to_text(const TypeSet& s) {
  std::string text;
  const auto add = [&](std::string_view kind, uint32_t mask) {
    for (int d = 1; d < dtype_count; ++d)
      if (mask >> d & 1) text += str_cat(" ", kind, name_of(static_cast<DType>(d)));
  };
  add("", s.tensor), add("seq ", s.sequence), add("optional ", s.optional),
      add("optional seq ", s.optional_sequence);
  add("sparse ", s.sparse_tensor), add("map int64 ", s.map_int64), add("map string ", s.map_string);
  add("seq map int64 ", s.sequence_map_int64), add("seq map string ", s.sequence_map_string);
  return text.empty() ? " nothing" : text;
}

/// What a specification states at a version, against the facts: one line for each difference.
struct Comparison {
  const op::Spec& spec;
  int version;
  std::vector<std::string> differences;

  void differ(const auto&... parts) {
    differences.push_back(
        str_cat(spec.domain, spec.domain.empty() ? "" : ":", spec.name, "-", version, ": ", parts...));
  }

  /// `param(k)` is operand number k of `count`.
  template <class F>
  void operands(std::string_view what, int count, F param, const std::vector<Operand>& expected) {
    std::size_t k = 0;
    for (int number = 0; number < count; ++number) {
      const op::Param p = param(number);
      if (!p.in(version)) continue;
      if (k == expected.size()) return differ(what, " ", p.name, " is too many");
      const Operand& e = expected[k++];
      if (p.name != e.name) differ(what, " ", p.name, " is ", e.name);
      if (p.type != e.type) differ(what, " ", e.name, " is of type ", e.type, ", not ", p.type);
      if (p.arity != e.arity)
        differ(what, " ", e.name, " is ",
               e.arity == op::Arity::single ? "obligatory"
               : e.arity == op::optional    ? "optional"
                                            : "variadic");
      if (e.arity != op::variadic) continue;
      if (p.min_arity != e.min_arity) differ(what, " ", e.name, " has at least ", e.min_arity, " members");
      if (p.heterogeneous != e.heterogeneous)
        differ(what, " ", e.name, " is ", e.heterogeneous ? "heterogeneous" : "homogeneous");
    }
    if (k < expected.size()) differ(what, " ", expected[k].name, " is missing");
  }

  void inputs(const std::vector<Operand>& expected) {
    operands("input", spec.inputs.size(), [&](int k) { return spec.input(k, version); }, expected);
  }
  void outputs(const std::vector<Operand>& expected) {
    operands("output", spec.outputs.size(), [&](int k) { return spec.output(k, version); }, expected);
  }

  /// The fewest operands that a node can name.
  static int fewest(const std::vector<Operand>& operands) {
    int count = 0;
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (operands[k].arity != op::optional)
        count = static_cast<int>(k) + (operands[k].arity == op::variadic ? operands[k].min_arity : 1);
    return count;
  }

  void types(const Schema& s) {
    for (const auto& [name, set] : s.types) {
      const int v = spec.variable(name);
      if (v < 0) differ("type variable ", name, " is missing");
      else if (!(spec.types[v].at(version) == set))
        differ("type variable ", name, " permits", to_text(set), ", not", to_text(spec.types[v].at(version)));
    }
  }

  static std::string text_of(const op::AttributeValue& value) {
    std::string text;
    const auto list = [&](const auto& items) {
      for (const auto& item : items) text += str_cat(text.empty() ? "" : ",", convert<std::string>(item));
    };
    if (const auto* i = std::get_if<int64_t>(&value)) text = std::to_string(*i);
    else if (const auto* s = std::get_if<std::string>(&value)) text = *s;
    else if (const auto* is = std::get_if<std::vector<int64_t>>(&value)) list(*is);
    else if (const auto* fs = std::get_if<std::vector<float>>(&value)) list(*fs);
    else if (const auto* ss = std::get_if<std::vector<std::string>>(&value)) list(*ss);
    return text;
  }
  static bool has_value(const op::AttributeValue& v) {
    if (const auto* is = std::get_if<std::vector<int64_t>>(&v)) return !is->empty();
    if (const auto* fs = std::get_if<std::vector<float>>(&v)) return !fs->empty();
    if (const auto* ss = std::get_if<std::vector<std::string>>(&v)) return !ss->empty();
    return v.index() != 0;
  }

  void attributes(const std::vector<op::AttributeInfo>& stated,
                  const std::map<std::string, AttributeFact>& expected) {
    std::set<std::string> seen;
    for (const op::AttributeInfo& a : stated) {
      if (version < a.since || version > a.until) continue;
      const auto it = expected.find(std::string(a.name));
      if (it == expected.end()) {
        differ("there is no attribute ", a.name);
        continue;
      }
      if (!seen.insert(it->first).second) differ("attribute ", a.name, " is stated twice");
      const AttributeFact& e = it->second;
      if (name_of(a.type) != e.type)
        differ("attribute ", a.name, " takes ", e.type, ", not ", name_of(a.type));
      if (a.required != e.required)
        differ("attribute ", a.name, " is ", e.required ? "required" : "not required");
      if (has_value(a.value) != e.has_default) {
        differ("attribute ", a.name, e.has_default ? " has the default " + e.value : " has no default");
      } else if (const auto* f = std::get_if<float>(&a.value)) {
        if (*f != std::stof(e.value))
          differ("attribute ", a.name, " is ", e.value, " by default, not ", convert<std::string>(*f));
      } else if (text_of(a.value) != e.value) {
        differ("attribute ", a.name, " is ", e.value, " by default, not ", text_of(a.value));
      }
    }
    for (const auto& [name, e] : expected)
      if (!seen.contains(name)) differ("attribute ", name, " is missing");
  }
};

/// `replaced` says that a later version takes the place of this one: where it is deprecated, models that have
/// it still run.
std::vector<std::string> compare(const OperatorClass& c, int version, const Schema& s, bool replaced) {
  Comparison x{*c.spec, version, {}};
  x.inputs(s.inputs);
  x.outputs(s.outputs);
  if (c.spec->min_inputs(version) != Comparison::fewest(s.inputs))
    x.differ("at least ", Comparison::fewest(s.inputs), " inputs");
  if (c.spec->min_outputs(version) != Comparison::fewest(s.outputs))
    x.differ("at least ", Comparison::fewest(s.outputs), " outputs");
  x.types(s);
  x.attributes(c.attributes(c.create(version).get()), s.attributes);
  if (!s.unstated && c.spec->deterministic == s.random)
    x.differ(s.random ? "is not deterministic" : "is deterministic");
  if (s.deprecated && !replaced && c.spec->until >= version && c.spec->latest() == version)
    x.differ("is deprecated: until = ", version - 1);
  return x.differences;
}

}  // namespace

TEST_CASE("Specifications: the facts themselves") {
  std::size_t versions = 0;
  for (const auto& [key, schemas] : facts()) versions += schemas.size();
  CHECK(facts().size() == 227);
  CHECK(versions == 642);
  const Schema& conv = facts().at({"", "Conv"}).at(22);
  CHECK(conv.inputs[2].arity == op::optional);
  CHECK(conv.attributes.at("group").value == "1");
  CHECK(conv.types.at("T") == types::floats_bf16);
}

/// Experimental operators of opset 1, which ONNX's registry lacks: no version of them goes on into opset 10.
bool is_experimental(const Registry::Key& key, const std::map<int, const OperatorClass*>& versions,
                     int version) {
  const auto next = versions.upper_bound(version);
  const int last = next == versions.end() ? versions.at(version)->spec->until : next->first - 1;
  return key.first.empty() && version == 1 && last < 10;
}

TEST_CASE("Specifications: every registered operator states what ONNX states") {
  const auto& registered = standard_registry().operators();
  CHECK_FALSE(registered.empty());
  for (const auto& [key, versions] : registered) {
    const auto it = facts().find(key);
    const std::map<int, Schema> schemas = it == facts().end() ? std::map<int, Schema>() : it->second;
    for (const auto& [version, schema] : schemas)
      if (!versions.contains(version)) FAIL_CHECK(key.second, "-", version, " is missing");
    for (const auto& [version, op_class] : versions) {
      const auto schema = schemas.find(version);
      if (schema == schemas.end()) {
        if (!is_experimental(key, versions, version))
          FAIL_CHECK(key.first, ":", key.second, "-", version, " is none of ONNX");
        continue;
      }
      const bool replaced = schemas.upper_bound(version) != schemas.end();
      for (const std::string& difference : compare(*op_class, version, schema->second, replaced))
        FAIL_CHECK(difference);
    }
  }
}

TEST_CASE("Specifications: a difference is seen") {
  static constexpr op::Spec wrong{.name = "Softmax",
                                  .since = {13},
                                  .inputs = {{"x", "T"}},
                                  .outputs = {{"output", "T", op::optional}},
                                  .types = {{"T", types::floats}}};
  const std::vector<op::AttributeInfo> attributes = {
      {"axis", op::AttributeType::integer, true, 1, op::always, int64_t{0}},
      {"axes", op::AttributeType::integers, false, 1, op::always, {}}};
  const Schema& s = facts().at({"", "Softmax"}).at(13);
  Comparison x{wrong, 13, {}};
  x.inputs(s.inputs);
  x.outputs(s.outputs);
  x.types(s);
  x.attributes(attributes, s.attributes);
  CHECK(x.differences ==
        std::vector<std::string>{
            "Softmax-13: input x is input",
            "Softmax-13: output output is obligatory",
            "Softmax-13: type variable T permits float float16 double bfloat16, not float float16 double",
            "Softmax-13: attribute axis is not required",
            "Softmax-13: attribute axis is -1 by default, not 0",
            "Softmax-13: there is no attribute axes",
        });
}

}  // namespace tenon
