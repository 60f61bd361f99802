// What operators state of how their work divides over devices, held to random operands: a loop that says
// anything wrong fails.
#include <doctest/doctest.h>

#include <set>

#include "tests/devices/sharded.hpp"
#include "tests/loader/draw_recorded.hpp"

namespace tenon::test {
namespace {

// --- uses ---

/// Finite numbers of moderate size in place of others, so that results can be compared.
AnyTensor moderate(Draw& draw, const AnyTensor& t) {
  if (!is_float(t.dtype())) return t;
  std::vector<float> numbers(static_cast<std::size_t>(t.size()));
  convert_n(DType::float32, numbers.data(), t.dtype(), t.data(), t.size());
  for (float& x : numbers)
    if (const float size = std::abs(x); !(size == 0 || (size >= 0x1p-10f && size <= 100)) || draw.one_in(2))
      x = static_cast<float>(draw.below(65) - 32) / 32;
  AnyTensor y = AnyTensor::uninitialized(t.dtype(), Extents(t.extents()));
  convert_n(y.dtype(), y.out().data(), DType::float32, numbers.data(), y.size());
  return y;
}

DrawnUse draw_use(Draw& draw, const OperatorClass& c) {
  const int version = c.spec->latest();
  WantedType any;
  if (const auto& uses = uses_of(c); !uses.empty()) return draw_varied(draw, c, version, uses, any);
  AnyOperator op = draw_operator(draw, c, version, any, [] { return op::AttributeValue(); });
  std::vector<Value> in = draw_operands(draw, *c.spec, version, any);
  return {std::move(op), std::move(in), draw_results(draw, *c.spec)};
}

/// A graph of one node. Rules read many integers, so that these are constants more often than not.
struct OneNode {
  Graph graph{};
  Feeds feeds{};

