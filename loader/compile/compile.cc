// The emission of a compiled model: one line for each node of the planned program, and the headers that these
// lines need.
#include "loader/compile/compile.hpp"

#include <algorithm>
#include <cstring>

#include "loader/compile/compile_operator.hpp"
#include "loader/compile/scratch_peak.hpp"
#include "loader/format/sha1.hpp"
#include "loader/graph/import.hpp"
#include "loader/opsets.hpp"
#include "tenon/graph/fused/fused_elementwise.hpp"
#include "tenon/graph/passes/pack_matmul.hpp"
#include "tenon/graph/plan.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/nn/dropout.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/features.hpp"

namespace tenon::TENON_ABI {
namespace {

using namespace emission;
using namespace passes;
using tenon::detail::Action;
using tenon::detail::Place;
using tenon::detail::Plan;

// --- one program ---

/// The inputs and outputs of `run`.
struct Parameter {
  std::string name;  ///< in the text
  ValueId value = -1;
  int number = 0;  ///< among the inputs or outputs
};

class Emission {
 public:
  Emission(const Registry& registry, const Session& session, const CompileOptions& options)
      : registry_(registry),
        session_(session),
        program_(session.program()),
        constants_(options.weights_threshold) {
    Identifiers names;
    const Graph& g = session.graph();
    for (std::size_t k = 0; k < g.inputs().size(); ++k)
      if (const ValueId v = g.inputs()[k]; !g.entry(v).content)
        inputs_.push_back({names.fresh(g.entry(v).name), v, static_cast<int>(k)});
    for (std::size_t o = 0; o < g.outputs().size(); ++o)
      outputs_.push_back({names.fresh(g.outputs()[o].first), program_.outputs()[o], static_cast<int>(o)});
    headers_.insert("tenon/op/framework/compiled.hpp");
    headers_.insert("tenon/simd/arch.hpp");  // tells the level
  }

  /// Adds the function for the extents of the inputs. `others` are feeds of the same extents with other
  /// numbers.
  void add(Feeds feeds, Feeds others) {
    plan_ = tenon::detail::plan_of(program_, feeds);
    for (Feeds* f : {&feeds, &others}) feed_lengths(*f);
    operands_.assign(plan_.values.size(), std::string());
    place_values();
    std::string body;
    tile_bytes_ = 0;
    for (std::size_t s = 0; s < program_.nodes().size(); ++s) {
      const Graph::Node& n = program_.nodes()[s];
      try {
        body += node(n, plan_.actions[s]);
      } catch (const Refused& r) {
        refused_.insert(str_cat(tenon::detail::describe(n), ": ", r.reason));
      }
    }
    if (!refused_.empty()) return;
    for (const Parameter& o : outputs_) {
      const std::string from = pointer(o.value), to = str_cat("out", o.number);
      if (from != to) body += str_cat("  std::memcpy(", to, ", ", from, ", ", bytes(o.value), ");\n");
      note_type(o.value);
    }
    const int64_t scratch = peak(feeds, others);
    arena_bytes_ = std::max(arena_bytes_, plan_.arena_bytes + tile_bytes_);
    scratch_bytes_ = std::max(scratch_bytes_, scratch);
    auto& [parameters, text] = functions_.emplace_back();
    views_.clear();
    const auto add_view = [&](const Parameter& p, bool input) {
      views_.push_back(view_type(p.value, input));
      parameters += str_cat(views_.back(), " ", p.name, ", ");
    };
    for (const Parameter& p : inputs_) add_view(p, true);
    for (const Parameter& p : outputs_) add_view(p, false);
    parameters += "Memory& memory";
    text = "  using namespace constants;\n  using namespace tenon::op;\n";
    if (scratch > 0) text += "  const tenon::Lent lent(memory.scratch, sizeof memory.scratch);\n";
    text += "  [[maybe_unused]] std::byte* const arena = memory.arena;\n";
    for (const Parameter& p : inputs_)
      text +=
          str_cat("  [[maybe_unused]] const std::byte* const in", p.number, " = bytes_of(", p.name, ");\n");
    for (const Parameter& p : outputs_)
      text += str_cat("  std::byte* const out", p.number, " = bytes_of(", p.name, ");\n");
    text += body;
  }

