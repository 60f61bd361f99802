// The emission of a compiled model: constants, one line for each node of the planned program, and the headers
// that these lines need.
#include "loader/compile.hpp"

#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "loader/import.hpp"
#include "loader/scratch_peak.hpp"
#include "tenon/graph/fused/blocked_conv.hpp"
#include "tenon/graph/fused/last_conv.hpp"
#include "tenon/graph/fused/packed_conv.hpp"
#include "tenon/graph/fused/packed_mat_mul_integer.hpp"
#include "tenon/graph/passes/fuse_elementwise.hpp"
#include "tenon/graph/passes/pack_matmul.hpp"
#include "tenon/graph/plan.hpp"
#include "tenon/loader.hpp"

namespace tenon {
namespace {

using tenon::detail::Action;
using tenon::detail::Place;
using tenon::detail::Plan;

// --- words of C++ ---

constexpr std::string_view keywords[] = {
    "alignas",  "alignof",  "and",      "and_eq",   "asm",       "auto",       "bitand",    "bitor",
    "bool",     "break",    "case",     "catch",    "char",      "class",      "co_await",  "co_return",
    "co_yield", "compl",    "concept",  "const",    "consteval", "constexpr",  "constinit", "continue",
    "decltype", "default",  "delete",   "do",       "double",    "else",       "enum",      "explicit",
    "export",   "extern",   "false",    "float",    "for",       "friend",     "goto",      "if",
    "inline",   "int",      "long",     "main",     "mutable",   "namespace",  "new",       "noexcept",
    "not",      "not_eq",   "nullptr",  "operator", "or",        "or_eq",      "private",   "protected",
    "public",   "register", "requires", "return",   "short",     "signed",     "sizeof",    "static",
    "std",      "struct",   "switch",   "template", "this",      "throw",      "true",      "try",
    "typedef",  "typeid",   "typename", "union",    "unsigned",  "using",      "virtual",   "void",
    "volatile", "wchar_t",  "while",    "xor",      "xor_eq",    "tenon",      "xsimd",     "op",
    "kernels",  "detail",   "simd",     "passes",   "standin",   "linux",      "unix",      "assert",
    "memory",   "weights",  "arena",    "run",      "Memory",    "TensorView", "Shape",     "constants",
    "at",       "part",     "operands", "compute",  "bytes_of",  "Absent",     "set",       "make",
    "lent",     "from",     "size"};

/// Whether the text may have such a name of its own: w0, op3, in1, out0, local2.
bool is_numbered(std::string_view text) {
  const std::size_t stem = text.find_first_of("0123456789");
  if (stem == std::string_view::npos || text.find_first_not_of("0123456789", stem) != std::string_view::npos)
    return false;
  constexpr std::string_view stems[] = {"in", "local", "op", "out", "w"};
  return std::ranges::find(stems, text.substr(0, stem)) != std::end(stems);
}

/// A name as a C++ identifier that nothing else in the text has.
std::string identifier(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) text += c;
    else if (text.empty() || text.back() != '_') text += '_';
  }
  // Names that begin with _ belong to the implementation.
  while (text.starts_with('_')) text.erase(0, 1);
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) text.insert(0, "v");
  if (std::ranges::find(keywords, text) != std::end(keywords) || is_numbered(text)) text += '_';
  return text;
}

class Identifiers {
 public:
  std::string fresh(std::string_view name) {
    std::string text = identifier(name);
    for (int k = 2; !taken_.insert(text).second; ++k) text = concat(identifier(name), "_", k);
    return text;
  }

 private:
  std::set<std::string> taken_;
};

/// A name in a comment of one line.
std::string comment(std::string_view name) {
  std::string text;
  for (const char c : name) text += c >= ' ' && c != '\\' && c != 127 ? c : '?';
  return text;
}

