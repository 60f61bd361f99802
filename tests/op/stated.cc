#include "tests/op/stated.hpp"

#include "tenon/graph/session.hpp"

namespace tenon::test {

std::vector<Value> run(const Stated& stated, const std::vector<Value>& in, int outputs) {
  Graph g;
  std::vector<ValueId> ids;
  Feeds feeds;
  std::vector<std::string> names, results;
  for (std::size_t k = 0; k < in.size(); ++k) names.push_back(str_cat("in", k));
  for (int k = 0; k < outputs; ++k) results.push_back(str_cat("out", k));
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k]) {
      ids.push_back(-1);
      continue;
    }
    const op::Info i = op::info_of(in[k]);
    ids.push_back(g.add_input(names[k], i.type, i.dims));
    feeds.emplace_back(names[k], in[k]);
  }
  const std::vector<ValueId> made = g.add_node("n", stated.op, ids, results);
  for (int k = 0; k < outputs; ++k)
    g.add_output(results[static_cast<std::size_t>(k)], made[static_cast<std::size_t>(k)]);
  const bool lowered = g.nodes().size() != 1 || g.nodes()[0].op.spec().since[0] != stated.op.spec().since[0];
  Outputs out = Session(std::move(g)).run(feeds);
  if (lowered && stated.op.attribute_inputs().empty()) {
    std::vector<const Value*> operands;
    for (const Value& v : in) operands.push_back(&v);
    op::Context context;
    const std::vector<Value> own =
        op::evaluate(stated.op, context, operands, static_cast<std::size_t>(outputs));
    for (std::size_t k = 0; k < own.size(); ++k) check_equal(out[k], own[k], 1e-6, 1e-7);
  }
  return std::move(out.values());
}

void check(const Stated& stated, const std::vector<Value>& in, const std::vector<Value>& expected,
           double rtol, double atol) {
  const std::vector<Value> out = run(stated, in, static_cast<int>(expected.size()));
  for (std::size_t o = 0; o < out.size(); ++o)
    if (expected[o]) check_equal(out[o], expected[o], rtol, atol);
}

void check_fails(const Stated& stated, const std::vector<Value>& in, std::string_view text, int outputs) {
  check_throws([&] { return run(stated, in, outputs); }, text);
}

/// What the rule says of the result, once the graph has the operator in its newest form.
op::Info infer(const Stated& stated, const std::vector<op::Info>& in) {
  Graph g;
  std::vector<ValueId> ids;
  for (const op::Info& i : in) ids.push_back(g.add_input({}, i.type, i.dims));
  const std::string name[] = {"out"};
  return g.entry(g.add_node("n", stated.op, ids, name)[0]).info;
}

}  // namespace tenon::test