  const std::set<std::string>& refused() const { return refused_; }

  ModelPart take(const std::string& name) {
    ModelPart part{
        name, {}, std::move(constants_.weights()), std::move(headers_), std::move(types_), std::move(views_)};
    part.text = "namespace constants {\n\n// Words of constant tensors, as kernels read them.\n";
    part.text += "using Word [[gnu::may_alias]] = std::uint64_t;\n\n";
    part.text += str_cat(constants_.text(), "\n}  // namespace constants\n\n");
    part.text += "/// What a run works in; its contents mean nothing between runs.\nstruct Memory {\n";
    part.text += str_cat("  alignas(64) std::byte arena[", std::max<int64_t>(arena_bytes_, 64), "];\n");
    if (scratch_bytes_ > 0) part.text += str_cat("  alignas(64) std::byte scratch[", scratch_bytes_, "];\n");
    part.text += "};\n";
    if (!part.weights.empty())
      part.text += str_cat("\n/// The bytes of the weights' file, which a run wants at a multiple of 64.\n",
                           "inline constexpr std::size_t weights_bytes = ", part.weights.size(), ";\n");
    const std::string weights = part.weights.empty() ? "" : ", const std::byte* weights";
    for (const auto& [parameters, body] : functions_)
      part.text += str_cat("\ninline void run(", parameters, weights, ") noexcept {\n", body, "}\n");
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
    for (const Parameter& p : inputs_) operands_[static_cast<std::size_t>(p.value)] = str_cat("in", p.number);
  }