std::string c_text(std::string_view s) {
  std::string text = "\"";
  char code[8];
  for (const char c : s)
    if (c == '"' || c == '\\') text += concat('\\', c);
    else if (c >= ' ' && c < 127) text += c;
    else
      std::snprintf(code, sizeof code, "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c))),
          text += code;
  return text + "\"";
}

std::string literal(int64_t v) { return v == INT64_MIN ? "INT64_MIN" : std::to_string(v); }
std::string literal(bool v) { return v ? "true" : "false"; }
std::string literal(double v) {
  char text[64];
  if (!std::isfinite(v))
    std::snprintf(text, sizeof text, "std::bit_cast<double>(std::uint64_t{0x%" PRIx64 "})",
                  std::bit_cast<uint64_t>(v));
  else std::snprintf(text, sizeof text, "%a", v);
  return text;
}
std::string literal(float v) {
  char text[64];
  if (!std::isfinite(v))
    std::snprintf(text, sizeof text, "std::bit_cast<float>(std::uint32_t{0x%" PRIx32 "})",
                  std::bit_cast<uint32_t>(v));
  else std::snprintf(text, sizeof text, "%af", static_cast<double>(v));
  return text;
}

/// The C++ type of an element type.
std::string type_name(DType d) {
  if (d == DType::float32 || d == DType::float64 || d == DType::bool_) return std::string(name(d));
  if (is_integer(d) && bits(d) >= 8) return concat("std::", name(d), "_t");
  return concat("tenon::", name(d));
}
std::string literal(DType d) {
  return d == DType::undefined ? "tenon::DType::undefined" : concat("tenon::dtype_of<", type_name(d), ">");
}

std::string list(std::span<const int64_t> numbers) {
  std::string text = "{";
  for (std::size_t k = 0; k < numbers.size(); ++k) text += concat(k > 0 ? ", " : "", literal(numbers[k]));
  return text + "}";
}
std::string literal(const Extents& e) { return concat("tenon::Extents", list(e)); }

// --- constants ---

/// A reason for which a node has no form in a header.
struct Refused {
  std::string reason;
};

class Constants {
 public:
  explicit Constants(std::optional<int64_t> threshold) : threshold_(threshold) {}

  /// An expression for the first byte of constant memory. `of_file` becomes true if only the run knows it.
  std::string address(const Storage& storage, bool& of_file) {
    const std::string_view bytes(static_cast<const char*>(storage.data()), storage.size_bytes());
    const auto [it, added] = names_.try_emplace(bytes, std::string());
    const bool large = threshold_ && static_cast<int64_t>(bytes.size()) >= *threshold_;
    if (added) {
      kept_.push_back(storage);
      if (large) {
        weights_.resize((weights_.size() + 63) / 64 * 64);
        it->second = concat("(weights + ", weights_.size(), ")");
        weights_ += bytes;
      } else {
        it->second = concat("w", kept_.size() - 1);
        write(it->second, bytes);
      }
    }
    of_file |= large;
    return it->second;
  }
  std::string storage(const Storage& s, bool& of_file) {
    if (!s) return "{}";
    return concat("tenon::Storage::borrow(", address(s, of_file), ", ", s.size_bytes(), ")");
  }
  /// The name of an operator that is constant.
  std::string op(const std::string& expression) {
    const auto [it, added] = operators_.try_emplace(expression, concat("op", operators_.size()));
    if (added) text_ += concat("inline constexpr auto ", it->second, " = ", expression, ";\n");
    return it->second;
  }

  const std::string& text() const { return text_; }
  std::string& weights() { return weights_; }

 private:
  void write(const std::string& as, std::string_view bytes) {
    text_ += concat("alignas(64) inline constexpr Word ", as, "[] = {");
    char word[24];
    for (std::size_t k = 0; k < std::max<std::size_t>(bytes.size(), 1); k += 8) {
      uint64_t bits = 0;
      for (std::size_t b = 0; b < 8 && k + b < bytes.size(); ++b)
        bits |= uint64_t{static_cast<unsigned char>(bytes[k + b])} << (8 * b);
      std::snprintf(word, sizeof word, "%s0x%" PRIx64, k == 0 ? "" : k % 64 == 0 ? ",\n" : ",", bits);
      text_ += word;
    }
    text_ += "};\n";
  }

  std::optional<int64_t> threshold_;
  std::vector<Storage> kept_;
  std::unordered_map<std::string_view, std::string> names_;
  std::map<std::string, std::string> operators_;
  std::string text_, weights_;
};

// --- operators ---

/// An expression for an operator, and the headers that it needs.
struct OperatorText {
  std::string expression;
  std::set<std::string> headers;
  bool constant = true;  ///< in the sense of the language
};

bool same(const op::AttributeValue& a, const op::AttributeValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class V>(const V& v) {
        if constexpr (requires { v == v; }) return v == std::get<V>(b);
        else return false;
      },
      a);
}

/// make<name>(version, …) with the attributes that are not those of `initial`.
std::string make_text(std::string_view name, int version, const std::vector<op::AttributeInfo>& attributes,
                      const std::vector<op::AttributeInfo>& initial) {
  std::string text = concat("tenon::op::make<", name, ">(", version);
  for (std::size_t k = 0; k < attributes.size(); ++k) {
    const op::AttributeInfo& a = attributes[k];
    if (a.type == op::AttributeType::tensor || a.type == op::AttributeType::sparse)
      throw Refused{"an attribute is a tensor"};
    if (a.value.index() == 0 || same(a.value, initial[k].value)) continue;
    std::string value;
    if (const auto* i = std::get_if<int64_t>(&a.value)) value = concat("std::int64_t{", literal(*i), "}");
    else if (const auto* f = std::get_if<float>(&a.value)) value = literal(*f);
    else if (const auto* s = std::get_if<std::string>(&a.value))
      value = concat("std::string_view(", c_text(*s), ")");
    else if (const auto* v = std::get_if<std::vector<int64_t>>(&a.value);
             v != nullptr && v->size() <= static_cast<std::size_t>(Ints::capacity()))
      value = concat("tenon::Ints", list(*v));
    else throw Refused{concat("attribute '", a.name, "' is no number, text or short list of integers")};
    text += concat(", tenon::op::set(", c_text(a.name), ", ", value, ")");
  }
  return text + ")";
}
template <class Op>
std::string make_text(std::string_view name, const Op& op) {
  return make_text(name, Op::spec.latest(), op::attributes_of(op), op::attributes_of(Op{}));
}

using namespace passes;

/// The members of an aggregate of namespace tenon::passes.
class Aggregate {
 public:
  Aggregate(std::string_view name, Constants& constants)
      : text_(concat("tenon::passes::", name, "{")), constants_(constants) {}
  template <class T>
  Aggregate& set(std::string_view name, const T& value) {
    text_ += concat(text_.back() == '{' ? "." : ", .", name, " = ", word(value));
    return *this;
  }
  Aggregate& set_text(std::string_view name, const std::string& value) {
    text_ += concat(text_.back() == '{' ? "." : ", .", name, " = ", value);
    return *this;
  }
  OperatorText take(std::string header) { return {text_ + "}", {std::move(header)}, !of_file_}; }

