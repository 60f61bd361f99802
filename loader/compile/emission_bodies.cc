// Nodes that run bodies. The text of a body stands where its node is.
#include "loader/compile/emission.hpp"
#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/controlflow/loop.hpp"

namespace tenon::TENON_ABI::emission {

/// Makes an emission write a body's program. The destructor returns to the program around.
class Emission::Inner {
 public:
  Inner(Emission& e, const Program& program, Plan plan, std::vector<std::string> operands,
        std::vector<Target> targets, const std::string& where)
      : e_(e),
        program_(std::exchange(e.program_, &program)),
        plan_(std::exchange(e.plan_, std::move(plan))),
        operands_(std::exchange(e.operands_, std::move(operands))),
        targets_(std::exchange(e.targets_, std::move(targets))),
        where_(std::exchange(e.where_, e.where_ + where)),
        base_(std::exchange(e.base_, e.free_)),
        free_(e.free_) {
    e.free_ += e.plan_.arena_bytes;
    e.arena_bytes_ = std::max(e.arena_bytes_, e.free_);
  }
  ~Inner() {
    e_.written_.emplace_back(std::exchange(e_.program_, program_), std::exchange(e_.plan_, std::move(plan_)));
    e_.operands_ = std::move(operands_);
    e_.targets_ = std::move(targets_);
    e_.where_ = std::move(where_);
    e_.base_ = base_;
    e_.free_ = free_;
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

 private:
  Emission& e_;
  const Program* program_;
  Plan plan_;
  std::vector<std::string> operands_;
  std::vector<Target> targets_;
  std::string where_;
  int64_t base_, free_;
};

Emission::Plan Emission::plan_of_body(const Graph::Node& n, std::string_view attribute) const {
  try {
    return bodies_.plan(body_of(n, attribute).program(), bodies_.given(n, attribute));
  } catch (const Error& e) {
    throw Refused{str_cat("no run of ", attribute, " is possible: ", e.what())};
  }
}

std::string Emission::body(const Graph::Node& n, std::string_view attribute,
                           const std::vector<std::string>& in, std::vector<Target>& out) {
  const Program& program = body_of(n, attribute).program();
  Plan plan = plan_of_body(n, attribute);
  std::vector<std::string> operands(plan.values.size());
  for (std::size_t k = 0; k < program.given().size(); ++k) {
    const Program::Given& g = program.given()[k];
    operands[static_cast<std::size_t>(g.value)] = g.outer < 0 ? in[k] : pointer(g.outer);
  }
  out.resize(program.outputs().size(), {.anyhow = false});
  for (std::size_t o = 0; o < out.size(); ++o)
    if (const op::Info& i = plan.values[static_cast<std::size_t>(program.outputs()[o])].info;
        out[o].at.empty() && is_dense(i))
      out[o].at = take(bytes_of(i));
  expect_room(plan.arena_bytes);
  const Inner inner(*this, program, std::move(plan), std::move(operands), out,
                    str_cat(tenon::detail::describe(n), ", ", attribute, ": "));
  std::string text;
  if (!nodes(text)) return {};
  text += results();
  out = targets_;
  return indented(text);
}

std::string Emission::indented(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines += str_cat("  ", text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string Emission::with_bodies(const Graph::Node& n) {
  if (n.op.as<op::If>() != nullptr) return branches(n);
  if (n.op.as<op::Loop>() != nullptr) return loop(n);
  if (const auto* s = n.op.as<op::Scan>()) return scan(n, *s);
  if (const auto* s = n.op.as<op::Scan_8>()) return batch_scan(n, *s);
  throw Refused{"it runs a body"};
}

void Emission::expect_placed(const Graph::Node& n) const {
  for (std::size_t k = 0; k < n.outputs.size(); ++k) {
    const op::Info& i = entry(n.outputs[k]).info;
    if (i.type.kind != Kind::tensor || i.type.element == DType::string)
      throw Refused{str_cat("result ", k, " is no tensor of numbers")};
    if (!i.dims.known()) throw Refused{str_cat("the extents of result ", k, " are known in the run only")};
  }
}

std::string Emission::branches(const Graph::Node& n) {
  constexpr std::string_view names[] = {"else_branch", "then_branch"};
  const auto written = [&](std::string_view attribute) {
    std::vector<Target> out;
    for (ValueId v : n.outputs) out.push_back({pointer(v)});
    return body(n, attribute, {}, out);
  };
  const std::string note = comment(tenon::detail::describe(n));
  const op::Info& condition = entry(n.inputs[0]).info;
  const auto* const stored = static_cast<const bool*>(condition.data);
  if (stored != nullptr || (condition.propagated.known() && condition.propagated[0].known())) {
    const std::string_view taken = names[stored != nullptr ? *stored : condition.propagated[0].value() != 0];
    expect_placed(n);
    return str_cat("  {  // ", note, ", ", taken, "\n", written(taken), "  }\n");
  }
  const Plan plans[] = {plan_of_body(n, names[0]), plan_of_body(n, names[1])};
  for (std::size_t k = 0; k < n.outputs.size(); ++k) {
    const Dims* dims[2];
    for (std::size_t b = 0; b < 2; ++b)
      dims[b] =
          &plans[b].values[static_cast<std::size_t>(body_of(n, names[b]).program().outputs()[k])].info.dims;
    if (dims[0]->known() && dims[1]->known() && !(*dims[0] == *dims[1]))
      throw Refused{str_cat("result ", k, " has the extents ", to_string(dims[1]->extents()), " in ",
                            names[1], ", ", to_string(dims[0]->extents()), " in ", names[0])};
  }
  expect_placed(n);
  note_type(n.inputs[0]);
  const std::string yes = written(names[1]), no = written(names[0]);
  return str_cat("  if (at<const bool>(", pointer(n.inputs[0]), ").item()) {  // ", note, "\n", yes,
                 "  } else {\n", no, "  }\n");
}

}  // namespace tenon::TENON_ABI::emission
