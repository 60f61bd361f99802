// Functions of one tensor of bytes: tables of 256 results.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "tenon/graph/passes/qdq/bytes.hpp"
#include "tenon/op/math/mul.hpp"

namespace tenon::TENON_ABI::passes::qdq_detail {

/// The nodes between a tensor of 8-bit integers and a value whose elements each depend only on the integer at
/// the same place.
class FunctionsOfBytes {
 public:
  explicit FunctionsOfBytes(const Program& program) : program_(program) {}

  /// Adds the nodes that compute a value. False if it depends on anything else, or on too many nodes.
  bool take(ValueId v, std::size_t depth = 0) {
    if (numbers_.contains(v)) return true;
    if (const auto x = dequantized_bytes(program_, v)) {
      numbers_[v] = -1;
      return leaves_.emplace_back(v, *x), reaches(x->v);
    }
    const int m = program_.maker(v);
    if (m < 0 || depth == most || nodes_.size() == most || !fits(program_, m)) return false;
    const Graph::Node& n = program_.node(m);
    const bool function = n.op.elements() == op::Elements::function;
    if (!is_elementwise(n)) return false;
    // A number must not add axes.
    const auto varies = [&](ValueId u) { return u >= 0 && !program_.stored(u); };
    const auto x = std::ranges::find_if(n.inputs, varies);
    if (x == n.inputs.end()) return false;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueId u = n.inputs[k];
      if (varies(u) ? !take(u, depth + 1) : u >= 0 && !(function && k > 0) && !number(program_, u, *x))
        return false;
    }
    numbers_[v] = -1;
    nodes_.push_back(m);
    return true;
  }
  const std::vector<int>& nodes() const { return nodes_; }  ///< in order
  ValueId bytes() const { return root_; }                   ///< -1 without any

  /// The value for each of the bytes: a constant of 256 numbers.
  ValueId results(Program& program, ValueId of) {
    for (const auto& [v, x] : leaves_) {
      Tensor<float> restored{Extents{256}};
      const std::vector<const ByteTable*> path = tables_to(x.v);
      for (int k = 0; k < 256; ++k) {
        auto byte = static_cast<uint8_t>(k);
        for (auto t = path.rbegin(); t != path.rend(); ++t) byte = (*t)->table[byte];
        restored[k] = static_cast<float>((x.as.is_signed() ? static_cast<int8_t>(byte) : byte) - x.as.zero) *
                      x.as.scale;
      }
      numbers_[v] = program.add_constant({}, AnyTensor(std::move(restored)));
    }
    for (const int m : nodes_) {
      const AnyOperator op(program.node(m).op);
      std::vector<ValueId> inputs = program.node(m).inputs;
      for (ValueId& u : inputs)
        if (u >= 0 && numbers_.contains(u)) u = numbers_[u];
      numbers_[program.node(m).outputs[0]] = program.add_node(m, op, std::move(inputs))[0];
    }
    return numbers_[of];
  }

 private:
  static constexpr std::size_t most = 64;

  /// Whether these bytes are the root, or are computed from it by tables.
  bool reaches(ValueId v) {
    while (const Graph::Node* n = made_by<ByteTable>(program_, v)) v = n->inputs[0];
    if (root_ < 0) root_ = v;
    return root_ == v;
  }
  /// Last first.
  std::vector<const ByteTable*> tables_to(ValueId v) const {
    std::vector<const ByteTable*> path;
    for (; v != root_; v = program_.node(program_.maker(v)).inputs[0])
      path.push_back(program_.node(program_.maker(v)).op.as<ByteTable>());
    return path;
  }

  const Program& program_;
  std::map<ValueId, ValueId> numbers_;  // the 256 numbers of a value, once computed
  std::vector<std::pair<ValueId, Bytes>> leaves_;
  std::vector<int> nodes_;
  ValueId root_ = -1;
};

/// A QuantizeLinear after functions of one byte: a table of 256 results. Without functions, the table changes
/// the scale.
inline void fuse_functions(Program& program, int number, const ByteScale& as) {
  const ValueId v = program.node(number).inputs[0];
  FunctionsOfBytes functions(program);
  if (!functions.take(v)) {
    const int m = program.maker(v);  // sums and products are reported elsewhere
    if (functions.bytes() >= 0 && m >= 0 && !is_sum(program.node(m)) && !program.node(m).op.as<op::Mul>())
      program.skipped(number, "it quantises no function of one tensor of 8 bits");
    return;
  }
  if (functions.bytes() < 0) return;
  const AnyTensor* results = constant_floats(program, functions.results(program, v));
  if (results == nullptr || results->dtype() != DType::float32 || results->size() != 256) return;
  ByteTable t{.x = program.info(functions.bytes()).type.element, .y = as.type};
  for (int k = 0; k < 256; ++k) {
    const float least = static_cast<float>(as.least() - as.zero), most = least + 255;
    float q = results->view().as<float>()[k] / as.scale;
    q = q > least ? q : least;  // NaN too
    q = std::nearbyint(q < most ? q : most) + static_cast<float>(as.zero);
    t.table[static_cast<std::size_t>(k)] = static_cast<uint8_t>(static_cast<int32_t>(q));
  }
  const ValueId y = program.node(number).outputs[0];
  bool same = t.x == t.y && !program.is_output(y) && !program.is_captured(y);
  for (std::size_t k = 0; k < 256; ++k) same &= t.table[k] == k;
  if (same) {
    program.applied(number, "the bytes are there already");
    return program.redirect(y, functions.bytes());
  }
  program.applied(functions.nodes().empty() ? number : functions.nodes().front(), "a table of 256 results");
  program.replace(number, AnyOperator::make(t), {functions.bytes()});
}

}  // namespace tenon::TENON_ABI::passes::qdq_detail
