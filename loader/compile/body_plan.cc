#include "loader/compile/body_plan.hpp"

#include "loader/compile/compile_words.hpp"

namespace tenon::TENON_ABI::emission {

namespace {

// A body in the scope of a plan.
class ScopedBody final : public op::Body {
 public:
  ScopedBody(const BodyPlans& plans, const tenon::detail::Plan& around, const GraphBody& body,
             BodyPlans::Infos& given)
      : plans_(plans), around_(around), body_(body), given_(given) {}
  int inputs() const override { return body_.inputs(); }
  int outputs() const override { return body_.outputs(); }
  Dims declared_dims(int input) const override { return body_.declared_dims(input); }
  std::vector<op::Info> infer(std::span<const op::Info> inputs) const override {
    given_.clear();
    for (const Program::Given& g : body_.program().given()) {
      const std::size_t k = given_.size();
      op::Info i = g.info;
      if (k < inputs.size() && inputs[k].present()) i = inputs[k];
      if (g.outer >= 0) i = around_.values[static_cast<std::size_t>(g.outer)].info;
      i.data = nullptr;
      given_.push_back(std::move(i));
    }
    const tenon::detail::Plan plan = plans_.plan(body_.program(), given_);
    std::vector<op::Info> out;
    for (ValueId v : body_.program().outputs())
      out.push_back(tenon::detail::without_data(plan.values[static_cast<std::size_t>(v)].info));
    return out;
  }
  std::vector<Value> run(op::Context& scope, std::span<const Value> inputs) const override {
    return body_.run(scope, inputs);
  }

 private:
  const BodyPlans& plans_;
  const tenon::detail::Plan& around_;
  const GraphBody& body_;
  BodyPlans::Infos& given_;
};

const GraphBody* graph_of(const op::BodyRef& body) {
  return body ? dynamic_cast<const GraphBody*>(body->capturing()) : nullptr;
}

}  // namespace

const GraphBody& body_of(const GraphNode& n, std::string_view attribute) {
  for (const op::AttributeInfo& a : n.op.attributes())
    if (const auto* body = std::get_if<op::BodyRef>(&a.value); body != nullptr && a.name == attribute)
      if (const GraphBody* graph = graph_of(*body)) return *graph;
  throw Refused{"it runs a body that is no graph"};
}

op::Message BodyPlans::infer(const tenon::detail::Plan& plan, const GraphNode& n,
                             std::span<const op::Info> in, std::span<op::Info> out) const {
  const AnyOperator scoped = n.op.with_attributes([&](std::string_view name, op::AttributeValue& value) {
    auto* const body = std::get_if<op::BodyRef>(&value);
    const GraphBody* const graph = body == nullptr ? nullptr : graph_of(*body);
    if (graph == nullptr) return false;
    Infos& given = given_[{&n, std::string(name)}];
    given.clear();
    body->body = std::make_shared<const ScopedBody>(*this, plan, *graph, given);
    return true;
  });
  op::Message m = scoped.infer(in, out);
  // What is missing is missing in each run: the text is for all of them.
  for (op::Info& i : out) i.provisional = false;
  return m;
}

const BodyPlans::Infos& BodyPlans::given(const GraphNode& n, std::string_view attribute) const {
  static const Infos none;
  const auto it = given_.find(std::pair(&n, std::string(attribute)));
  return it == given_.end() ? none : it->second;
}

}  // namespace tenon::TENON_ABI::emission
