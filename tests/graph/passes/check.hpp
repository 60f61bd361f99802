// What tests of passes share: graphs in few words, and a comparison of their results with and without a pass.
#pragma once

#include <doctest/doctest.h>

#include "tenon/base/convert.hpp"
#include "tenon/graph/session.hpp"
#include "tests/graph/build.hpp"

namespace tenon::passes::test {

using tenon::test::node;

/// Numbers between -1 and 1, other ones for each `seed`.
template <class T>
AnyTensor floats(const Extents& extents, int seed) {
  Tensor<T> t{extents};
  uint32_t state = static_cast<uint32_t>(seed) * 2654435761u + 1;
  for (int64_t k = 0; k < t.size(); ++k) {
    state = state * 1664525u + 1013904223u;
    t[k] = static_cast<T>(static_cast<float>(state >> 8) * 0x1p-23f - 1.0f);
  }
  return t;
}

/// The largest difference of two tensors of floats, relative to the largest finite number in the first;
/// infinite where an infinity or a NaN is not the same in both.
inline double difference(const AnyTensor& a, const AnyTensor& b) {
  double most = 0, scale = 1e-30;
  REQUIRE(a.dtype() == b.dtype());
  REQUIRE(a.extents() == b.extents());
  REQUIRE(visit_types(TypeList<float, double, float16, bfloat16>{}, a.dtype(), [&]<class T>() {
    for (int64_t k = 0; k < a.size(); ++k) {
      const auto x = convert<double>(a.view().as<T>()[k]), y = convert<double>(b.view().as<T>()[k]);
      if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      const double apart = std::abs(x - y);
      most = std::max(most, std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity());
    }
  }));
  return most / scale;
}

/// Compares a program's infos of its values with a fresh inference, node by node: which also shows that
/// every value is made before it is read.
inline void check_infos(Program& p) {
  std::vector<std::optional<op::Info>> fresh(p.values().size());
  for (const Program::Given& g : p.given()) fresh[static_cast<std::size_t>(g.value)] = g.info;
  for (std::size_t v = 0; v < fresh.size(); ++v)
    if (const Value& c = p.constant(static_cast<ValueId>(v))) fresh[v] = op::info_of(c);
  for (const Graph::Node& n : p.nodes()) {
    REQUIRE(n.op);
    CAPTURE(n.name);
    std::vector<op::Info> in, out(n.outputs.size());
    for (ValueId v : n.captures) CHECK(fresh[static_cast<std::size_t>(v)].has_value());
    for (ValueId v : n.inputs) {
      in.emplace_back();
      if (v < 0) continue;
      REQUIRE(fresh[static_cast<std::size_t>(v)].has_value());
      in.back() = *fresh[static_cast<std::size_t>(v)];
      CHECK((p.info(v) == in.back()));
    }
    bool fits = false;
    try {
      fits = n.op.infer(in, out).empty();
    } catch (const Error&) {
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k].data = nullptr;
      p.name_extents(n.outputs[k], out[k]);
      fresh[static_cast<std::size_t>(n.outputs[k])] = fits ? out[k] : op::Info{};
      CHECK((p.info(n.outputs[k]) == *fresh[static_cast<std::size_t>(n.outputs[k])]));
    }
  }
}
/// A pass that changes nothing and fails unless the passes before it have left infos true.
inline constexpr Pass infos_are_true{"infos_are_true", check_infos};

/// Runs what `build` makes with a pass and without, compares the first results within `tolerance`, and counts
/// the nodes that are left with it. The pass says something of every graph.
template <class Build>
void check_pass(const Pass& pass, const Build& build, const Feeds& feeds, std::size_t nodes,
                double tolerance) {
  const Session plain(build()),
      passed(build(), {.passes = std::vector{pass, infos_are_true}, .explain = true});
  CHECK_FALSE(passed.reports().empty());
  CHECK(passed.program().nodes().size() == nodes);
  Outputs expected = plain.run(feeds), got = passed.run(feeds);
  CHECK(difference(expected[0].tensor(), got[0].tensor()) <= tolerance);
}

}  // namespace tenon::passes::test
