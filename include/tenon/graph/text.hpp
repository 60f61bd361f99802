// The memory of strings, whose characters lie in separate blocks that come from no Allocator.
#pragma once

#include <algorithm>
#include <limits>

#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI {

/// Calls f(tensor) for each tensor that a value consists of.
template <class F>
void for_each_tensor(const Value& v, const F& f) {
  if (v.is_tensor()) f(v.tensor());
  if (v.is_sparse_tensor()) f(v.sparse_tensor().values), f(v.sparse_tensor().indices);
  if (v.is_map()) f(v.map().keys), f(v.map().values);
  if (v.is_optional() && v.optional().value != nullptr) for_each_tensor(*v.optional().value, f);
  if (v.is_sequence())
    for (const Value& item : v.sequence().items) for_each_tensor(item, f);
}

/// Calls f(string) for each string in a value.
template <class F>
void for_each_text(const Value& v, const F& f) {
  for_each_tensor(v, [&](const AnyTensor& t) {
    if (t.dtype() != DType::string) return;
    const auto* const texts = static_cast<const std::string*>(t.data());
    std::for_each(texts, texts + t.size(), f);
  });
}

/// The characters of a value's strings, in bytes. A tensor that a sequence holds twice counts twice.
inline int64_t text_bytes(const Value& v) {
  int64_t bytes = 0;
  for_each_text(v, [&](const std::string& s) { bytes += std::ssize(s); });
  return bytes;
}

/// The memory of a value's elements, including the characters of strings.
inline int64_t content_bytes(const Value& v) {
  int64_t bytes = text_bytes(v);
  for_each_tensor(v, [&](const AnyTensor& t) { bytes += t.bytes(); });
  return bytes;
}

namespace detail {

/// An upper bound on the characters in `count` strings of an operator's results. Each is made of one string
/// per operand, or comes from an attribute; operators that join tensors or rename one use each string once.
inline int64_t most_text(const AnyOperator& op, std::span<const Value* const> in, int64_t count) {
  int64_t all = 0, longest = 0;
  const auto measure = [&](const std::string& s) {
    all += std::ssize(s);
    longest = std::max<int64_t>(longest, std::ssize(s));
  };
  for (const op::AttributeInfo& a : op.attributes()) {
    if (const auto* s = std::get_if<std::string>(&a.value)) measure(*s);
    if (const auto* list = std::get_if<std::vector<std::string>>(&a.value))
      std::for_each(list->begin(), list->end(), measure);
    if (const auto* v = std::get_if<Value>(&a.value)) for_each_text(*v, measure);
  }
  const int64_t stated = longest;
  int64_t made = 0;
  for (const Value* v : in) {
    longest = 0;
    if (v != nullptr) for_each_text(*v, measure);
    made += longest;
  }
  const op::Memory memory = op.spec().memory;
  if (memory == op::Memory::alias || memory == op::Memory::join) return all;
  const int64_t each = std::max(stated, made);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  return each > 0 && count > most / each ? most : each * count;
}

}  // namespace detail
}  // namespace tenon::TENON_ABI
