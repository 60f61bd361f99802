// Reshape: the same elements under other extents.   onnx.ai/onnx/operators/onnx__Reshape.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// At most one requested extent is -1: it follows from the others. 0 copies the input's extent, or with
/// `allowzero` is 0. Version 1 without extents makes a scalar.
/// op::Reshape{}(x, constant<int64_t, 0, -1>) of (2,3,4) gives (2,12).
struct Reshape {
  int64_t allowzero = 0;

  static constexpr Spec spec{
      .name = "Reshape",
      .since = {1, 5, 13, 14, 19, 21, 23, 24, 25},
      .inputs = {{"data", "T"}, {.name = "shape", .type = "tensor(int64)", .since = 5}},
      .outputs = {{"reshaped", "T"}},
      .types = {every_type("T", {{1, types::floats}, {5, types::all}})},
      .elements = Elements::order,
      .memory = Memory::alias};
  static constexpr Attributes attributes{attr("allowzero", &Reshape::allowzero).flag().since(14),
                                         consumed_inputs.until(4),
                                         attr_as_input<std::vector<int64_t>>("shape", 1).until(4)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(1, 1)) return;
    propagate(i);
    const Dims& x = i.dims(0);
    Dims r = i.of_rank(i.has(1) ? i.length(1) : 0);
    if (!r.ranked()) return;
    int left = -1;
    bool zero = false, copied[max_rank]{}, used[max_rank]{};
    for (int k = 0; k < r.rank(); ++k) {
      const Dim d = i.element(1, k);
      if (d.is(-1)) {
        if (left >= 0) return i.fail("more than one extent is -1");
        left = k;
      } else if (d.is(0) && allowzero == 0) {
        if (!x.ranked()) continue;
        if (k >= x.rank()) return i.fail("extent 0 at axis ", k, " copies no axis of the input ", x);
        r[k] = x[k];
        copied[k] = used[k] = true;
      } else {
        if (!i.expect_at_least("extent", d, -1)) return;
        r[k] = d;
        zero |= d.is(0);
      }
    }
    if (left >= 0 && zero) return i.fail("with allowzero, -1 and 0 exclude each other");
    i.for_files([&] {
      for (int k = 0; k < r.rank() && left >= 0 && !i.failed(); ++k)
        if (r[k].is(0)) i.fail("-1 cannot be inferred with the extent 0 at axis ", k);
    });
    if (x.ranked() && left >= 0) {
      // Extents that the input has too cancel out, so that a symbol or a 0 among them does no harm.
      Dim have = 1, given = 1;
      for (int k = 0; k < r.rank(); ++k) {
        bool cancelled = k == left || copied[k];
        for (int j = 0; j < x.rank() && !cancelled; ++j)
          if (!used[j] && x[j].same(r[k])) cancelled = used[j] = true;
        if (!cancelled) given = given * r[k];
      }
      for (int j = 0; j < x.rank(); ++j)
        if (!used[j]) have = have * x[j];
      if (given.is(0) ? have.differs(0) : (have % given).differs(0))
        return i.fail("the elements of ", x, " do not divide into ", r);
      r[left] = given.is(0) && have.is(0) ? have : have / given;
    }
    if (x.known() && r.known() && x.count().differs(r.count())) return i.fail(x, " cannot become ", r);
    i.out(0, r);
  }
  void compute(AnyView data, TensorView<const int64_t>, AnyOut reshaped) const {
    copy_elements(data, reshaped);
  }
  template <class L>
  void loops(L& l) const {
    l.same_order(1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Reshape)
