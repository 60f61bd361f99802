// The errors of rules in terms of the graph that a program was made of, whatever passes made of its nodes.
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/program.hpp"

namespace tenon::TENON_ABI::detail {

/// What is known of a graph's values in a run.
class KnownValues {
 public:
  /// known(v) is the type and extents of a value where a plan or a run has them, else not present.
  template <class F>
  KnownValues(const Graph& graph, F known) : graph_(graph), small_(graph.values().size()) {
    for (ValueId v = 0; v < static_cast<ValueId>(graph.values().size()); ++v) {
      const Graph::ValueEntry& e = graph.entry(v);
      infos_.push_back(known(v));
      const bool present = infos_.back().present();
      if (!present && e.source != Graph::Source::node)
        infos_.back() = e.content ? op::info_of(e.content) : e.info;
      const bool replaced = present && e.source == Graph::Source::input;
      if (!replaced && e.content.is_tensor() && e.content.tensor().bytes() <= Graph::small_bytes)
        keep(v, e.content);
    }
  }

  /// Error of the first of the nodes that make `needed` values whose rule refuses its operands.
  void check(const std::vector<bool>& needed) {
    for (const Graph::Node& n : graph_.nodes())
      if (Graph::makes(n, needed)) check(n);
  }

 private:
  op::Info& info(ValueId v) { return infos_[static_cast<std::size_t>(v)]; }
  Value& small(ValueId v) { return small_[static_cast<std::size_t>(v)]; }
  void keep(ValueId v, const Value& content) {
    small(v) = content.tensor().aligned() ? content : Value(content.tensor().clone());
    info(v) = op::info_of(small(v));
  }

  void check(const Graph::Node& n) {
    std::vector<op::Info> in, out(n.outputs.size());
    for (ValueId v : n.inputs) in.push_back(v < 0 ? op::Info{} : info(v));
    // A body that refuses may be one that does not run.
    const op::Message m =
        attempt<Error>([&] { return n.op.infer(in, out); }, [](const Error&) { return op::Message{}; });
    if (!m.empty())
      raise(m.code(), describe(n), m.view(), " [", op::describe_operands(n.op.spec(), in, n.op.version()),
            "]");
    for (std::size_t k = 0; k < out.size(); ++k) {
      op::Info& i = info(n.outputs[k]);
      if (out[k].present() && (!i.present() || (out[k].dims.known() && !i.dims.known()))) i = out[k];
      if (!i.present()) i = graph_.entry(n.outputs[k]).info;
      i.data = nullptr;
    }
    attempt<Error>([&] { compute(n); }, [](const Error&) {});
  }
  /// Computes small results of small constants: scales, from which extents follow.
  void compute(const Graph::Node& n) {
    const auto is_small = [&](ValueId v) {
      const op::Info& i = info(v);
      return i.type.kind == Kind::tensor && i.type.element != DType::string && i.dims.known() &&
             packed_bytes(element_count(i.dims.extents()), i.type.element) <= Graph::small_bytes;
    };
    if (!n.op.spec().deterministic || n.op.takes_graphs() || !std::ranges::all_of(n.outputs, is_small))
      return;
    std::vector<const Value*> in;
    for (ValueId v : n.inputs) {
      if (v >= 0 && !small(v)) return;
      in.push_back(v < 0 ? nullptr : &small(v));
    }
    op::Context context;
    const std::vector<Value> results = op::evaluate(n.op, context, in, n.outputs.size());
    for (std::size_t k = 0; k < results.size(); ++k)
      if (results[k].is_tensor()) keep(n.outputs[k], results[k]);
  }

  const Graph& graph_;
  std::vector<op::Info> infos_;
  std::vector<Value> small_;  // the small ones that do not depend on the run
};

/// Error of the node of the graph whose rule refuses its operands in a run of the program. known(v) is as
/// above. Returns if all rules accept, or the graph no longer exists.
template <class F>
[[gnu::cold]] void raise_refusal(const Program& program, F known) {
  if (const std::shared_ptr<const Graph> graph = program.origin())
    KnownValues(*graph, known).check(graph->needed_by(program.requested()));
}

/// Error of a program's node whose rule refuses the operands `in`; of the graph's node, if one is found.
template <class F>
[[noreturn, gnu::cold]] void raise_refusal(const Program& program, const Graph::Node& n,
                                           std::span<const op::Info> in, const op::Message& m, F known) {
  raise_refusal(program, known);
  raise(m.code(), describe(n), m.view(), " [", op::describe_operands(n.op.spec(), in, n.op.version()), "]");
}

}  // namespace tenon::TENON_ABI::detail
