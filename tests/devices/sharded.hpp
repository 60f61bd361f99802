// Graphs on several ranks, each a thread, compared with the same graph in one session.
#pragma once

#include <doctest/doctest.h>

#include <cmath>

#include "tenon/devices/partition.hpp"
#include "tenon/graph/session.hpp"
#include "tests/devices/ranks.hpp"

namespace tenon::devices {

/// The outputs of a graph that the ranks run together, as rank 0 has them.
inline std::vector<Value> run_sharded(const Graph& graph, const Placement& placement, const Feeds& feeds,
                                      const Transports& ranks, const PartitionOptions& options = {}) {
  std::vector<Value> results;
  on_ranks(ranks, [&](const std::shared_ptr<Transport>& t) {
    Graph part = partition(graph, placement, t, options);
    std::vector<std::string> names;
    for (const auto& [name, v] : graph.outputs())
      if (t->rank() == 0) names.push_back(name);
    if (part.outputs().empty()) return;
    const Session session(std::move(part));
    for (int run = 0; run < 2; ++run) {
      const Outputs outputs = session.run(feeds);
      for (const std::string& name : names)
        if (run == 1) results.push_back(outputs[name]);
    }
  });
  return results;
}

inline std::vector<Value> run_whole(const Graph& graph, const Feeds& feeds) {
  Graph copy;
  std::vector<ValueId> inputs;
  for (const ValueId v : graph.inputs()) {
    Dims dims = graph.entry(v).info.dims;
    for (int k = 0; k < dims.rank(); ++k)
      if (dims[k].symbolic()) dims[k] = copy.symbol(graph.symbol_name(dims[k]));
    inputs.push_back(copy.add_input(graph.entry(v).name, graph.entry(v).info.type, dims));
  }
  const auto results = copy.add_graph(graph, inputs);
  for (std::size_t k = 0; k < results.size(); ++k) copy.add_output(graph.outputs()[k].first, results[k]);
  return std::move(Session(std::move(copy)).run(feeds).values());
}

/// The largest difference of elements in units of the largest element; infinite for other extents or types.
inline double difference(const Value& a, const Value& b) {
  const AnyTensor &x = a.tensor(), &y = b.tensor();
  if (x.dtype() != y.dtype() || !(x.extents() == y.extents())) return INFINITY;
  if (x.size() == 0 || std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0) return 0;
  if (x.dtype() != DType::float32) return INFINITY;
  double most = 0, size = 0;
  for (int64_t k = 0; k < x.size(); ++k) {
    const double p = static_cast<const float*>(x.data())[k], q = static_cast<const float*>(y.data())[k];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    if (!std::isfinite(p - q)) return INFINITY;
    most = std::max(most, std::abs(p - q));
  }
  for (int64_t k = 0; k < x.size(); ++k)
    if (const double p = std::abs(static_cast<const float*>(x.data())[k]); std::isfinite(p))
      size = std::max(size, p);
  return most == 0 ? 0 : most / size;
}

inline Tensor<int64_t> list(std::initializer_list<int64_t> numbers) {
  Tensor<int64_t> t(Extents{static_cast<int64_t>(numbers.size())});
  int64_t k = 0;
  for (const int64_t n : numbers) t[k++] = n;
  return t;
}

/// Numbers between -1 and 1.
inline Tensor<float> numbers(const Extents& extents, uint32_t seed) {
  Tensor<float> t(extents);
  for (int64_t k = 0; k < t.size(); ++k) {
    seed = seed * 1664525 + 1013904223;
    t[k] = static_cast<float>(static_cast<int32_t>(seed) >> 8) / (1 << 23);
  }
  return t;
}

/// A tensor cut along an axis into one piece for each device.
inline Sharding cut(int64_t axis, const Ranks& devices, int64_t blocks = 0, int64_t stretches = 1) {
  Sharding s{.cuts = {{axis, static_cast<int64_t>(devices.size()), blocks, stretches}}, .holders = {}};
  for (const int64_t d : devices) s.holders.push_back({d});
  return s;
}

}  // namespace tenon::devices
