#include "tenon/op/tensor/identity.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Identity: tensors") {
  const op::TypeVars tensors{{"V", types::all_ir13}};
  for_types(tensors[0], [&](DType d) {
    const Value x = pattern(d, {3, 5});
    const Value y = run(op::Identity{}, {x})[0];
    CHECK(y.tensor().data() == x.tensor().data());  // shared
    check_moved(y.tensor(), x.tensor(), {3, 5}, [](const Extents& i) { return place({3, 5}, i); });
    if (!op::Identity::spec.types[1].at(13).contains(d)) return;
    check_moved(run(op::Identity{}, {x}, 1, 13)[0].tensor(), x.tensor(), {3, 5},
                [](const Extents& i) { return place({3, 5}, i); });
  });
  check(op::Identity{}, {t<float>({}, {1})}, {t<float>({}, {1})});
  check(op::Identity{}, {t<float>({0}, {})}, {t<float>({0}, {})}, 0, 0, 1);
  for (int version : op::Identity::spec.since)
    check(stated<op::Identity>(version), {t<float>({2}, {1, 2})}, {t<float>({2}, {1, 2})}, 0, 0);
}

TEST_CASE("Identity: sequences and optionals") {
  const Value s = Sequence{DType::float32, {t<float>({1}, {1}), t<float>({2}, {2, 3})}};
  check(op::Identity{}, {s}, {s}, 0, 0, 14);
  check(op::Identity{}, {s}, {s});
  const Value some = OptionalValue{DType::float32, std::make_shared<const Value>(t<float>({1}, {4}))};
  const Value nothing = OptionalValue{Type(Kind::sequence, DType::int64), nullptr};
  check(op::Identity{}, {some}, {some}, 0, 0, 16);
  check(op::Identity{}, {nothing}, {nothing});
  check_fails(op::Identity{}, {some}, "input cannot be", 1, 14);
  check_fails(op::Identity{}, {cast<uint2>({1}, {1})}, "input cannot be", 1, 24);
  for (int version : {1, 13}) {
    check_fails(op::Identity{}, {s}, "input cannot be", 1, version);
    check_fails(op::Identity{}, {some}, "input cannot be", 1, version);
  }
  check_fails(op::Identity{}, {cast<bfloat16>({1}, {1})}, "input cannot be tensor(bfloat16)", 1, 1);
}

TEST_CASE("Identity: a lent tensor is copied, so that the result outlives it") {
  Value y;
  {
    const Tensor<float, Shape<2>> x{1, 2};
    y = op::Identity{}(x);
  }
  check_equal(y, t<float>({2}, {1, 2}));
}

TEST_CASE("Identity: symbols and values") {
  const auto n = Dim::symbol(1);
  const auto r = infer(op::Identity{}, {info(DType::int64, {2}, {n, 3})})[0];
  CHECK((r.dims == Dims{2} && r.type == Type(DType::int64) && r.propagated[0].same(n)));
  CHECK_FALSE(infer(op::Identity{}, {info(DType::float32, {})}, 1, 13)[0].dims.ranked());
}
}  // namespace tenon
