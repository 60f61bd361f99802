// Reshape: the same elements under other extents.   onnx.ai/onnx/operators/onnx__Reshape.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::op {

namespace reshape_detail {
/// The result's extents for `count` requested ones, `at(k)`: -1 stands for what is left, 0 (unless
/// `allow_zero`) for the input's extent on that axis.
template <class At>
constexpr Dims reshaped(Infer& i, const Dims& x, int64_t count, bool allow_zero, At at) {
  if (count > max_rank) return i.fail("rank ", count, " is above ", max_rank), Dims{};
  Dims r = Dims::of_rank(static_cast<int>(count));
  int left = -1;
  bool zero = false, copied[max_rank]{}, used[max_rank]{};
  for (int k = 0; k < r.rank(); ++k) {
    const Dim d = at(k);
    if (d.is(-1)) {
      if (left >= 0) return i.fail("more than one extent is -1"), Dims{};
      left = k;
    } else if (d.is(0) && !allow_zero) {
      if (!x.ranked()) continue;
      if (k >= x.rank())
        return i.fail("extent 0 at axis ", k, " stands for none of the input's axes ", x), Dims{};
      r[k] = x[k];
      copied[k] = used[k] = true;
    } else if (d.known() && d.value() < -1) {
      return i.fail("extent ", d, " is negative"), Dims{};
    } else {
      r[k] = d;
      zero |= d.is(0);
    }
  }
  if (left >= 0 && zero && allow_zero) return i.fail("with allowzero, -1 and 0 exclude each other"), Dims{};
  if (!x.ranked()) return r;
  if (left >= 0) {
    // Extents that the input has too cancel out, so that neither a symbol nor a 0 among them does harm.
    Dim have = 1, given = 1;
    for (int k = 0; k < r.rank(); ++k) {
      bool cancelled = k == left || copied[k];
      for (int j = 0; j < x.rank() && !cancelled; ++j)
        if (!used[j] && x[j].same(r[k])) cancelled = used[j] = true;
      if (!cancelled) given = given * r[k];
    }
    for (int j = 0; j < x.rank(); ++j)
      if (!used[j]) have = have * x[j];
    if (have.known() && given.known()) {
      if (given.is(0) ? !have.is(0) : have.value() % given.value() != 0)
        return i.fail("the elements of ", x, " do not divide into ", r), Dims{};
      r[left] = given.is(0) ? 0 : have.value() / given.value();
    } else if (given.is(1)) {
      r[left] = have;
    }
  }
  if (x.known() && r.known() && x.count().differs(r.count())) return i.fail(x, " cannot become ", r), Dims{};
  return r;
}
}  // namespace reshape_detail

/// At most one requested extent is -1: what the others leave. 0 copies the input's extent, or with
/// `allowzero` is 0. Version 1 without extents makes a scalar.
struct Reshape {
  int64_t allowzero = 0;

  static constexpr Spec spec{.name = "Reshape",
                             .since = {1, 5, 13, 14, 19, 21, 23, 24, 25},
                             .inputs = {{"data", "T"}, {.name = "shape", .type = "tensor(int64)", .since = 5}},
                             .outputs = {{"reshaped", "T"}},
                             .types = {every_type("T", {{1, types::floats}, {5, types::all}})},
                             .memory = Memory::alias};
  static constexpr Attributes attributes{attr("allowzero", &Reshape::allowzero).since(14), consumed_inputs.until(4),
                                         attr_as_input<std::vector<int64_t>>("shape", 1).until(4)};

  constexpr void infer(Infer& i) const {
    const Dims& shape = i.dims(1);
    if (!i.expect_rank(1, 1)) return;
    propagate(i);
    if (!i.has(1)) return i.out(0, reshape_detail::reshaped(i, i.dims(0), 0, false, [](int) { return Dim(); }));
    if (i.has_elements(1))
      i.out(0,
            reshape_detail::reshaped(i, i.dims(0), i.element_count(1), allowzero != 0, [&](int k) { return i.element(1, k); }));
    else if (shape.ranked() && shape[0].known() && shape[0].value() <= max_rank)
      i.out(0, reshape_detail::reshaped(i, i.dims(0), shape[0].value(), allowzero != 0, [](int) { return Dim::unknown(); }));
  }
  void compute(AnyView data, TensorView<const int64_t>, AnyOut reshaped) const {
    copy_elements(data, reshaped);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
