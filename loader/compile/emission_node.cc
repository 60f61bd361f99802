// Nodes: calls of operators, small products, and the loops of FusedElementwise.
#include <algorithm>

#include "loader/compile/compile_operator.hpp"
#include "loader/compile/emission.hpp"
#include "tenon/graph/passes/pack_matmul.hpp"
#include "tenon/op/nn/dropout.hpp"
#include "tenon/op/tensor/identity.hpp"

namespace tenon::TENON_ABI::emission {

using namespace passes;

std::string Emission::operator_name(const AnyOperator& op, std::string& before) {
  OperatorText text = text_of(op, registry_, constants_);
  headers_.insert(text.headers.begin(), text.headers.end());
  types_.insert(text.types.begin(), text.types.end());
  if (text.constant) return constants_.op(text.expression);
  const std::string made = local("local");
  before += str_cat("  const auto ", made, " = ", text.expression, ";\n");
  return made;
}

std::string Emission::node(const Graph::Node& n, Action action) {
  if (action != Action::skip && n.op.takes_graphs()) return with_bodies(n);
  switch (action) {
    case Action::skip: return {};
    case Action::rename: operands_[static_cast<std::size_t>(n.outputs[0])] = pointer(n.inputs[0]); return {};
    case Action::check:
    case Action::infer: throw Refused{"extents are known in the run only"};
    case Action::fresh: return fresh(n);
    case Action::compute: break;
  }
  if (const ValueId v = key_count(n); v >= 0 && parameter(v) == nullptr)
    throw Refused{"its working memory depends on data"};
  if (!n.op.spec().deterministic && !is_repeatable(n)) throw Refused{"it draws random numbers"};
  if (n.op.spec().linked) throw Refused{"another library does its work"};
  std::string before;
  if (const auto* f = n.op.as<FusedElementwise>()) return apart(n, elementwise(n, *f));
  if (std::string small = small_product(n); !small.empty()) return small;
  const std::string op = operator_name(n.op, before);
  std::string in, out;
  for (ValueId v : n.inputs) in += str_cat(in.empty() ? "" : ", ", view(v, true));
  for (ValueId v : n.outputs)
    out += str_cat(out.empty() ? "" : ", ", entry(v).place == Place::none ? "Absent{}" : view(v, false));
  return apart(n, str_cat(before, "  compute(", op, ", operands(", in, "), operands(", out, "));  // ",
                          comment(tenon::detail::describe(n)), "\n"));
}

std::string Emission::apart(const Graph::Node& n, const std::string& text) const {
  constexpr int64_t large = 4096;  // elements whose work hides the time of a call
  int64_t elements = 0;
  for (const std::vector<ValueId>* values : {&n.inputs, &n.outputs})
    for (const ValueId v : *values)
      if (v >= 0 && entry(v).info.dims.known()) elements += element_count(entry(v).info.dims.extents());
  return elements < large ? text : str_cat("  apart([&] {\n", text, "  });\n");
}

std::string Emission::small_product(const Graph::Node& n) {
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

std::string Emission::fresh(const Graph::Node& n) {
  if (!n.op.as<op::Identity>() || !is_dense(entry(n.inputs[0]).info))
    throw Refused{"it makes its results in the run: their extents depend on data, or they are no tensors"};
  const ValueId x = n.inputs[0], y = n.outputs[0];
  expect_dense(x);
  std::string from = pointer(x);
  const auto output = std::ranges::find(program_->outputs(), y);
  if (output != program_->outputs().end()) {
    const std::string& to = targets_[static_cast<std::size_t>(output - program_->outputs().begin())].at;
    operands_[static_cast<std::size_t>(y)] = to;
    if (bytes(x) == 0) return {};
    return str_cat("  std::memcpy(", to, ", ", from, ", ", bytes(x), ");  // ",
                   comment(tenon::detail::describe(n)), "\n");
  }
  if (entry(x).place == Place::arena) throw Refused{"it hands on a value whose memory has another use"};
  operands_[static_cast<std::size_t>(y)] = std::move(from);
  return {};
}

std::string Emission::elementwise(const Graph::Node& n, const FusedElementwise& f) {
  const int64_t size = element_count(entry(n.outputs[0]).info.dims.extents());
  const int64_t first = free_;
  take(static_cast<int64_t>(f.buffers.size()) * FusedElementwise::tile_bytes);
  std::string before;
  std::string text =
      str_cat("  for (std::int64_t from = 0; from < ", size, "; from += ", FusedElementwise::tile, ") {  // ",
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
        in.push_back(f.whole[at] ? str_cat("part<const ", type, ">(", pointer(n.inputs[at]), ", from, size)")
                                 : str_cat("at<const ", type, ">(", pointer(n.inputs[at]), ")"));
      } else {
        const int buffer = f.steps[static_cast<std::size_t>(~k)].buffer;
        in.push_back(tile(f, buffer, first, true, n));
      }
    }
    const std::string to = tile(f, s.buffer, first, false, n);
    text += s.chain.empty() ? str_cat("    compute(", operator_name(s.op, before), ", operands(", joined(in),
                                      "), operands(", to, "));\n")
                            : chain(s.chain, in, to);
  }
  return before + text + "  }\n";
}

std::string Emission::chain(const std::vector<FusedElementwise::Link>& links,
                            const std::vector<std::string>& in, const std::string& to) {
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

std::string Emission::joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += str_cat(text.empty() ? "" : ", ", part);
  return text;
}

std::string Emission::tile(const FusedElementwise& f, int buffer, int64_t first, bool input,
                           const Graph::Node& n) {
  const auto b = static_cast<std::size_t>(buffer);
  const bool last = b == f.buffers.size();
  const DType type = last ? f.element : f.buffers[b];
  types_.insert(type);
  return str_cat("part<", input ? "const " : "", type_name(type), ">(",
                 last ? pointer(n.outputs[0])
                      : str_cat("arena + ", first + static_cast<int64_t>(b) * FusedElementwise::tile_bytes),
                 last ? ", from, size)" : ", 0, size)");
}

bool Emission::is_repeatable(const Graph::Node& n) const {
  if (const auto* old = n.op.as<op::Dropout_1>()) return old->is_test != 0;
  const auto* dropout = n.op.as<op::Dropout>();
  if (dropout == nullptr) return false;
  const ValueId training = n.inputs.size() > 2 ? n.inputs[2] : -1;
  if (training < 0 || dropout->seed) return true;
  const Value& stated = program_->stored(training);
  return stated && !*static_cast<const bool*>(stated.tensor().data());
}

}  // namespace tenon::TENON_ABI::emission
