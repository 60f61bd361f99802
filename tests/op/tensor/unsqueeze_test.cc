#include "tenon/op/tensor/unsqueeze.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Unsqueeze: cases") {
  const Value x = t<float>({2}, {1, 2});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{x, t<int64_t>({1}, {0})}, t<float>({1, 2}, {1, 2})},
      {{x, t<int64_t>({1}, {-1})}, t<float>({2, 1}, {1, 2})},
      {{x, t<int64_t>({}, {1})}, t<float>({2, 1}, {1, 2})},
      {{x, t<int64_t>({3}, {3, 0, 1})}, t<float>({1, 1, 2, 1}, {1, 2})},
      {{x, t<int64_t>({0}, {})}, x},
      {{t<float>({}, {3}), t<int64_t>({2}, {0, 1})}, t<float>({1, 1}, {3})},
      {{t<float>({0}, {}), t<int64_t>({1}, {0})}, t<float>({1, 0}, {})},
      {{t<std::string>({2}, {"a", "b"}), t<int64_t>({1}, {1})}, t<std::string>({2, 1}, {"a", "b"})},
  };
  for (const Row& row : rows) check(op::Unsqueeze{}, row.in, {row.out});
  for (int version : {1, 11}) {
    CAPTURE(version);
    const auto unsqueeze = [&](const ints& axes) { return stated<op::Unsqueeze>(version, {{"axes", axes}}); };
    check(unsqueeze({0, 2}), {x}, {t<float>({1, 2, 1}, {1, 2})}, 0, 0);
    check(unsqueeze({-1}), {x}, {t<float>({2, 1}, {1, 2})}, 0, 0);
    check(unsqueeze({}), {x}, {x}, 0, 0);
    check_fails(unsqueeze({5}), {x}, "axis 5 outside");
    check_fails(unsqueeze({0, -3}), {x}, "axis -3 is named twice");
    check_fails(unsqueeze({0}), {cast<bfloat16>({1}, {1})}, "data cannot be tensor(bfloat16)");
    check_fails(unsqueeze({0}), {x, t<int64_t>({1}, {0})}, "has no input axes at version");
    check_refused<op::Unsqueeze>(version, {}, "attribute 'axes' is required");
    const Dim n = Dim::symbol(1);
    CHECK(infer(unsqueeze({1}), {info(DType::float32, {n, 2})}).dims == Dims{n, 1, 2});
  }
  for (int version : {13, 21, 23, 24, 25})
    check(stated<op::Unsqueeze>(version), {x, t<int64_t>({1}, {0})}, {t<float>({1, 2}, {1, 2})}, 0, 0);
  check_refused<op::Unsqueeze>(13, {{"axes", ints{0}}}, "version 13 has no attribute 'axes'");
  for_types(op::Unsqueeze::spec.types[0], [&](DType d) {
    const Value p = pattern(d, {3, 5});
    check_moved(run(op::Unsqueeze{}, {p, t<int64_t>({1}, {1})})[0].tensor(), p.tensor(), {3, 1, 5},
                [](const Extents& i) { return place({3, 1, 5}, i); });
  });
}

TEST_CASE("Unsqueeze: errors") {
  const Value x = t<float>({2}, {1, 2});
  check_fails(op::Unsqueeze{}, {x, t<int64_t>({1}, {2})}, "axis 2 outside of [-2, 1]");
  check_fails(op::Unsqueeze{}, {x, t<int64_t>({2}, {0, -3})}, "axis -3 is named twice");
  check_fails(op::Unsqueeze{}, {x, pattern(DType::int64, {16})}, "rank 17 is above 16");
  check_fails(op::Unsqueeze{}, {x, t<int64_t>({1}, {INT64_MIN})}, "input 1 holds a number out of range");
  check_fails(op::Unsqueeze{}, {x}, "input axes is missing");
}

TEST_CASE("Unsqueeze: symbols, values, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::Unsqueeze{}, {info(f, {n, 2}), info(l, {2}, {1, -1})})[0].dims == Dims{n, 1, 2, 1});
  CHECK(infer(op::Unsqueeze{}, {info(f, {n, 2}), info(l, {2})})[0].dims == Dims::of_rank(4));
  CHECK_FALSE(infer(op::Unsqueeze{}, {info(f, {n, 2}), info(l, {})})[0].dims.ranked());
  const auto v = infer(op::Unsqueeze{}, {info(l, Dims::of_rank(0), {n}), info(l, {1}, {0})})[0];
  CHECK((v.dims == Dims{1} && v.propagated.size() == 1 && v.propagated[0].same(n)));
  auto y = op::Unsqueeze{}(Tensor<float, Shape<2>>{4, 5}, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<1, 2>>>);
  CHECK(y(0, 1) == 5);
}
}  // namespace tenon
