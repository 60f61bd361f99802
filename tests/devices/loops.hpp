// A table of uses of operators, whose work is divided over each of their loops.
#pragma once

#include <limits>
#include <random>

#include "tests/devices/sharded.hpp"

namespace tenon::devices {

struct Operand {
  Operand(std::initializer_list<int64_t> e) : extents(e), given(true) {}
  template <class T>
  Operand(const Tensor<T>& t) : constant(t), given(true) {}
  Operand() = default;

  Extents extents{};  // of an input of floats
  Value constant{};
  bool given = false;
};

/// Integers from `first` to `last`.
template <class T>
Tensor<T> integers(const Extents& extents, int first = std::numeric_limits<T>::min(),
                   int last = std::numeric_limits<T>::max()) {
  Tensor<T> t(extents);
  std::minstd_rand random(7);
  for (int64_t k = 0; k < t.size(); ++k)
    t[k] = static_cast<T>(first + static_cast<int>(random() / 7 % static_cast<unsigned>(last - first + 1)));
  return t;
}

/// Divides the work over each loop, among two and three ranks, of which each has one stretch of the
/// iterations or several. Returns the numbers of iterations, a sum's below 0.
template <class Op>
std::vector<int64_t> divide(const Op& op, const std::vector<Operand>& operands, std::size_t outputs = 1) {
  CAPTURE(Op::spec.name);
  Graph g;
  std::vector<ValueId> in;
  std::vector<std::string> names;
  std::vector<Value> values;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Operand& o = operands[k];
    names.push_back("x" + std::to_string(k));
    if (!o.given) in.push_back(-1);
    else if (o.constant) in.push_back(g.add_constant(names[k], o.constant));
    else in.push_back(g.add_input(names[k], DType::float32, Dims(o.extents)));
    values.push_back(o.given && !o.constant ? Value(numbers(o.extents, static_cast<uint32_t>(k))) : Value());
  }
  Feeds feeds;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (values[k]) feeds.emplace_back(names[k], values[k]);
  std::vector<std::string> results;
  for (std::size_t k = 0; k < outputs; ++k) results.push_back("y" + std::to_string(k));
  const auto out = g.add_node("n", AnyOperator::make(op), in, results);
  for (std::size_t k = 0; k < outputs; ++k) g.add_output(results[k], out[k]);

  std::vector<op::Info> in_infos, out_infos;
  for (const ValueId v : in) {
    in_infos.push_back(v < 0 ? op::Info{} : g.entry(v).info);
    if (v >= 0 && g.entry(v).source == Graph::Source::constant)
      in_infos.back().data = g.entry(v).content.tensor().data();
  }
  for (const ValueId v : out) out_infos.push_back(g.entry(v).info);
  const std::vector<Value> whole = run_whole(g, feeds);
  std::vector<int64_t> counts;
  for (const op::WorkLoop& loop : g.nodes()[0].op.loops(in_infos, out_infos)) {
    counts.push_back(loop.out.empty() ? -loop.count : loop.count);
    for (int64_t p = 2; p <= std::min<int64_t>(3, loop.count); ++p)
      for (int64_t stretches = 1; stretches <= loop.count / p; ++stretches) {
        if (loop.count % stretches != 0) continue;
        CAPTURE(counts.size());
        CAPTURE(p);
        CAPTURE(stretches);
        REQUIRE(!loop.in.empty());
        Ranks devices;
        for (int64_t r = 0; r < p; ++r) devices.push_back(p - 1 - r);
        Placement placement{.devices = static_cast<int>(p)};
        placement.nodes["y0"].tensors[names[static_cast<std::size_t>(loop.in[0].operand)]] =
            cut(loop.in[0].axis, devices, loop.count / stretches, loop.in[0].stretches * stretches);
        const auto parts = run_sharded(g, placement, feeds, thread_transports(static_cast<int>(p)));
        for (std::size_t k = 0; k < outputs; ++k) CHECK(difference(whole[k], parts[k]) <= 1e-6);
      }
  }
  return counts;
}

using Counts = std::vector<int64_t>;

}  // namespace tenon::devices