  OneNode(Draw& draw, const DrawnUse& use) {
    std::vector<ValueId> in;
    std::vector<Value> given;
    for (const Value& v : use.in) {
      const std::string name = str_cat("x", in.size());
      if (!v) {
        in.push_back(-1);
        continue;
      }
      Value x = v.is_tensor() ? Value(moderate(draw, v.tensor())) : v;
      const bool whole = x.type() == Type(DType::int64) || x.type() == Type(DType::int32);
      if (v.is_tensor() && draw.one_in(4) != whole) {
        in.push_back(graph.add_constant(name, x));
      } else {
        in.push_back(graph.add_input(name, x.type(), v.is_tensor() ? Dims(v.tensor().extents()) : Dims()));
        given.push_back(std::move(x));
      }
    }
    std::vector<std::string> results;
    for (int k = 0; k < use.results; ++k) results.push_back(str_cat("y", k));
    const auto out = graph.add_node("n", use.op, in, results);
    for (std::size_t k = 0; k < results.size(); ++k) graph.add_output(results[k], out[k]);
    for (std::size_t k = 0; k < given.size(); ++k)
      feeds.emplace_back(graph.entry(graph.inputs()[k]).name, given[k]);
  }
  /// The loops of the node; none if an old form became other nodes.
  std::vector<op::WorkLoop> loops(const OperatorClass& c) const {
    if (graph.nodes().size() != 1 || &graph.nodes()[0].op.op_class() != &c) return {};
    return devices::detail::loops_of(graph, graph.nodes()[0]);
  }
};

// --- results ---

/// Whether the parts' result is the whole's: up to `rounding` of its largest number if that is a float.
std::string differs(const Value& parts, const Value& whole, double rounding) {
  if (parts.type() != whole.type()) return "the types differ";
  double largest = 0;
  if (whole.is_tensor() && is_float(whole.tensor().dtype()) && rounding > 0) {
    std::vector<double> numbers(static_cast<std::size_t>(whole.tensor().size()));
    convert_n(DType::float64, numbers.data(), whole.tensor().dtype(), whole.tensor().data(),
              whole.tensor().size());
    for (const double x : numbers)
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    const DType type = whole.tensor().dtype();
    rounding = type == DType::float16 ? 0x1p-10 : type == DType::bfloat16 ? 0x1p-7 : rounding;
  }
  return difference(parts, whole, {.atol = rounding * largest});
}

/// Divides the node's work over a loop among `count` devices.
void check_loop(Draw& draw, const OneNode& use, const op::WorkLoop& loop, int count,
                const std::vector<Value>& whole) {
  REQUIRE(!loop.in.empty());
  std::vector<int64_t> stretches;
  for (int64_t s = 1; s <= loop.count / count; ++s)
    if (loop.count % s == 0) stretches.push_back(s);
  const int64_t some = stretches[static_cast<std::size_t>(draw.below(std::ssize(stretches)))];
  devices::Ranks ranks;
  for (int64_t r = 0; r < count; ++r) ranks.insert(ranks.begin() + draw.below(r + 1), r);
  const op::LoopAxis& at = loop.in[0];
  const Graph::Node& n = use.graph.nodes()[0];
  devices::Placement placement{.devices = count};
  placement.nodes["y0"].tensors[use.graph.entry(n.inputs[static_cast<std::size_t>(at.operand)]).name] =
      devices::cut(at.axis, ranks, loop.count / some, at.stretches * some);
  const std::string how =
      str_cat("operand ", at.operand, ", axis ", at.axis, ", ", loop.count, " iterations in ",
              at.stretches * some, " stretches on ", count, loop.out.empty() ? " as a sum" : "");
  // Kernels of other operators may round differently for other numbers of rows.
  const double rounding = n.op.elements() == op::Elements::any ? 4e-6 : 0;
  try {
    const auto parts =
        devices::run_sharded(use.graph, placement, use.feeds, devices::thread_transports(count));
    REQUIRE(parts.size() == whole.size());
    for (std::size_t k = 0; k < whole.size(); ++k)
      if (const std::string d = differs(parts[k], whole[k], rounding); !d.empty())
        FAIL_CHECK(how, ": result ", k, ": ", d);
  } catch (const Error& e) {
    FAIL_CHECK(how, ": ", e.what());
  }
}

/// Whether a specification says that the work divides, of some operands at least.
bool divides(const OperatorClass& c) {
  const auto is = [&](op::Elements e) {
    return c.spec->elements == e ||
           (c.elements != nullptr && c.elements(c.create(c.spec->latest()).get()) == e);
  };
  return c.spec->deterministic && (c.loops != nullptr || is(op::Elements::function) ||
                                   is(op::Elements::arithmetic) || c.spec->memory == op::Memory::alias);
}

TEST_CASE("the parts' results are the whole's, for each loop that an operator states") {
  constexpr int wanted = 8;  // uses of which each loop is tried
  constexpr uint64_t most = 4000;
  std::set<const OperatorClass*> seen;
  int sums = 0;
  for (const auto& [key, versions] : every_operator().operators())
    for (const auto& [version, c] : versions) {
      if (!runs_alone(key) || !divides(*c) || !seen.insert(c).second) continue;
      const std::string name = str_cat(key.first, key.first.empty() ? "" : ".", key.second, "-", version);
      CAPTURE(name);
      int met = 0;
      bool sum = false;
      for (uint64_t seed = 1; met < wanted && seed <= most; ++seed) {
        CAPTURE(seed);
        Draw draw(seed_of(seed, version));
        std::optional<OneNode> use;
        std::vector<op::WorkLoop> loops;
        std::vector<Value> whole;
        try {
          use.emplace(draw, draw_use(draw, *c));
          loops = use->loops(*c);
          if (loops.empty()) continue;
          whole = devices::run_whole(use->graph, use->feeds);
        } catch (const Error&) {
          continue;
        }
        ++met;
        for (const op::WorkLoop& loop : loops) {
          sum |= loop.out.empty();
          for (int count = 2; count <= std::min<int64_t>(3, loop.count); ++count)
            check_loop(draw, *use, loop, count, whole);
        }
      }
      CHECK_MESSAGE(met == wanted, name, ": ", met, " uses with loops in ", most);
      sums += sum;
    }
  CHECK(sums >= 15);
}

}  // namespace
}  // namespace tenon::test