  /// An expression for a value's first byte.
  std::string pointer(ValueId v) {
    std::string& known = operands_[static_cast<std::size_t>(v)];
    if (!known.empty()) return known;
    const Plan::Entry& e = entry(v);
    switch (e.place) {
      case Place::fixed: return known = constant(v);
      case Place::given: return known = pointer(e.root);
      case Place::arena: return known = str_cat("(arena + ", entry(e.root).offset + e.shift, ")");
      case Place::output: return known = str_cat("out", entry(e.root).output);
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
    for (const int64_t e : entry(v).info.dims.extents()) shape += str_cat(shape.empty() ? "" : ", ", e);
    return str_cat("TensorView<", input ? "const " : "", type_name(entry(v).info.type.element), ", Shape<",
                   shape, ">>");
  }
  std::string view(ValueId v, bool input) {
    if (v < 0) return "Absent{}";
    expect_dense(v);
    note_type(v);
    std::string text = str_cat("at<", input ? "const " : "", type_name(entry(v).info.type.element));
    for (const int64_t e : entry(v).info.dims.extents()) text += str_cat(", ", e);
    return str_cat(text, ">(", pointer(v), ")");
  }

  /// The name of a node's operator. An operator that cannot be constexpr is made at run time, in `before`.
  std::string operator_name(const AnyOperator& op, std::string& before) {
    OperatorText text = text_of(op, registry_, constants_);
    headers_.insert(text.headers.begin(), text.headers.end());
    if (text.constant) return constants_.op(text.expression);
    const std::string made = str_cat("local", locals_++);
    before += str_cat("  const auto ", made, " = ", text.expression, ";\n");
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
    if (const ValueId v = key_count(n); v >= 0 && parameter(v) == nullptr)
      throw Refused{"its working memory depends on data"};
    if (!n.op.spec().deterministic && !is_repeatable(n)) throw Refused{"it draws random numbers"};
    if (n.op.spec().linked) throw Refused{"another library does its work"};
    std::string before;
    if (const auto* f = n.op.as<FusedElementwise>()) return elementwise(n, *f);
    if (std::string small = small_product(n); !small.empty()) return small;
    const std::string op = operator_name(n.op, before);
    std::string in, out;
    for (ValueId v : n.inputs) in += str_cat(in.empty() ? "" : ", ", view(v, true));
    for (ValueId v : n.outputs)
      out += str_cat(out.empty() ? "" : ", ", entry(v).place == Place::none ? "Absent{}" : view(v, false));
    return str_cat(before, "  compute(", op, ", operands(", in, "), operands(", out, "));  // ",
                   comment(tenon::detail::describe(n)), "\n");
  }

  /// The text of a product whose kernel is already known, or nothing.
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
    const int64_t columns = y.empty() ? 0 : y[y.size() - 1],
                  rows = columns == 0 ? 0 : extent_product(y) / columns;
    const int64_t depth = rows == 0 ? 0 : element_count(a.dims.extents()) / rows;
    if (!is_small_product(rows, depth, columns)) return {};
    if (trans_b && (rows > 4 || depth == 1 || columns == 1)) return {};  // gemm uses other kernels for these
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
    headers_.insert("tenon/graph/fused/small_mat_mul.hpp");
    const std::string t = type_name(type);
    const Bounds bounds = packed != nullptr ? packed->bounds : Bounds{};
    const std::string op = constants_.op(str_cat(
        "tenon::passes::SmallMatMul<", t, ", ", rows, ", ", depth, ", ", columns, trans_b ? ", true" : "",
        ">{.alpha = ", literal(alpha), ", .beta = ", literal(beta), ", .bounds = {", literal(bounds.lo), ", ",
        literal(bounds.hi), "}, .c_row = ", c_row, ", .c_col = ", c_col, "}"));
    const std::string b = packed != nullptr ? constants_.address(packed->b, of_file) : pointer(n.inputs[1]);
    return str_cat("  ", op, ".compute(", pointer(n.inputs[0]), ", ", b, ", ", c, ", ", pointer(n.outputs[0]),
                   ");  // ", comment(tenon::detail::describe(n)), "\n");
  }