 private:
  template <class T>
  std::string word(const T& v) {
    if constexpr (std::is_same_v<T, Storage>) return constants_.storage(v, of_file_);
    else if constexpr (std::is_same_v<T, Bounds>) return concat("{", literal(v.lo), ", ", literal(v.hi), "}");
    else if constexpr (std::is_same_v<T, ByteScale>)
      return concat("{", literal(v.type), ", ", literal(v.scale), ", ", v.zero, "}");
    else if constexpr (std::is_same_v<T, ByteRange>)
      return concat("{", word(v.as), ", ", v.lo, ", ", v.hi, "}");
    else if constexpr (std::is_same_v<T, op::Conv>) return make_text("tenon::op::Conv", v);
    else return literal(v);
  }

  std::string text_;
  Constants& constants_;
  bool of_file_ = false;
};

constexpr std::string_view fused = "tenon/graph/fused/";

/// An activation in the words that made it.
std::string activation_text(const kernels::Activation<float>& a) {
  std::string text;
  const auto one = [&]<kernels::UnaryOp op>(std::string_view name) {
    if (text.empty() && a.run == kernels::activation<op, float>().run)
      text = concat("tenon::kernels::activation<tenon::kernels::UnaryOp::", name,
                    ", float>({.alpha = ", literal(a.parameters.alpha),
                    ", .beta = ", literal(a.parameters.beta), "})");
  };
  using enum kernels::UnaryOp;
  one.operator()<hard_swish>("hard_swish");
  one.operator()<mish>("mish");
  one.operator()<sigmoid>("sigmoid");
  one.operator()<tanh>("tanh");
  one.operator()<elu>("elu");
  one.operator()<leaky_relu>("leaky_relu");
  one.operator()<swish>("swish");
  one.operator()<hard_sigmoid>("hard_sigmoid");
  one.operator()<gelu_tanh>("gelu_tanh");
  one.operator()<gelu>("gelu");
  if (text.empty()) throw Refused{"its activation has no name"};
  return text;
}

OperatorText text_of(const PackedMatMul& p, Constants& c) {
  Aggregate a("PackedMatMul", c);
  a.set("alpha", p.alpha)
      .set("beta", p.beta)
      .set("trans_a", p.trans_a)
      .set("gemm", p.gemm)
      .set("bounds", p.bounds);
  a.set("element", p.element)
      .set("k", p.k)
      .set("n", p.n)
      .set("b", p.b)
      .set("b_row", p.b_row)
      .set("b_col", p.b_col);
  a.set("zeros", p.zeros).set("bias", p.bias);
  if (p.narrow.type != DType::undefined)
    a.set_text("narrow", concat("{", literal(p.narrow.type), ", ", p.narrow.k, ", ", p.narrow.n, ", ",
                                p.narrow.block, "}"));
  return a.take(concat(fused, "packed_mat_mul.hpp"));
}
OperatorText text_of(const PackedConv& p, Constants& c) {
  Aggregate a("PackedConv", c);
  a.set("conv", p.conv).set("bounds", p.bounds).set("element", p.element).set("extents", p.extents);
  a.set("weights", p.weights).set("bias", p.bias).set("packed", p.packed);
  return a.take(concat(fused, "packed_conv.hpp"));
}
OperatorText text_of(const BlockedConv& p, Constants& c) {
  Aggregate a("BlockedConv", c);
  a.set("conv", p.conv).set("bounds", p.bounds).set("block", p.block).set("extents", p.extents);
  a.set("plain_x", p.plain_x).set("plain_y", p.plain_y).set("winograd", p.winograd);
  a.set("weights", p.weights).set("bias", p.bias);
  if (p.activation) a.set_text("activation", activation_text(p.activation));
  OperatorText text = a.take(concat(fused, "blocked_conv.hpp"));
  text.constant &= !p.activation;
  return text;
}
OperatorText text_of(const ToBlocks& p, Constants& c) {
  return Aggregate("ToBlocks", c).set("block", p.block).take(concat(fused, "blocked_conv.hpp"));
}
OperatorText text_of(const FromBlocks& p, Constants& c) {
  return Aggregate("FromBlocks", c).set("channels", p.channels).take(concat(fused, "blocked_conv.hpp"));
}
OperatorText text_of(const BlockedMean&, Constants& c) {
  return Aggregate("BlockedMean", c).take(concat(fused, "blocked_conv.hpp"));
}
OperatorText text_of(const QuantizedConv& p, Constants& c) {
  Aggregate a("QuantizedConv", c);
  a.set("conv", p.conv).set("x", p.x).set("y", p.y).set("extents", p.extents).set("plain", p.plain);
  return a.set("weights", p.weights)
      .set("bias", p.bias)
      .set("scales", p.scales)
      .take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const QuantizedMatMul& p, Constants& c) {
  Aggregate a("QuantizedMatMul", c);
  a.set("a", p.a).set("y", p.y).set("gemm", p.gemm).set("k", p.k).set("n", p.n);
  return a.set("b", p.b).set("bias", p.bias).set("scales", p.scales).take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const QuantizedAdd& p, Constants& c) {
  return Aggregate("QuantizedAdd", c)
      .set("a", p.a)
      .set("b", p.b)
      .set("y", p.y)
      .take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const QuantizedGlobalAverage& p, Constants& c) {
  return Aggregate("QuantizedGlobalAverage", c)
      .set("x", p.x)
      .set("y", p.y)
      .set("last", p.last)
      .take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const ByteTable& p, Constants& c) {
  std::string table = "{{";
  for (std::size_t k = 0; k < p.table.size(); ++k) table += concat(k > 0 ? "," : "", int{p.table[k]});
  return Aggregate("ByteTable", c)
      .set("x", p.x)
      .set("y", p.y)
      .set_text("table", table + "}}")
      .take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const MoveChannels& p, Constants& c) {
  return Aggregate("MoveChannels", c)
      .set("type", p.type)
      .set("back", p.back)
      .take(concat(fused, "last_conv.hpp"));
}
OperatorText text_of(const LastConv& p, Constants& c) {
  Aggregate a("LastConv", c);
  a.set("conv", p.conv).set("x", p.x).set("y", p.y).set("extents", p.extents).set("plain_x", p.plain_x);
  a.set("weights", p.weights).set("scales", p.scales);
  if (p.sum) {
    const auto scale = [&](const ByteScale& s) {
      return concat("{", literal(s.type), ", ", literal(s.scale), ", ", s.zero, "}");
    };
    a.set_text("sum", concat("tenon::passes::LastConv::Sum{", scale(p.sum->z), ", {", scale(p.sum->y.as),
                             ", ", p.sum->y.lo, ", ", p.sum->y.hi, "}}"));
  }
  return a.take(concat(fused, "last_conv.hpp"));
}
OperatorText text_of(const PackedMatMulInteger& p, Constants& c) {
  Aggregate a("PackedMatMulInteger", c);
  a.set("element", p.element)
      .set("k", p.k)
      .set("n", p.n)
      .set("b", p.b)
      .set("scales", p.scales)
      .set("bias", p.bias);
  return a.set("bounds", p.bounds).take(concat(fused, "packed_mat_mul_integer.hpp"));
}

