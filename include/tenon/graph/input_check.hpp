// Whether the inputs of a run have the types and extents that the graph declares.
#pragma once

#include <algorithm>
#include <span>

#include "tenon/base/scratch.hpp"
#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::detail {

/// Error{invalid_shape} unless the extents fit the declared ones. where() names the value.
template <class Where>
void check_extents(const Graph& graph, const Dims& dims, const Extents& extents, Where where) {
  if (dims.fits(extents)) return;
  std::string declared;
  for (const Dim d : dims)
    declared += str_cat(declared.empty() ? "" : ",", d.known()      ? std::to_string(d.value())
                                                     : d.symbolic() ? std::string(graph.symbol_name(d))
                                                                    : "?");
  raise(ErrorCode::invalid_shape, where(), to_string(extents), " given, (", declared, ") declared");
}

/// Error unless an input has the declared type and extents, and elements in aligned memory. The extents
/// declared of a sequence or an optional value apply to its elements.
inline void check_input(const Graph& graph, const Graph::ValueEntry& e, const Value& v) {
  const auto where = [&] { return str_cat("input '", e.name, "'"); };
  if (e.info.type && e.info.type.kind != Kind::unknown && !(v.type() == e.info.type))
    raise(ErrorCode::invalid_type, where(), to_string(v.type()), " given, ", to_string(e.info.type),
          " declared");
  if (v.is_tensor()) {
    if (!v.tensor().aligned())
      raise(ErrorCode::invalid_argument, where(), "its memory is not aligned for ", to_string(v.type()));
    return check_extents(graph, e.info.dims, v.tensor().extents(), where);
  }
  const Value& inner = v.is_optional() && v.optional().value ? *v.optional().value : v;
  if (inner.is_tensor()) return check_extents(graph, e.info.dims, inner.tensor().extents(), where);
  if (!inner.is_sequence()) return;
  const std::vector<Value>& items = inner.sequence().items;
  for (std::size_t k = 0; k < items.size(); ++k)
    if (items[k].is_tensor())
      check_extents(graph, e.info.dims, items[k].tensor().extents(),
                    [&] { return str_cat(where(), ", element ", k); });
}

/// A symbol denotes one extent in all inputs: Error{invalid_shape} that names it and two inputs otherwise.
/// inputs[k], or null, is the graph's input k, which check_input has accepted. Elements of a sequence may
/// differ from each other, so their symbols denote nothing else.
inline void check_symbols(const Graph& graph, std::span<const Value* const> inputs) {
  struct Use {
    int32_t symbol;
    std::size_t input;
    int64_t extent;
  };
  const auto each = [&](auto f) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] == nullptr) continue;
      const Value* v = inputs[k];
      if (v->is_optional() && v->optional().value) v = v->optional().value.get();
      const Dims& dims = graph.entry(graph.inputs()[k]).info.dims;
      if (!v->is_tensor() || !dims.ranked()) continue;
      for (int d = 0; d < dims.rank(); ++d)
        if (dims[d].symbolic()) f(Use{dims[d].symbol(), k, v->tensor().extents()[d]});
    }
  };
  int64_t count = 0;
  each([&](const Use&) { ++count; });
  if (count < 2) return;
  Scratch scratch;
  const std::span uses(scratch.take<Use>(count), static_cast<std::size_t>(count));
  std::size_t n = 0;
  each([&](const Use& use) { uses[n++] = use; });
  std::ranges::sort(uses, [](const Use& a, const Use& b) {
    return a.symbol != b.symbol ? a.symbol < b.symbol : a.input < b.input;
  });
  for (std::size_t k = 1; k < uses.size(); ++k) {
    const Use &a = uses[k - 1], &b = uses[k];
    if (a.symbol != b.symbol || a.extent == b.extent) continue;
    const auto name = [&](const Use& use) {
      return str_cat("'", graph.entry(graph.inputs()[use.input]).name, "'");
    };
    raise(ErrorCode::invalid_shape, str_cat("input ", name(b)), "the extent '",
          graph.symbol_name(Dim::symbol(b.symbol)), "' is ", b.extent, " here, and ", a.extent, " in input ",
          name(a));
  }
}

}  // namespace tenon::TENON_ABI::detail
