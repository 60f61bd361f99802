// What the programs of a session share of the constants that passes lay out.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

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

/// The memory that make() lays out, a Storage, or the same of another program of the session: add(key) adds
/// what it depends on.
template <class Add, class Make>
Storage shared_storage(const Program& program, std::string_view kind, Add add, Make make) {
  SharedConstants* const shared = program.shared();
  if (shared == nullptr) return make();
  ConstantKey key = key_of_level(kind);
  add(key);
  const auto held = shared->get<Storage>(key, [&] { return std::make_shared<Storage>(make()); });
  return Storage::keep(std::as_const(*held).data(), held->size_bytes(), held);
}

}  // namespace tenon::TENON_ABI::passes::detail
