// What the programs of a session share of the constants that passes lay out.
#pragma once

#include <memory>
#include <string_view>

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

}  // namespace tenon::TENON_ABI::passes::detail
