// Tables that are cut by rows: the indices of a rank's own rows, and zeros for the others' rows.
#pragma once

#include "tenon/op/families/movement.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::devices {

namespace detail {

/// Calls f(k, row), for each index, with its number, and its row in a part of a table, -1 for rows of other
/// parts. `bounds`: the part's first row, the row after its last one, and the number of all rows, each in one
/// of the stretches of the table, and the number of stretches.
template <class F>
void each_row_of_part(AnyView indices, std::span<const int64_t> bounds, F f) {
  const int64_t stretch = bounds[2], all = stretch * bounds[3], share = bounds[1] - bounds[0];
  op::with_indices(indices, [&](const auto* index) {
    for (int64_t k = 0; k < indices.size(); ++k) {
      const int64_t row = index[k] < 0 ? index[k] + all : int64_t{index[k]}, own = row % stretch - bounds[0];
      f(k, own < 0 || own >= share ? -1 : row / stretch * share + own);
    }
  });
}

inline void expect_bounds(op::Infer& i, std::span<const int64_t> b) {
  if (b.size() != 4 || b[0] < 0 || b[0] >= b[1] || b[1] > b[2] || b[3] < 1) i.fail("no part of a table");
}

}  // namespace detail

/// Y is the indices X (…) into a part of a table, 0 where the row belongs to another part. `bounds`: the
/// part's first row, the row after its last one, and the number of all rows, each in one of the stretches of
/// the table, and the number of stretches. Error{out_of_range} for an index outside of all rows.
struct OwnIndices {
  std::vector<int64_t> bounds{};

  static constexpr op::Spec spec =
      op::own_spec("OwnIndices", {{"X", "Tind"}}, {{"Y", "Tind"}}, {{"Tind", types::indices}});
  static constexpr op::Attributes attributes{op::attr("bounds", &OwnIndices::bounds)};

  void infer(op::Infer& i) const {
    detail::expect_bounds(i, bounds);
    i.out(0, i.dims(0));
  }
  void compute(AnyView x, AnyOut y) const {
    op::check_indices(spec.name, x, bounds[2] * bounds[3]);
    detail::each_row_of_part(x, bounds, [&](int64_t k, int64_t row) {
      row = std::max<int64_t>(row, 0);
      if (y.dtype() == DType::int32) static_cast<int32_t*>(y.data())[k] = static_cast<int32_t>(row);
      else static_cast<int64_t*>(y.data())[k] = row;
    });
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Y is X, with zeros where an index names a row of another part. X's axes from `axis` on are the axes of
/// `indices`, followed by those of a row; `bounds` as of OwnIndices.
struct OwnResults {
  std::vector<int64_t> bounds{};
  int64_t axis = 0;

  static constexpr op::Spec spec = [] {
    op::Spec s = op::own_spec("OwnResults", {{"X", "T"}, {"indices", "Tind"}}, {{"Y", "T"}},
                              {{"T", types::numeric_bf16}, {"Tind", types::indices}});
    s.memory = op::Memory::elementwise;
    return s;
  }();
  static constexpr op::Attributes attributes{op::attr("bounds", &OwnResults::bounds),
                                             op::attr("axis", &OwnResults::axis)};

  void infer(op::Infer& i) const {
    detail::expect_bounds(i, bounds);
    i.out(0, i.dims(0));
  }
  void compute(AnyView x, AnyView indices, AnyOut y) const {
    if (y.data() != x.data() && !x.empty())
      std::memcpy(y.data(), x.data(), static_cast<std::size_t>(x.bytes()));
    if (y.empty()) return;
    int64_t outer = 1;
    for (int d = 0; d < axis; ++d) outer *= x.extent(d);
    const auto row_bytes = static_cast<std::size_t>(y.bytes() / (outer * indices.size()));
    auto* const rows = static_cast<std::byte*>(y.data());
    detail::each_row_of_part(indices, bounds, [&](int64_t k, int64_t row) {
      if (row >= 0) return;
      for (int64_t o = 0; o < outer; ++o)
        std::memset(rows + static_cast<std::size_t>(o * indices.size() + k) * row_bytes, 0, row_bytes);
    });
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::devices