/// Tries the operators that passes make, in turn.
template <class... Op>
bool text_of_one(const AnyOperator& op, Constants& c, std::optional<OperatorText>& text) {
  return ([&] {
    const Op* const p = op.as<Op>();
    if (p != nullptr) text = text_of(*p, c);
    return p != nullptr;
  }() || ...);
}

/// Operators whose compute takes memory from the heap, or keeps lists of texts.
constexpr std::string_view heap_users[] = {"Einsum", "GRU", "LSTM", "RNN", "TfIdfVectorizer"};

OperatorText text_of(const AnyOperator& op, std::span<const HeaderText> files, Constants& c) {
  std::optional<OperatorText> text;
  if (const auto* late = op.as<FileMatMul>()) return text_of(late->packed(), c);
  if (text_of_one<PackedMatMul, PackedConv, BlockedConv, ToBlocks, FromBlocks, BlockedMean, QuantizedConv,
                  QuantizedMatMul, QuantizedAdd, QuantizedGlobalAverage, ByteTable, MoveChannels, LastConv,
                  PackedMatMulInteger>(op, c, text))
    return *std::move(text);
  const op::Spec& spec = op.spec();
  const auto& operators = standard_registry().operators();
  const auto found = operators.find({std::string(spec.domain), std::string(spec.name)});
  const OperatorClass* op_class = nullptr;
  if (found != operators.end())
    for (const auto& [since, one] : found->second)
      if (one->spec == &spec) op_class = one;
  if (op_class == nullptr) throw Refused{"the operator has no form in a header"};
  if (!spec.deterministic) throw Refused{"it draws random numbers"};
  if (spec.name == "RoiAlign" || spec.name == "MaxRoiPool")
    throw Refused{"its working memory depends on data"};
  if (std::ranges::find(heap_users, spec.name) != std::end(heap_users))
    throw Refused{"it takes memory from the heap"};
  std::string name = concat("tenon::op::", spec.name);
  if (found->second.rbegin()->second != op_class) name += concat("_", spec.since[0]);
  OperatorText made{make_text(name, op.version(), op.attributes(),
                              op_class->attributes(op_class->create(op.version()).get())),
                    {},
                    true};
  try {
    made.headers.insert(operator_header(files, spec.name));
  } catch (const Error& e) {
    throw Refused{e.message()};
  }
  return made;
}

// --- one program ---

/// The inputs and outputs of `run`.
struct Parameter {
  std::string name;  ///< in the text
  ValueId value = -1;
  int number = 0;  ///< among the inputs or outputs
};

class Emission {
 public:
  Emission(std::span<const HeaderText> files, const Session& session, const CompileOptions& options)
      : files_(files), session_(session), program_(session.program()), constants_(options.weights_threshold) {
    Identifiers names;
    const Graph& g = session.graph();
    for (std::size_t k = 0; k < g.inputs().size(); ++k)
      if (const ValueId v = g.inputs()[k]; !program_.stored(v))
        inputs_.push_back({names.fresh(g.entry(v).name), v, static_cast<int>(k)});
    for (std::size_t o = 0; o < g.outputs().size(); ++o)
      outputs_.push_back({names.fresh(g.outputs()[o].first), program_.outputs()[o], static_cast<int>(o)});
    headers_.insert("tenon/op/framework/compiled.hpp");
  }

