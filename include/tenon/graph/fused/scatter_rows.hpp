// ScatterRows: rows written to a cache, which models do by a ScatterND between Transposes.
#pragma once

#include "tenon/graph/fused/fields.hpp"
#include "tenon/op/families/copy_along.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::passes {

/// past with entry k of `rows` along `axis` at places[k], which counts from the end if it is negative. A
/// later entry for the same place replaces an earlier one.
struct ScatterRows {
  int64_t axis = 0;

  static constexpr op::Attributes fields{op::attr("axis", &ScatterRows::axis)};
  static constexpr op::Spec spec = [] {
    op::Spec s = op::own_spec("ScatterRows", {{"past", "T"}, {"rows", "T"}, {"places", "tensor(int64)"}},
                              {{"present", "T"}}, {{"T", types::floats_bf16}});
    s.updates = {{.output = 0, .input = 0}};
    return s;
  }();

  constexpr void infer(op::Infer& i) const {
    const Dims &past = i.dims(0), &rows = i.dims(1);
    i.out(0, past);
    if (!i.expect_rank(2, 1) || !i.ranked(0, 1)) return;
    if (!i.expect_rank(1, past.rank())) return;
    for (int d = 0; d < past.rank(); ++d)
      if (d != axis) i.unify(past[d], rows[d], "extents of the past and its new rows");
    if (i.ranked(2)) i.unify(i.dims(2)[0], rows[static_cast<int>(axis)], "numbers of rows and places");
  }
  /// Error{out_of_range} for a place outside of the past.
  void compute(AnyView past, AnyView rows, TensorView<const int64_t> places, AnyOut present) const {
    const int along = static_cast<int>(axis);
    const int64_t length = past.extent(along);
    for (const int64_t at : places)
      if (at < -length || at >= length)
        raise(ErrorCode::out_of_range, spec.name, "place ", at, " outside of a past of ", length);
    if (present.data() != past.data()) op::copy_elements(past, present);
    for (int64_t k = 0; k < places.size(); ++k)
      op::copy_along(along, rows, k, present, places[k] < 0 ? places[k] + length : places[k], 1);
  }
};

}  // namespace tenon::TENON_ABI::passes