  /// Identity passes its input through.
  std::string fresh(const Graph::Node& n) {
    for (const op::AttributeInfo& a : n.op.attributes())
      if (a.type == op::AttributeType::graph) throw Refused{"it runs a body"};
    if (!n.op.as<op::Identity>() || !is_dense(entry(n.inputs[0]).info))
      throw Refused{"it makes its results in the run: their extents depend on data, or they are no tensors"};
    const ValueId x = n.inputs[0], y = n.outputs[0];
    expect_dense(x);
    std::string from = pointer(x);
    for (const Parameter& o : outputs_)
      if (o.value == y) {
        operands_[static_cast<std::size_t>(y)] = str_cat("out", o.number);
        return str_cat("  std::memcpy(out", o.number, ", ", from, ", ", bytes(x), ");  // ",
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
    std::string text = str_cat(
        "  for (std::int64_t from = 0; from < ", size, "; from += ", FusedElementwise::tile, ") {  // ",
        comment(tenon::detail::describe(n)), "\n    const std::int64_t size = std::min<std::int64_t>(",
        FusedElementwise::tile, ", ", size, " - from);\n");
    for (ValueId v : n.inputs) expect_dense(v), note_type(v);
    note_type(n.outputs[0]);
    for (const FusedElementwise::Step& s : f.steps) {
      std::vector<std::string> in;
      for (const int k : s.inputs) {
        if (k == FusedElementwise::absent) {
          in.push_back("Absent{}");
        } else if (k >= 0) {
          const auto at = static_cast<std::size_t>(k);
          const std::string type = type_name(entry(n.inputs[at]).info.type.element);
          in.push_back(f.whole[at]
                           ? str_cat("part<const ", type, ">(", pointer(n.inputs[at]), ", from, size)")
                           : str_cat("at<const ", type, ">(", pointer(n.inputs[at]), ")"));
        } else {
          const int buffer = f.steps[static_cast<std::size_t>(~k)].buffer;
          in.push_back(tile(f, buffer, first, true, n));
        }
      }
      const std::string to = tile(f, s.buffer, first, false, n);
      text += s.chain.empty() ? str_cat("    compute(", operator_name(s.op, before), ", operands(",
                                        joined(in), "), operands(", to, "));\n")
                              : chain(s.chain, in, to);
    }
    return before + text + "  }\n";
  }
  std::string chain(const std::vector<FusedElementwise::Link>& links, const std::vector<std::string>& in,
                    const std::string& to) {
    headers_.insert("tenon/kernels/elementwise/steps.hpp");
    std::vector<std::string> steps;
    for (const auto& [step, operand] : links) {
      const auto& [function, second, number, bound, array] = step;  // the array is known at run time
      steps.push_back(str_cat("{Step::Function::", name_of(function), ", ", literal(second), ", ",
                              literal(number), ", ", literal(bound), ", ",
                              operand == 0 ? "nullptr" : str_cat(in[operand], ".data()"), "}"));
    }
    return str_cat("    {\n      using Step = tenon::kernels::ChainStep;\n      const Step steps[] = {",
                   joined(steps), "};\n      tenon::kernels::run_chain(steps, ", in[0], ".data(), ", to,
                   ".data(), size);\n    }\n");
  }
  static std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += str_cat(text.empty() ? "" : ", ", part);
    return text;
  }
  std::string tile(const FusedElementwise& f, int buffer, int64_t first, bool input, const Graph::Node& n) {
    const auto b = static_cast<std::size_t>(buffer);
    const bool last = b == f.buffers.size();
    const DType type = last ? f.element : f.buffers[b];
    types_.insert(type);
    return str_cat("part<", input ? "const " : "", type_name(type), ">(",
                   last ? pointer(n.outputs[0])
                        : str_cat("arena + ", first + static_cast<int64_t>(b) * FusedElementwise::tile_bytes),
                   last ? ", from, size)" : ", 0, size)");
  }

  const Parameter* parameter(ValueId v) const {
    const auto p = std::ranges::find(inputs_, v, &Parameter::value);
    return p == inputs_.end() ? nullptr : &*p;
  }
  /// Attention's nonpad_kv_seqlen, the number of keys to attend to; or -1.
  static ValueId key_count(const Graph::Node& n) {
    return n.op.as<op::Attention>() != nullptr && n.inputs.size() > 6 ? n.inputs[6] : -1;
  }
  /// Working memory grows with the number of keys attended to: this takes all.
  void feed_lengths(Feeds& feeds) const {
    for (const Graph::Node& n : program_.nodes())
      if (const Parameter* p = parameter(key_count(n)))
        for (auto& [name, value] : feeds)
          if (name == session_.graph().entry(p->value).name) {
            const Extents keys = entry(n.inputs[1]).info.dims.extents();
            Tensor<int64_t> all(value.tensor().extents());
            std::fill(all.begin(), all.end(), keys[keys.size() - 2]);
            value = std::move(all);
          }
  }
  /// Whether an operator that may draw random numbers draws none, or draws the same in each run.
  bool is_repeatable(const Graph::Node& n) const {
    if (const auto* old = n.op.as<op::Dropout_1>()) return old->is_test != 0;
    const auto* dropout = n.op.as<op::Dropout>();
    if (dropout == nullptr) return false;
    const ValueId training = n.inputs.size() > 2 ? n.inputs[2] : -1;
    if (training < 0 || dropout->seed) return true;
    const Value& stated = program_.stored(training);
    return stated && !*static_cast<const bool*>(stated.tensor().data());
  }

  /// The peak of the kernels' working memory. Zeros are refused as divisors, and ones possibly as indices.
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

  const Registry& registry_;
  const Session& session_;
  const Program& program_;
  Constants constants_;
  std::vector<Parameter> inputs_, outputs_;
  Plan plan_;
  std::vector<std::string> operands_;  // expressions for values' first bytes, once requested
  std::set<std::string> headers_;
  // Operators convert these by themselves.
  std::set<DType> types_{DType::float32, DType::float64, DType::int64, DType::bool_};
  std::set<std::string> refused_;
  std::vector<std::pair<std::string, std::string>> functions_;  // parameters and bodies
  std::vector<std::string> views_;
  int64_t arena_bytes_ = 0, scratch_bytes_ = 0, tile_bytes_ = 0;
  int locals_ = 0;
};

// --- extents ---

/// Tensors of each input's type and extents, filled with `number`, 0 or 1.
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
                  str_cat("input '", e.name, "' is no tensor of numbers"));
    Dims dims = e.info.dims;
    for (const auto& [name, extents] : shapes)
      if (name == e.name) {
        if (!dims.fits(Dims(extents)))
          throw Error(ErrorCode::invalid_argument, "compile",
                      str_cat("input '", name, "' does not have the extents ", to_string(extents)));
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
        text += str_cat(k > 0 ? "," : "(", dims[k].known()      ? std::to_string(dims[k].value())
                                           : dims[k].symbolic() ? std::string(g.symbol_name(dims[k]))
                                                                : "?");
      open += str_cat("\n  input '", e.name, "' ", text, dims.ranked() ? ")" : "");
      continue;
    }
    const Extents extents = dims.extents();
    const auto bytes = static_cast<std::size_t>(packed_bytes(element_count(extents), e.info.type.element));
    AnyTensor numbers(e.info.type.element, extents, Storage::allocate(bytes));
    std::memset(numbers.out().data(), 0, bytes);
    if (number != 0)
      visit_types(numeric{}, e.info.type.element,
                  [&]<class T>() { std::ranges::fill(numbers.out().as<T>(), static_cast<T>(number)); });
    feeds.emplace_back(e.name, std::move(numbers));
  }
  if (!open.empty())
    throw Error(ErrorCode::invalid_argument, "compile",
                str_cat("extents are left open; fix them with --shape NAME=NUMBER or INPUT=1x8x8:", open));
  for (const auto& [name, extents] : shapes)
    if (!used.contains(name))
      throw Error(ErrorCode::invalid_argument, "compile",
                  str_cat("'", name, "' names no input, and no extent of one that is open"));
  return feeds;
}

}  // namespace