  /// Adds the function for the extents of the inputs. `others` are other numbers of these extents.
  void add(const Feeds& feeds, const Feeds& others) {
    plan_ = session_.plan(feeds);
    operands_.assign(plan_.values.size(), std::string());
    place_values();
    std::string body;
    tile_bytes_ = 0;
    for (std::size_t s = 0; s < program_.nodes().size(); ++s) {
      const Graph::Node& n = program_.nodes()[s];
      try {
        body += node(n, plan_.actions[s]);
      } catch (const Refused& r) {
        refused_.insert(concat(tenon::detail::describe(n), ": ", r.reason));
      }
    }
    if (!refused_.empty()) return;
    for (const Parameter& o : outputs_) {
      const std::string from = pointer(o.value), to = concat("out", o.number);
      if (from != to) body += concat("  std::memcpy(", to, ", ", from, ", ", bytes(o.value), ");\n");
      note_type(o.value);
    }
    const int64_t scratch = peak(feeds, others);
    arena_bytes_ = std::max(arena_bytes_, plan_.arena_bytes + tile_bytes_);
    scratch_bytes_ = std::max(scratch_bytes_, scratch);
    auto& [parameters, text] = functions_.emplace_back();
    views_.clear();
    const auto add_view = [&](const Parameter& p, bool input) {
      views_.push_back(view_type(p.value, input));
      parameters += concat(views_.back(), " ", p.name, ", ");
    };
    for (const Parameter& p : inputs_) add_view(p, true);
    for (const Parameter& p : outputs_) add_view(p, false);
    parameters += "Memory& memory";
    text = "  using namespace constants;\n  using namespace tenon::op;\n";
    if (scratch > 0) text += "  const tenon::Lent lent(memory.scratch, sizeof memory.scratch);\n";
    text += "  [[maybe_unused]] std::byte* const arena = memory.arena;\n";
    for (const Parameter& p : inputs_)
      text +=
          concat("  [[maybe_unused]] const std::byte* const in", p.number, " = bytes_of(", p.name, ");\n");
    for (const Parameter& p : outputs_)
      text += concat("  std::byte* const out", p.number, " = bytes_of(", p.name, ");\n");
    text += body;
  }

  const std::set<std::string>& refused() const { return refused_; }

  ModelPart take(const std::string& name) {
    ModelPart part{
        name, {}, std::move(constants_.weights()), std::move(headers_), std::move(types_), std::move(views_)};
    part.text = "namespace constants {\n\n// Words of constant tensors, as kernels read them.\n";
    part.text += "using Word [[gnu::may_alias]] = std::uint64_t;\n\n";
    part.text += concat(constants_.text(), "\n}  // namespace constants\n\n");
    part.text += "/// What a run works in; its contents mean nothing between runs.\nstruct Memory {\n";
    part.text += concat("  alignas(64) std::byte arena[", std::max<int64_t>(arena_bytes_, 64), "];\n");
    if (scratch_bytes_ > 0) part.text += concat("  alignas(64) std::byte scratch[", scratch_bytes_, "];\n");
    part.text += "};\n";
    if (!part.weights.empty())
      part.text += concat("\n/// The bytes of the weights' file, which a run wants at a multiple of 64.\n",
                          "inline constexpr std::size_t weights_bytes = ", part.weights.size(), ";\n");
    const std::string weights = part.weights.empty() ? "" : ", const std::byte* weights";
    for (const auto& [parameters, body] : functions_)
      part.text += concat("\ninline void run(", parameters, weights, ") noexcept {\n", body, "}\n");
    return part;
  }

 private:
  const Plan::Entry& entry(ValueId v) const { return plan_.values[static_cast<std::size_t>(v)]; }
  static bool is_dense(const op::Info& i) {
    return i.type.kind == Kind::tensor && i.type.element != DType::string && i.dims.known();
  }
  int64_t bytes(ValueId v) const {
    return packed_bytes(element_count(entry(v).info.dims.extents()), entry(v).info.type.element);
  }

  /// Values that have memory before the first node.
  void place_values() {
    for (const Parameter& p : inputs_) operands_[static_cast<std::size_t>(p.value)] = concat("in", p.number);
  }

  /// An expression for a value's first byte.
  std::string pointer(ValueId v) {
    std::string& known = operands_[static_cast<std::size_t>(v)];
    if (!known.empty()) return known;
    const Plan::Entry& e = entry(v);
    switch (e.place) {
      case Place::fixed: return known = constant(v);
      case Place::given: return known = pointer(e.root);
      case Place::arena: return known = concat("(arena + ", entry(e.root).offset + e.shift, ")");
      case Place::output: return known = concat("out", entry(e.root).output);
      default: throw Refused{"a value is made by the run"};
    }
  }
  std::string constant(ValueId v) {
    const Plan::Entry& e = entry(v);
    bool of_file = false;
    if (program_.stored(v)) {
      if (!program_.stored(v).is_tensor() || program_.stored(v).tensor().dtype() == DType::string)
        throw Refused{"a constant is no tensor of numbers"};
      const AnyTensor& t = program_.stored(v).tensor();
      return constants_.address(t.storage().slice(0, static_cast<std::size_t>(t.bytes())), of_file);
    }
    if (e.root != v) return pointer(e.root);
    const bool wide = e.info.type.element == DType::int64;
    Storage s = wide ? Storage::make<int64_t>(e.info.propagated.size())
                     : Storage::make<int32_t>(e.info.propagated.size());
    for (int k = 0; k < e.info.propagated.size(); ++k)
      if (wide) s.as<int64_t>()[k] = e.info.propagated[k].value();
      else s.as<int32_t>()[k] = static_cast<int32_t>(e.info.propagated[k].value());
    return constants_.address(s, of_file);
  }

  void note_type(ValueId v) {
    if (entry(v).info.type.kind == Kind::tensor) types_.insert(entry(v).info.type.element);
  }
  void expect_dense(ValueId v) const {
    const op::Info& i = entry(v).info;
    if (i.type.kind != Kind::tensor || i.type.element == DType::string)
      throw Refused{"a value is no tensor of numbers"};
    if (!i.dims.known()) throw Refused{"extents are known in the run only"};
  }

