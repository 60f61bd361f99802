#include "tenon/op/tensor/squeeze.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Squeeze: cases") {
  const Value x = t<float>({1, 2, 1}, {1, 2});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{x}, t<float>({2}, {1, 2})},
      {{x, t<int64_t>({1}, {0})}, t<float>({2, 1}, {1, 2})},
      {{x, t<int64_t>({2}, {-1, 0})}, t<float>({2}, {1, 2})},
      {{x, t<int64_t>({0}, {})}, x},
      {{t<float>({1, 1}, {3})}, t<float>({}, {3})},
      {{t<float>({1, 0}, {}), t<int64_t>({1}, {0})}, t<float>({0}, {})},
      {{t<std::string>({1, 2}, {"a", "b"})}, t<std::string>({2}, {"a", "b"})},
  };
  for (const Row& row : rows) check(op::Squeeze{}, row.in, {row.out});
  for (int version : {1, 11}) {
    CAPTURE(version);
    const auto squeeze = [&](const ints& axes) { return stated<op::Squeeze>(version, {{"axes", axes}}); };
    check(op::Squeeze{}, {x}, {t<float>({2}, {1, 2})}, 0, 0, version);
    check(stated<op::Squeeze>(version), {x}, {t<float>({2}, {1, 2})}, 0, 0);
    check(squeeze({}), {x}, {t<float>({2}, {1, 2})}, 0, 0);  // as if there were none
    check(squeeze({2}), {x}, {t<float>({1, 2}, {1, 2})}, 0, 0);
    check(squeeze({-1, 0}), {x}, {t<float>({2}, {1, 2})}, 0, 0);
    check_fails(squeeze({1}), {x}, "axis 1 of (1,2,1) is not 1");
    check_fails(squeeze({3}), {x}, "axis 3 outside of [-3, 2]");
    check_fails(squeeze({0, -3}), {x}, "axis -3 is named twice");
    check_fails(squeeze({0}), {cast<bfloat16>({1}, {1})}, "data cannot be tensor(bfloat16)");
    check_fails(stated<op::Squeeze>(version), {x, t<int64_t>({1}, {0})}, "has no input axes at version");
    const Dim n = Dim::symbol(1);
    CHECK(infer(squeeze({1}), {info(DType::float32, {n, 1, 2})}).dims == Dims{n, 2});
  }
  for (int version : {13, 21, 23, 24, 25})
    check(stated<op::Squeeze>(version), {x, t<int64_t>({1}, {0})}, {t<float>({2, 1}, {1, 2})}, 0, 0);
  check_refused<op::Squeeze>(13, {{"axes", ints{0}}}, "version 13 has no attribute 'axes'");
  for_types(op::Squeeze::spec.types[0], [&](DType d) {
    const Value p = pattern(d, {3, 1, 5});
    check_moved(run(op::Squeeze{}, {p})[0].tensor(), p.tensor(), {3, 5},
                [](const Extents& i) { return place({3, 5}, i); });
  });
}

TEST_CASE("Squeeze: errors") {
  const Value x = t<float>({1, 2, 1}, {1, 2});
  check_fails(op::Squeeze{}, {x, t<int64_t>({1}, {1})}, "axis 1 of (1,2,1) is not 1");
  check_fails(op::Squeeze{}, {x, t<int64_t>({1}, {3})}, "axis 3 outside of [-3, 2]");
  check_fails(op::Squeeze{}, {x, t<int64_t>({2}, {0, -3})}, "axis -3 is named twice");
  check_fails(op::Squeeze{}, {x, pattern(DType::int64, {33})}, "too many");
  check_fails(op::Squeeze{}, {t<float>({3}, {1, 2, 3}), t<int64_t>({1}, {INT64_MIN})},
              "input 1 holds a number out of range");
}

TEST_CASE("Squeeze: symbols, values, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::Squeeze{}, {info(f, {n, 1, 2}), info(l, {1}, {1})})[0].dims == Dims{n, 2});
  CHECK(infer(op::Squeeze{}, {info(f, {n, 1, 2}), info(l, {1}, {0})})[0].dims == Dims{1, 2});
  CHECK(infer(op::Squeeze{}, {info(f, {n, 1, 2}), info(l, {2})})[0].dims == Dims::of_rank(1));
  CHECK_FALSE(infer(op::Squeeze{}, {info(f, {n, 1, 2}), info(l, {})})[0].dims.ranked());
  CHECK_FALSE(infer(op::Squeeze{}, {info(f, {n, 1, 2})})[0].dims.ranked());
  CHECK(infer(op::Squeeze{}, {info(f, {3, 1, 2})})[0].dims == Dims{3, 2});
  const auto v = infer(op::Squeeze{}, {info(l, {1}, {n}), info(l, {1}, {0})})[0];
  CHECK((v.dims == Dims::of_rank(0) && v.propagated.size() == 1 && v.propagated[0].same(n)));
  auto y = op::Squeeze{}(Tensor<float, Shape<1, 2>>{{4, 5}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2>>>);
  CHECK(y[1] == 5);
}
}  // namespace tenon
