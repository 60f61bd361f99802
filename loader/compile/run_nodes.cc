#include "loader/compile/run_nodes.hpp"

#include <algorithm>

#include "loader/compile/feeds.hpp"
#include "tenon/op/framework/evaluate.hpp"

namespace tenon::TENON_ABI::emission {

void run_nodes(const Program& program, const tenon::detail::Plan& plan, const Feeds& feeds, int number) {
  const auto at = [](auto& list, ValueId v) -> auto& { return list[static_cast<std::size_t>(v)]; };
  std::vector<Value> values(plan.values.size());
  const auto fill = [&](ValueId v) {
    const op::Info& i = at(plan.values, v).info;
    if (i.type.kind == Kind::tensor && i.type.element != DType::string && i.dims.known())
      at(values, v) = filled(i, number);
  };
  for (const Program::Given& g : program.given()) {
    const auto fed = std::ranges::find(feeds, program.entry(g.value).name, &Feeds::value_type::first);
    if (g.outer < 0 && fed != feeds.end()) at(values, g.value) = fed->second;
    else fill(g.value);
  }
  for (std::size_t v = 0; v < values.size(); ++v)
    if (program.stored(static_cast<ValueId>(v))) values[v] = program.stored(static_cast<ValueId>(v));
  op::Context context;
  for (std::size_t s = 0; s < program.nodes().size(); ++s) {
    const Graph::Node& n = program.nodes()[s];
    if (n.op.takes_graphs()) {
      for (ValueId v : n.outputs) fill(v);
    } else {
      std::vector<const Value*> in;
      for (ValueId v : n.inputs) in.push_back(v < 0 ? nullptr : &at(values, v));
      std::vector<Value> out;
      tenon::detail::attempt<Error>([&] { out = op::evaluate(n.op, context, in, n.outputs.size()); },
                                    [&](const Error& e) { tenon::detail::rethrow_at(n, e); });
      for (std::size_t k = 0; k < out.size(); ++k) at(values, n.outputs[k]) = std::move(out[k]);
    }
    for (ValueId v : n.inputs)
      if (v >= 0 && at(plan.values, v).last <= static_cast<int>(s)) at(values, v) = Value();
  }
}

}  // namespace tenon::TENON_ABI::emission