  std::string view_type(ValueId v, bool input) const {
    std::string shape;
    for (const int64_t e : entry(v).info.dims.extents()) shape += concat(shape.empty() ? "" : ", ", e);
    return concat("TensorView<", input ? "const " : "", type_name(entry(v).info.type.element), ", Shape<",
                  shape, ">>");
  }
  std::string view(ValueId v, bool input) {
    if (v < 0) return "Absent{}";
    expect_dense(v);
    note_type(v);
    std::string text = concat("at<", input ? "const " : "", type_name(entry(v).info.type.element));
    for (const int64_t e : entry(v).info.dims.extents()) text += concat(", ", e);
    return concat(text, ">(", pointer(v), ")");
  }

  /// The name of a node's operator. What is no constant of the language is made in the run, in `before`.
  std::string operator_name(const AnyOperator& op, std::string& before) {
    OperatorText text = text_of(op, files_, constants_);
    headers_.insert(text.headers.begin(), text.headers.end());
    if (text.constant) return constants_.op(text.expression);
    const std::string made = concat("local", locals_++);
    before += concat("  const auto ", made, " = ", text.expression, ";\n");
    return made;
  }

  std::string node(const Graph::Node& n, Action action) {
    switch (action) {
      case Action::skip: return {};
      case Action::rename:
        operands_[static_cast<std::size_t>(n.outputs[0])] = pointer(n.inputs[0]);
        return {};
      case Action::infer: throw Refused{"extents are known in the run only"};
      case Action::fresh: return fresh(n);
      case Action::compute: break;
    }
    // nonpad_kv_seqlen says how many keys are looked at.
    if (n.op.spec().name == "Attention" && n.inputs.size() > 6 && n.inputs[6] >= 0)
      throw Refused{"its working memory depends on data"};
    std::string before;
    if (const auto* f = n.op.as<FusedElementwise>()) return elementwise(n, *f);
    if (std::string small = small_product(n); !small.empty()) return small;
    const std::string op = operator_name(n.op, before);
    std::string in, out;
    for (ValueId v : n.inputs) in += concat(in.empty() ? "" : ", ", view(v, true));
    for (ValueId v : n.outputs)
      out += concat(out.empty() ? "" : ", ", entry(v).place == Place::none ? "Absent{}" : view(v, false));
    return concat(before, "  compute(", op, ", operands(", in, "), operands(", out, "));  // ",
                  comment(tenon::detail::describe(n)), "\n");
  }

  /// A product for which the kernel is known already: its text, or nothing.
  std::string small_product(const Graph::Node& n) {
    const auto* packed = n.op.as<PackedMatMul>();
    const auto* gemm = n.op.as<op::Gemm>();
    if (packed != nullptr ? packed->b_row == 0 || packed->trans_a : gemm == nullptr || gemm->transA != 0)
      return {};
    const bool trans_b = packed != nullptr ? packed->b_col != 1 : gemm->transB != 0;
    const op::Info& a = entry(n.inputs[0]).info;
    const DType type = a.type.element;
    if (type != DType::float32 && type != DType::float64) return {};
    const Extents y = entry(n.outputs[0]).info.dims.extents();
    const int64_t columns = y.empty() ? 0 : y[y.size() - 1], rows = columns == 0 ? 0 : product(y) / columns;
    const int64_t depth = rows == 0 ? 0 : element_count(a.dims.extents()) / rows;
    if (!is_small_product(rows, depth, columns)) return {};
    if (trans_b && (rows > 4 || depth == 1 || columns == 1)) return {};  // gemm has other kernels for these
    const std::size_t at = packed != nullptr ? 1 : 2;                    // of C
    const float alpha = packed != nullptr ? packed->alpha : gemm->alpha;
    float beta = packed != nullptr ? packed->beta : gemm->beta;
    const bool has_c = n.inputs.size() > at && n.inputs[at] >= 0 && beta != 0;
    if (alpha == 0 || (has_c && packed != nullptr && packed->bias)) return {};
    bool of_file = false;
    std::string c = "nullptr";
    int64_t c_row = 0, c_col = 0;
    if (has_c) {
      const Extents e = entry(n.inputs[at]).info.dims.extents();
      c = pointer(n.inputs[at]);
      c_row = e.size() > 2 ? columns : e.size() == 2 && e[0] != 1 ? e[1] : 0;
      c_col = e.size() > 2 ? 1 : !e.empty() && e[e.size() - 1] != 1 ? 1 : 0;
    } else if (packed != nullptr && packed->bias) {
      c = constants_.address(packed->bias, of_file);
      c_col = beta = 1;
    }
    note_type(n.outputs[0]);
    headers_.insert(concat(fused, "small_mat_mul.hpp"));
    const std::string t = type_name(type);
    const Bounds bounds = packed != nullptr ? packed->bounds : Bounds{};
    const std::string op = constants_.op(concat(
        "tenon::passes::SmallMatMul<", t, ", ", rows, ", ", depth, ", ", columns, trans_b ? ", true" : "",
        ">{.alpha = ", literal(alpha), ", .beta = ", literal(beta), ", .bounds = {", literal(bounds.lo), ", ",
        literal(bounds.hi), "}, .c_row = ", c_row, ", .c_col = ", c_col, "}"));
    const std::string b = packed != nullptr ? constants_.address(packed->b, of_file) : pointer(n.inputs[1]);
    return concat("  ", op, ".compute(", pointer(n.inputs[0]), ", ", b, ", ", c, ", ", pointer(n.outputs[0]),
                  ");  // ", comment(tenon::detail::describe(n)), "\n");
  }

