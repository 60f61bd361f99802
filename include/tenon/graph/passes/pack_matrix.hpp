// Packed matrices of products. The programs of a session share them, and a store may keep those whose
// integers have few bits.
#pragma once

#include <cstring>
#include <memory>

#include "tenon/base/lasting.hpp"
#include "tenon/graph/fused/packed_mat_mul.hpp"
#include "tenon/graph/passes/shared_layout.hpp"
#include "tenon/op/families/narrow_packing.hpp"

namespace tenon::TENON_ABI::passes::detail {

/// A packed matrix B.
struct PackedMatrix {
  Storage b{}, zeros{};
  kernels::NarrowMatrix narrow{};  // describes these if B keeps its narrow type
};

/// Gives the product a matrix.
inline void use_matrix(PackedMatMul& packed, const std::shared_ptr<PackedMatrix>& matrix) {
  const auto part = [&](const Storage& s) {
    return s ? Storage::keep(s.data(), s.size_bytes(), matrix) : Storage();
  };
  packed.b = part(matrix->b), packed.zeros = part(matrix->zeros);
  packed.narrow = matrix->narrow;
}

/// Packs a matrix B that keeps its narrow type.
inline std::shared_ptr<PackedMatrix> packed_narrow(const kernels::NarrowSource& s) {
  const auto matrix = std::make_shared<PackedMatrix>();
  const kernels::NarrowSize size = kernels::narrow_size(s);
  matrix->b = Storage::make<std::byte>(size.data, lasting_allocator());
  matrix->zeros = Storage::make<uint8_t>(size.zeros);
  matrix->narrow = op::pack_by_threads(s, matrix->b.as<std::byte>(), matrix->zeros.as<uint8_t>());
  if (matrix->narrow.zeros == nullptr) matrix->zeros = {};
  return matrix;
}

/// The packed matrix that a store has for a key; null if it has none. Its sizes must match the source's. The
/// first columns are packed again and compared, because another version may have packed them differently.
inline std::shared_ptr<PackedMatrix> stored_narrow(PackedStore& store, std::string_view key,
                                                   const kernels::NarrowSource& s) {
  const auto [b, zeros] = store.find(key);
  const kernels::NarrowSize size = kernels::narrow_size(s);
  const auto has = [](const Storage& part, int64_t bytes) {
    return part.size_bytes() == static_cast<std::size_t>(bytes);
  };
  if (!b || !has(b, size.data) || (!has(zeros, 0) && !has(zeros, size.zeros))) return nullptr;
  const auto first = packed_narrow(op::groups_of(s, 0, 1));
  const auto begins = [](const Storage& whole, const Storage& part) {
    return std::memcmp(whole.data(), part.data(), part.size_bytes()) == 0;
  };
  const bool no_zeros = has(zeros, 0);
  if (!begins(b, first->b) || (no_zeros && first->zeros) || (first->zeros && !begins(zeros, first->zeros)))
    return nullptr;
  const auto matrix = std::make_shared<PackedMatrix>();
  matrix->b = b, matrix->zeros = no_zeros ? Storage() : zeros;
  matrix->narrow = {s.type, s.k, s.n, s.block, static_cast<const std::byte*>(b.data())};
  if (!no_zeros) matrix->narrow.zeros = static_cast<const uint8_t*>(zeros.data());
  return matrix;
}

/// Packs a matrix B that keeps its narrow type, unless a program of the session, or its store, has it packed.
/// `of` are the operands that `s` points to.
inline void pack_narrow_matrix(const Program& program, PackedMatMul& packed, const kernels::NarrowSource& s,
                               std::initializer_list<const AnyTensor*> of) {
  packed.k = s.k, packed.n = s.n;
  SharedConstants* const shared = program.shared();
  if (shared == nullptr) return use_matrix(packed, packed_narrow(s));
  ConstantKey key = key_of_level("narrow");
  key.add(s.type, s.k, s.n, s.transposed, s.block, s.scale_row, s.scale_col);
  for (const AnyTensor* t : of)
    if (t != nullptr) key.add(t->dtype()).add_content(t->data(), static_cast<std::size_t>(t->bytes()));
  use_matrix(packed, shared->get<PackedMatrix>(key, [&] {
    // Of other matrices no columns can be packed to be compared.
    PackedStore* const store = s.transposed && s.scale != nullptr ? shared->store() : nullptr;
    std::shared_ptr<PackedMatrix> matrix = store == nullptr ? nullptr : stored_narrow(*store, key.text(), s);
    if (matrix != nullptr) return matrix;
    matrix = packed_narrow(s);
    if (store != nullptr) store->add(key.text(), {matrix->b, matrix->zeros});
    return matrix;
  }));
}

}  // namespace tenon::TENON_ABI::passes::detail
