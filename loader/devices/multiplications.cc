#include "loader/devices/multiplications.hpp"

#include "tenon/base/platform/overflow.hpp"
#include "tenon/devices/work.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr int64_t most_multiplications = int64_t{1} << 42;

int64_t times(int64_t a, int64_t b) { return tenon::detail::bounded_product(a, b, most_multiplications); }

int64_t known_or_one(Dim d) { return d.known() ? d.value() : 1; }

constexpr int most_depth = 4;  // of functions and bodies

Product product_at_depth(const Graph& graph, const Graph::Node& node, int depth);

int64_t sum_of_products(const Graph& graph, int depth) {
  int64_t sum = 0;
  for (const Graph::Node& n : graph.nodes())
    sum = std::min(sum + product_at_depth(graph, n, depth).multiplications, most_multiplications);
  return sum;
}

class Estimate final : public op::WorkEstimate {
 public:
  Estimate(const devices::detail::NodeInfos& infos, int depth)
      : WorkEstimate(infos.in, infos.out), depth_(depth) {}
  double body(const op::BodyRef& body) const override {
    const CapturingBody* const graph = body && depth_ < most_depth ? body->capturing() : nullptr;
    return graph == nullptr ? 0 : static_cast<double>(sum_of_products(graph->graph(), depth_ + 1));
  }

 private:
  int depth_;
};

Product product_at_depth(const Graph& graph, const Graph::Node& node, int depth) {
  const devices::detail::NodeInfos infos(graph, node);
  if (const auto stated = node.op.multiplications(Estimate(infos, depth)))
    return {static_cast<int64_t>(std::min(*stated, static_cast<double>(most_multiplications)))};
  const auto loops = devices::detail::loops_of(graph, node);
  const op::WorkLoop* product = nullptr;
  bool grouped = false;
  for (const op::WorkLoop& loop : loops) {
    if (loop.in.size() < 2 || loop.lookup.operand >= 0) continue;
    if (loop.out.empty()) product = &loop, grouped = false;
    else if (product == nullptr && !loop.attributes.empty()) product = &loop, grouped = true;
  }
  const bool function = (product == nullptr || grouped) && node.op.lowers();
  if (const auto body = function && depth < most_depth ? graph.function_of(node) : std::nullopt)
    return {sum_of_products(*body, depth + 1)};
  if (product == nullptr || node.outputs[0] < 0) return {};
  const auto axis_in = [](const op::WorkLoop& loop, int operand, int axis) {
    return std::ranges::any_of(loop.in,
                               [&](const op::LoopAxis& a) { return a.operand == operand && a.axis == axis; });
  };
  // An element of the result takes as many products as the second operand has elements for it: those along
  // all axes that the result does not loop over. The same holds for an element of the first operand. Windows
  // that move by more than one element leave out some of the products that one of the two counts.
  const int first = product->in[0].operand, second = product->in[1].operand;
  const op::Info& x_info = graph.entry(node.inputs[static_cast<std::size_t>(first)]).info;
  const Dims &x = x_info.dims,
             &weights = graph.entry(node.inputs[static_cast<std::size_t>(second)]).info.dims;
  int64_t by_result = times(1, elements_of(graph.entry(node.outputs[0]).info)),
          by_first = times(1, elements_of(x_info));
  bool windows = false;
  for (int axis = 0; axis < weights.rank(); ++axis) {
    const auto loop = std::ranges::find_if(loops, [&](const auto& l) { return axis_in(l, second, axis); });
    const int64_t extent = known_or_one(weights[axis]);
    if (loop == loops.end() || loop->out.empty()) by_result = times(by_result, extent);
    if (loop == loops.end() || op::WorkLoop::find(loop->in, first) == nullptr)
      by_first = times(by_first, extent);
    windows = windows || (loop == loops.end() && extent > 1);
  }
  Product p{.multiplications = std::min(by_result, by_first)};
  // Windows of one element slide along axes of the first operand that are in no loop.
  for (int axis = 0; axis < x.rank(); ++axis)
    windows = windows || (known_or_one(x[axis]) > 1 && std::ranges::none_of(loops, [&](const auto& l) {
                            return axis_in(l, first, axis);
                          }));
  p.windows =
      windows && graph.entry(node.inputs[static_cast<std::size_t>(second)]).source == Graph::Source::constant;
  return p;
}

}  // namespace

int64_t elements_of(const op::Info& info) {
  if (info.type.kind != Kind::tensor || !info.dims.ranked()) return 0;
  int64_t count = 1;
  for (const Dim d : info.dims)
    if (tenon::detail::mul_overflow(count, known_or_one(d), &count)) return INT64_MAX / 64;
  return std::min<int64_t>(count, INT64_MAX / 64);
}

int64_t bytes_of(const op::Info& info) { return packed_bytes(elements_of(info), info.type.element); }

Product product_of(const Graph& graph, const Graph::Node& node) { return product_at_depth(graph, node, 0); }

}  // namespace tenon::TENON_ABI::loader
