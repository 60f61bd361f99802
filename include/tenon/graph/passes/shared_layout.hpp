// What the programs of a session share of the constants that passes lay out.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tenon/base/storage.hpp"
#include "tenon/graph/program.hpp"
#include "tenon/graph/shared_constants.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::passes::detail {

/// Adds what a layout depends on in addition to the constants.
inline ConstantKey key_of_level(std::string_view kind) {
  ConstantKey key(kind);
  key.add(simd::level(), simd::scoped_level() != nullptr);
  return key;
}

/// Adds a tensor, or that there is none.
inline void add_tensor(ConstantKey& key, const AnyTensor* t) {
  if (t == nullptr) return void(key.add(-1));
  key.add(t->rank(), t->dtype());
  for (const int64_t extent : t->extents()) key.add(extent);
  key.add_content(t->data(), static_cast<std::size_t>(t->bytes()));
}

/// What make() lays out, a std::shared_ptr<T>, or the same of another program of the session: add(key) adds
/// what it depends on.
template <class T, class Add, class Make>
std::shared_ptr<T> shared_layout(const Program& program, std::string_view kind, Add add, Make make) {
  SharedConstants* const shared = program.shared();
  if (shared == nullptr) return make();
  ConstantKey key = key_of_level(kind);
  add(key);
  return shared->get<T>(key, make);
}

/// The same for weights: make() returns Storage, or an empty handle if they have no such layout.
template <class Add, class Make>
Storage shared_weights(const Program& program, std::string_view kind, Add add, Make make) {
  const auto held =
      shared_layout<Storage>(program, kind, add, [&] { return std::make_shared<Storage>(make()); });
  if (!*held) return {};
  return Storage::keep(static_cast<const void*>(held->data()), held->size_bytes(), held);
}

/// Adds a convolution's weights, in ONNX's order, and what packing them depends on.
inline void add_weights(ConstantKey& key, DType type, const Extents& extents, int64_t group,
                        const void* weights) {
  key.add(type, extents.size(), group);
  for (const int64_t extent : extents) key.add(extent);
  key.add_content(weights, static_cast<std::size_t>(packed_bytes(extent_product(extents), type)));
}
inline void add_numbers(ConstantKey& key, const std::vector<double>& numbers) {
  key.add_content(numbers.data(), numbers.size() * sizeof(double));
}

}  // namespace tenon::TENON_ABI::passes::detail
