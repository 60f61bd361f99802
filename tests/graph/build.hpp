// What tests of graphs share: nodes and numbers in few words, comparisons, and errors.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tenon/graph/graph.hpp"

namespace tenon::test {

/// Adds a node with one result, which is named `value`.
template <class Op>
ValueId node(Graph& g, const Op& op, std::vector<ValueId> inputs, std::string value = {},
             std::string name = {}) {
  const std::string names[] = {std::move(value)};
  return g.add_node(std::move(name), AnyOperator::make(op), std::move(inputs), names)[0];
}

/// Numbers between -1 and 1, other ones for each `seed`.
inline Tensor<float> numbers(const Extents& extents, uint32_t seed = 1) {
  Tensor<float> t{extents};
  for (int64_t k = 0; k < t.size(); ++k) {
    seed = seed * 1664525 + 1013904223;
    t[k] = static_cast<float>(seed >> 8) / (1 << 23) - 1;
  }
  return t;
}

/// The elements of a tensor of floats.
inline std::vector<float> floats(const Value& v) {
  const auto view = v.view<float>();
  return std::vector<float>(view.begin(), view.end());
}

/// Whether two tensors have the same type, extents and bits.
inline bool same(const Value& a, const Value& b) {
  return a.type() == b.type() && a.tensor().extents() == b.tensor().extents() &&
         std::memcmp(a.tensor().data(), b.tensor().data(), static_cast<std::size_t>(a.tensor().bytes())) == 0;
}

/// The text of the Error with which f ends.
std::string error_of(auto f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// Runs f, which has to end with an Error whose text holds all of these.
void check_error(auto f, std::initializer_list<std::string_view> texts) {
  const std::string what = error_of(f);
  for (std::string_view text : texts)
    CHECK_MESSAGE(what.find(text) != std::string::npos, "'", what, "' lacks '", std::string(text), "'");
}

}  // namespace tenon::test