  /// Identity hands on whatever it is given.
  std::string fresh(const Graph::Node& n) {
    for (const op::AttributeInfo& a : n.op.attributes())
      if (a.type == op::AttributeType::graph) throw Refused{"it runs a body"};
    if (n.op.spec().name != "Identity" || !n.op.spec().domain.empty() || !is_dense(entry(n.inputs[0]).info))
      throw Refused{"it makes its results in the run: their extents depend on data, or they are no tensors"};
    const ValueId x = n.inputs[0], y = n.outputs[0];
    expect_dense(x);
    std::string from = pointer(x);
    for (const Parameter& o : outputs_)
      if (o.value == y) {
        operands_[static_cast<std::size_t>(y)] = concat("out", o.number);
        return concat("  std::memcpy(out", o.number, ", ", from, ", ", bytes(x), ");  // ",
                      comment(tenon::detail::describe(n)), "\n");
      }
    if (entry(x).place == Place::arena) throw Refused{"it hands on a value whose memory has another use"};
    operands_[static_cast<std::size_t>(y)] = std::move(from);
    return {};
  }

  /// The loop over tiles that FusedElementwise runs, with its steps' operators by name.
  std::string elementwise(const Graph::Node& n, const FusedElementwise& f) {
    const int64_t size = element_count(entry(n.outputs[0]).info.dims.extents());
    const int64_t first = plan_.arena_bytes;
    tile_bytes_ =
        std::max(tile_bytes_, static_cast<int64_t>(f.buffers.size()) * FusedElementwise::tile_bytes);
    std::string before;
    std::string text = concat(
        "  for (std::int64_t from = 0; from < ", size, "; from += ", FusedElementwise::tile, ") {  // ",
        comment(tenon::detail::describe(n)), "\n    const std::int64_t size = std::min<std::int64_t>(",
        FusedElementwise::tile, ", ", size, " - from);\n");
    for (ValueId v : n.inputs) expect_dense(v), note_type(v);
    note_type(n.outputs[0]);
    for (const FusedElementwise::Step& s : f.steps) {
      std::string in;
      for (const int k : s.inputs) {
        if (!in.empty()) in += ", ";
        if (k == FusedElementwise::absent) {
          in += "Absent{}";
        } else if (k >= 0) {
          const auto at = static_cast<std::size_t>(k);
          const std::string type = type_name(entry(n.inputs[at]).info.type.element);
          in += f.whole[at] ? concat("part<const ", type, ">(", pointer(n.inputs[at]), ", from, size)")
                            : concat("at<const ", type, ">(", pointer(n.inputs[at]), ")");
        } else {
          const int buffer = f.steps[static_cast<std::size_t>(~k)].buffer;
          in += tile(f, buffer, first, true, n);
        }
      }
      text += concat("    compute(", operator_name(s.op, before), ", operands(", in, "), operands(",
                     tile(f, s.buffer, first, false, n), "));\n");
    }
    return before + text + "  }\n";
  }
  std::string tile(const FusedElementwise& f, int buffer, int64_t first, bool input, const Graph::Node& n) {
    const auto b = static_cast<std::size_t>(buffer);
    const bool last = b == f.buffers.size();
    const DType type = last ? f.element : f.buffers[b];
    types_.insert(type);
    return concat("part<", input ? "const " : "", type_name(type), ">(",
                  last ? pointer(n.outputs[0])
                       : concat("arena + ", first + static_cast<int64_t>(b) * FusedElementwise::tile_bytes),
                  last ? ", from, size)" : ", 0, size)");
  }

  /// The most working memory that kernels take. Zeros are refused as divisors, and ones as indices perhaps.
  int64_t peak(const Feeds& zeros, const Feeds& ones) {
    const auto of = [&](const Feeds& feeds) {
      Binding bound = session_.bind(feeds);
      return (static_cast<int64_t>(scratch_peak([&] { bound.run(); })) + 63) / 64 * 64;
    };
    try {
      return of(zeros);
    } catch (const Error&) {
      return of(ones);
    }
  }

  std::span<const HeaderText> files_;
  const Session& session_;
  const Program& program_;
  Constants constants_;
  std::vector<Parameter> inputs_, outputs_;
  Plan plan_;
  std::vector<std::string> operands_;  // expressions for values' first bytes, once asked for
  std::set<std::string> headers_;
  std::set<DType> types_{DType::float32};
  std::set<std::string> refused_;
  std::vector<std::pair<std::string, std::string>> functions_;  // parameters and bodies
  std::vector<std::string> views_;
  int64_t arena_bytes_ = 0, scratch_bytes_ = 0, tile_bytes_ = 0;
  int locals_ = 0;
};

// --- extents ---

