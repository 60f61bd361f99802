#include "tenon/op/tensor/space_to_depth.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("SpaceToDepth: every type, against the definition") {
  const Extents in{2, 2, 6, 15}, out{2, 18, 2, 5};
  for_types(op::SpaceToDepth::spec.types[0], [&](DType d) {
    const Value x = pattern(d, in);
    check_moved(run(op::SpaceToDepth{.blocksize = 3}, {x})[0].tensor(), x.tensor(), out,
                [&](const Extents& i) {
                  const int64_t block = i[1] / 2;
                  return place(in, {i[0], i[1] % 2, i[2] * 3 + block / 3, i[3] * 3 + block % 3});
                });
  });
}

TEST_CASE("SpaceToDepth: cases") {
  const Value x = t<int32_t>({1, 1, 2, 4}, {0, 6, 1, 7, 12, 18, 13, 19});
  for (int version : {1, 13})
    check(op::SpaceToDepth{.blocksize = 2}, {x}, {t<int32_t>({1, 4, 1, 2}, {0, 1, 6, 7, 12, 13, 18, 19})}, 0,
          0, version);
  check(op::SpaceToDepth{.blocksize = 1}, {x}, {x});
  check(op::SpaceToDepth{.blocksize = 2}, {t<float>({0, 1, 2, 2}, {})}, {t<float>({0, 4, 1, 1}, {})});
}

TEST_CASE("SpaceToDepth: errors") {
  const Value x = pattern(DType::float32, {1, 1, 4, 6});
  check_fails(op::SpaceToDepth{}, {x}, "blocksize: 0, expected at least 1");
  check_fails(op::SpaceToDepth{.blocksize = 3}, {x}, "do not divide into blocks of 3 by 3");
  check_fails(op::SpaceToDepth{.blocksize = 4}, {x}, "do not divide into blocks of 4 by 4");
  check_fails(op::SpaceToDepth{.blocksize = INT64_MAX}, {x}, "is too large");
  check_fails(op::SpaceToDepth{.blocksize = 2}, {t<float>({1}, {1})}, "input: rank 1, expected 4");
}

TEST_CASE("SpaceToDepth: symbols, typed") {
  const auto n = Dim::symbol(1);
  CHECK(infer(op::SpaceToDepth{.blocksize = 2}, {info(DType::float32, {n, 2, 6, Dim()})})[0].dims ==
        Dims{n, 8, 3, Dim()});
  CHECK(infer(op::SpaceToDepth{.blocksize = 2}, {info(DType::float32, {})})[0].dims == Dims::of_rank(4));
  auto y = apply<op::SpaceToDepth{.blocksize = 2}>(Tensor<float, Shape<1, 1, 2, 2>>{{{{1, 2}, {3, 4}}}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<1, 4, 1, 1>>>);
  CHECK(y[2] == 3);
}
}  // namespace tenon
