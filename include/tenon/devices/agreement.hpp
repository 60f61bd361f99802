// Whether all ranks of a computation have been given the same.
#pragma once

#include "tenon/devices/work.hpp"

namespace tenon::TENON_ABI::devices::detail {

/// Equal for equal graphs, placements and options, as far as these decide what ranks exchange: names, types,
/// extents and connections of values, and attributes, but no elements.
class PlanDigest {
 public:
  PlanDigest(const Graph& graph, const Placement& placement, const PartitionOptions& options) {
    for (const Graph::ValueEntry& e : graph.values()) {
      add(e.name), add(to_string(e.info.type)), add(e.info.dims.rank());
      for (const Dim d : e.info.dims) add(d.known() ? d.value() : -1);
    }
    for (const Graph::Node& n : graph.nodes()) {
      add(n.op.spec().name), add(n.op.version());
      for (const op::AttributeInfo& a : n.op.attributes())
        std::visit([&](const auto& value) { add_attribute(value); }, a.value);
      for (const auto* list : {&n.inputs, &n.outputs, &n.captures}) add_all(*list);
    }
    add_all(graph.inputs());
    for (const auto& [name, v] : graph.outputs()) add(name), add(v);
    add(placement.devices);
    for (const auto& [name, node] : placement.nodes) {
      add(name), add(node.stage.value_or(-1));
      for (const auto& [tensor, sharding] : node.tensors) add(tensor), add(sharding);
    }
    add(options.gather);
    for (const StatePair& pair : options.kept)
      add(pair.past), add(pair.present), add(pair.axis), add(pair.constant);
  }
  uint64_t value() const { return value_; }

 private:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add(std::ssize(text));
  }
  void add(int64_t number) {
    for (int k = 0; k < 8; ++k) add_byte(static_cast<uint64_t>(number) >> 8 * k & 255);
  }
  void add(const Sharding& s) {
    for (const Sharding::Cut& c : s.cuts)
      for (const int64_t number : {c.axis, c.shards, c.blocks, c.stretches}) add(number);
    for (const Ranks& of : s.holders) add_all(of);
  }
  void add_all(const auto& list) {
    for (const auto number : list) add(static_cast<int64_t>(number));
    add(std::ssize(list));
  }
  template <class T>
  void add_attribute(const T& value) {
    if constexpr (std::is_same_v<T, float>) add(std::bit_cast<int32_t>(value));
    else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, std::string>) add(value);
    else if constexpr (std::ranges::range<T>) {
      for (const auto& one : value) add_attribute(one);
      add(std::ssize(value));
    }
  }
  // FNV-1a.
  void add_byte(uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  uint64_t value_ = 0xcbf29ce484222325;
};

/// Error{invalid_argument} on all ranks if one of them has another number than rank 0.
inline void expect_agreement(Transport& transport, uint64_t number) {
  Ranks all;
  for (int r = 0; r < transport.size(); ++r) all.push_back(r);
  std::vector<uint64_t> numbers(all.size());
  numbers[static_cast<std::size_t>(transport.rank())] = number;
  transport.all_gather(all, std::vector<std::size_t>(all.size(), sizeof number),
                       std::as_writable_bytes(std::span(numbers)));
  for (std::size_t r = 1; r < numbers.size(); ++r)
    if (numbers[r] != numbers[0])
      raise(ErrorCode::invalid_argument, "devices", "rank ", r,
            " has another graph, other annotations or other options than rank 0");
}

}  // namespace tenon::TENON_ABI::devices::detail