/// Tensors of each input's type and extents, full of a number, 0 or 1.
Feeds feeds_for(const Graph& g, const ShapeSet& shapes, int number) {
  using numeric =
      TypeList<float, double, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
  std::set<std::string> used;
  std::string open;
  Feeds feeds;
  for (const ValueId v : g.inputs()) {
    const Graph::ValueEntry& e = g.entry(v);
    if (e.content) continue;
    if (e.info.type.kind != Kind::tensor || e.info.type.element == DType::string)
      throw Error(ErrorCode::not_supported, "compile",
                  concat("input '", e.name, "' is no tensor of numbers"));
    Dims dims = e.info.dims;
    for (const auto& [name, extents] : shapes)
      if (name == e.name) {
        if (!dims.fits(Dims(extents)))
          throw Error(ErrorCode::invalid_argument, "compile",
                      concat("input '", name, "' does not have the extents ", to_string(extents)));
        dims = Dims(extents);
        used.insert(name);
      }
    for (int k = 0; dims.ranked() && k < dims.rank(); ++k)
      for (const auto& [name, extents] : shapes)
        if (dims[k].symbolic() && g.symbol_name(dims[k]) == name && extents.size() == 1) {
          dims[k] = extents[0];
          used.insert(name);
        }
    if (!dims.known()) {
      std::string text = dims.ranked() ? "" : " of unknown rank";
      for (int k = 0; dims.ranked() && k < dims.rank(); ++k)
        text += concat(k > 0 ? "," : "(", dims[k].known()      ? std::to_string(dims[k].value())
                                          : dims[k].symbolic() ? std::string(g.symbol_name(dims[k]))
                                                               : "?");
      open += concat("\n  input '", e.name, "' ", text, dims.ranked() ? ")" : "");
      continue;
    }
    const Extents extents = dims.extents();
    const auto bytes = static_cast<std::size_t>(packed_bytes(element_count(extents), e.info.type.element));
    AnyTensor numbers(e.info.type.element, extents, Storage::allocate(bytes));
    std::memset(numbers.data(), 0, bytes);
    if (number != 0)
      dispatch(numeric{}, e.info.type.element, [&]<class T>() {
        std::fill_n(static_cast<T*>(numbers.data()), numbers.size(), static_cast<T>(number));
      });
    feeds.emplace_back(e.name, std::move(numbers));
  }
  if (!open.empty())
    throw Error(ErrorCode::invalid_argument, "compile",
                concat("extents are left open; fix them with --shape NAME=NUMBER or INPUT=1x8x8:", open));
  for (const auto& [name, extents] : shapes)
    if (!used.contains(name))
      throw Error(ErrorCode::invalid_argument, "compile",
                  concat("'", name, "' names no input, and no extent of one that is open"));
  return feeds;
}

}  // namespace

ModelPart compile_part(std::span<const HeaderText> files, const Model& model, const CompileOptions& options) {
  const Session session(model.graph(), loader::with_standard_passes({}));
  Emission emission(files, session, options);
  std::vector<ShapeSet> sets = options.shapes;
  if (sets.empty()) sets.emplace_back();
  for (const ShapeSet& set : sets)
    emission.add(feeds_for(session.graph(), set, 0), feeds_for(session.graph(), set, 1));
  if (!emission.refused().empty()) {
    const std::size_t count = emission.refused().size();
    std::string text = concat(count, count == 1 ? " node has" : " nodes have", " no form in a header:");
    for (const std::string& line : emission.refused()) text += concat("\n  ", line);
    throw Error(ErrorCode::not_supported, "compile", text);
  }
  return emission.take(identifier(options.name));
}

std::string assemble(std::span<const HeaderText> files, std::span<const ModelPart> parts,
                     const std::string& space) {
  std::set<std::string> headers;
  std::set<DType> types;
  for (const ModelPart& p : parts) {
    headers.insert(p.headers.begin(), p.headers.end());
    types.insert(p.types.begin(), p.types.end());
  }
  std::string flags, condition;
  const auto level = static_cast<std::size_t>(simd::level());
  for (const simd::LevelInfo& l : std::span(simd::levels).first(level + 1)) {
    std::string_view features = l.features;
    while (!features.empty()) {
      features.remove_prefix(1);  // a blank
      const std::string_view feature = features.substr(0, features.find(' '));
      features.remove_prefix(feature.size());
      flags += concat(" -m", feature);
      std::string macro = concat("__", feature, "__");
      for (char& c : macro) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      condition += concat(condition.empty() ? "" : " || ", "!defined(", macro, ")");
    }
  }
  const std::string_view name = simd::levels[level].name;
  std::string text = concat("// Compiled by tenon ", library_version, " for the level ", name,
                            ":\n//   g++ -std=c++20 -O2", flags, "\n#pragma once\n\n");
  if (!condition.empty())
    text += concat("#if ", condition, "\n#error \"this header needs", flags, "\"\n#endif\n\n");
  const std::vector<std::string> wanted(headers.begin(), headers.end());
  text += amalgamate(files, wanted,
                     {.enclosing = space, .freestanding = true, .types = {types.begin(), types.end()}});
  text += "\n#include <bit>\n#include <cstddef>\n#include <cstdint>\n#include <cstring>\n";
  text += concat("\nnamespace ", space,
                 " {\n\nstatic_assert(tenon::simd::detail::native == ", "tenon::simd::Level::", name,
                 ", \"compiled for the level ", name, "\");\n\n",
                 "using tenon::Shape;\nusing tenon::TensorView;\n\n");
  for (const ModelPart& p : parts) {
    const bool within = p.name != space;
    text += within ? concat("namespace ", p.name, " {\n\n", p.text, "\n}  // namespace ", p.name, "\n\n")
                   : p.text;
  }
  return text + concat("\n}  // namespace ", space, "\n");
}

CompiledModel compile(std::span<const HeaderText> files, const Model& model, const CompileOptions& options) {
  ModelPart part = compile_part(files, model, options);
  return {assemble(files, std::span(&part, 1), part.name), std::move(part.weights)};
}

}  // namespace tenon