ModelPart compile_part(const Model& model, const CompileOptions& options) {
  const Session session(model.graph({.registry = options.registry}), loader::with_standard_passes({}));
  Emission emission(loader::registry_of(options.registry), session, options);
  std::vector<ShapeSet> sets = options.shapes;
  if (sets.empty()) sets.emplace_back();
  for (const ShapeSet& set : sets)
    emission.add(feeds_for(session.graph(), set, 0), feeds_for(session.graph(), set, 1));
  if (!emission.refused().empty()) {
    const std::size_t count = emission.refused().size();
    std::string text = str_cat(count, count == 1 ? " node has" : " nodes have", " no form in a header:");
    for (const std::string& line : emission.refused()) text += str_cat("\n  ", line);
    throw Error(ErrorCode::not_supported, "compile", text);
  }
  return emission.take(namespace_name(options.name));
}

std::string assemble(std::span<const HeaderText> files, std::span<const ModelPart> parts,
                     const std::string& space) {
  std::set<std::string> headers;
  std::set<DType> types;
  for (const ModelPart& p : parts) {
    headers.insert(p.headers.begin(), p.headers.end());
    types.insert(p.types.begin(), p.types.end());
  }
  const auto level = static_cast<std::size_t>(simd::level());
  const std::string_view name = simd::levels[level].name;
  // Other units of the program may contain another model of the same name.
  loader::Sha1 digest;
  const auto add = [&](std::string_view text) { digest.add(std::as_bytes(std::span(text))); };
  add(str_cat(library_version, " ", name));
  for (const ModelPart& p : parts) add(p.text);
  const std::string unit = str_cat("unit_", digest.hex().substr(0, 12));
  const std::string enclosing = str_cat(space, "::", unit);
  const std::vector<std::string> wanted(headers.begin(), headers.end());
  const std::string library = amalgamate(
      files, wanted, {.enclosing = enclosing, .freestanding = true, .types = {types.begin(), types.end()}});

  std::string flags, condition;
  const auto require = [&](std::string_view feature) {
    flags += str_cat(" -m", feature);
    std::string macro = str_cat("__", feature, "__");
    for (char& c : macro) c = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    condition += str_cat(condition.empty() ? "" : " || ", "!defined(", macro, ")");
  };
  for (const simd::LevelInfo& l : std::span(simd::levels).first(level + 1)) {
    std::string_view features = l.features;
    while (!features.empty()) {
      features.remove_prefix(1);  // a blank
      const std::string_view feature = features.substr(0, features.find(' '));
      features.remove_prefix(feature.size());
      require(feature);
    }
  }
  // Constants are laid out here for the instructions that multiply bytes, or halves.
  const auto has = [&](std::string_view kernel) { return library.find(kernel) != library.npos; };
  const bool widest = simd::level() == std::rbegin(simd::levels)->level, bytes = has("ByteForm");
  const bool halves =
      has("split_product") && (types.contains(DType::float16) || types.contains(DType::bfloat16));
  const bool vnni = bytes && simd::dispatch([]<class Arch>(Arch) { return simd::has_dot_bytes<Arch>(); }),
             amx = (bytes || halves) &&
                   simd::dispatch([]<class Arch>(Arch) { return simd::has_tiles<Arch>(); });
  if (vnni) require(widest ? "avx512vnni" : "avxvnni");
  if (amx) require("amx-tile"), require("amx-int8"), require("amx-bf16");

  std::string text = str_cat("// Compiled by tenon ", library_version, " for the level ", name,
                             ":\n//   g++ -std=c++20 -O2", flags, "\n#pragma once\n\n");
  if (!condition.empty())
    text += str_cat("#if ", condition, "\n#error \"this header needs", flags, "\"\n#endif\n\n");
  const std::string uses = str_cat(space, "_TENON_USES_");
  text += str_cat("#define ", uses, "VNNI ", vnni ? 1 : 0, "\n#define ", uses, "AMX ", amx ? 1 : 0, "\n\n");
  text += str_cat("namespace ", space, " {\ninline namespace ", unit, " {}\n}  // namespace ", space, "\n\n");
  text += str_cat(library, "#undef ", uses, "VNNI\n#undef ", uses, "AMX\n");
  text += "\n#include <bit>\n#include <cstddef>\n#include <cstdint>\n#include <cstring>\n";
  text += str_cat("\nnamespace ", enclosing,
                  " {\n\nstatic_assert(tenon::simd::detail::native == ", "tenon::simd::Level::", name,
                  ", \"compiled for the level ", name, "\");\n\n",
                  "using tenon::Shape;\nusing tenon::TensorView;\n\n");
  for (const ModelPart& p : parts) {
    const bool within = p.name != space;
    text += within ? str_cat("namespace ", p.name, " {\n\n", p.text, "\n}  // namespace ", p.name, "\n\n")
                   : p.text;
  }
  return text + str_cat("\n}  // namespace ", enclosing, "\n");
}

CompiledModel compile(std::span<const HeaderText> files, const Model& model, const CompileOptions& options) {
  ModelPart part = compile_part(model, options);
  return {assemble(files, std::span(&part, 1), part.name), std::move(part.weights)};
}

}  // namespace tenon::TENON_ABI