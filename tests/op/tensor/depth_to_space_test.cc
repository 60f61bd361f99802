#include "tenon/op/tensor/depth_to_space.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("DepthToSpace: cases") {
  const Value x = t<float>({1, 8, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61, 70, 71});
  check(op::DepthToSpace{.blocksize = 2}, {x},
        {t<float>({1, 2, 2, 4}, {0, 20, 1, 21, 40, 60, 41, 61, 10, 30, 11, 31, 50, 70, 51, 71})});
  check(op::DepthToSpace{.blocksize = 2, .mode = "CRD"}, {x},
        {t<float>({1, 2, 2, 4}, {0, 10, 1, 11, 20, 30, 21, 31, 40, 50, 41, 51, 60, 70, 61, 71})});
  check(op::DepthToSpace{.blocksize = 1}, {x}, {x});
  check(op::DepthToSpace{.blocksize = 2}, {t<float>({0, 4, 1, 1}, {})}, {t<float>({0, 1, 2, 2}, {})}, 0, 0,
        1);
}

TEST_CASE("DepthToSpace: every type, against the definition") {
  const Extents in{2, 18, 2, 5}, out{2, 2, 6, 15};
  for (const char* mode : {"DCR", "CRD"})
    for_types(op::DepthToSpace::spec.types[0], [&](DType d) {
      const Value x = pattern(d, in);
      check_moved(run(op::DepthToSpace{.blocksize = 3, .mode = mode}, {x})[0].tensor(), x.tensor(), out,
                  [&](const Extents& i) {
                    const int64_t block = i[2] % 3 * 3 + i[3] % 3;
                    const int64_t c = mode[0] == 'D' ? block * 2 + i[1] : i[1] * 9 + block;
                    return place(in, {i[0], c, i[2] / 3, i[3] / 3});
                  });
    });
}

TEST_CASE("DepthToSpace: errors") {
  const Value x = pattern(DType::float32, {1, 8, 1, 1});
  check_fails(op::DepthToSpace{}, {x}, "blocksize: 0, expected at least 1");
  check_fails(op::DepthToSpace{.blocksize = 0}, {x}, "blocksize: 0, expected at least 1");
  check_fails(op::DepthToSpace{.blocksize = 3}, {x}, "8 channels do not divide into blocks of 3 by 3");
  check_fails(op::DepthToSpace{.blocksize = INT64_MAX}, {x}, "is too large");
  check_fails(op::DepthToSpace{.blocksize = 2, .mode = "RDC"}, {x}, "mode: 'RDC', expected DCR or CRD");
  check_fails(op::DepthToSpace{.blocksize = 2}, {t<float>({1}, {1})}, "input: rank 1, expected 4");
}

TEST_CASE("DepthToSpace: symbols, typed") {
  const auto n = Dim::symbol(1);
  CHECK(infer(op::DepthToSpace{.blocksize = 2}, {info(DType::float32, {n, 8, 3, Dim()})})[0].dims ==
        Dims{n, 2, 6, Dim()});
  CHECK(infer(op::DepthToSpace{.blocksize = 2}, {info(DType::float32, {})})[0].dims == Dims::of_rank(4));
  auto y =
      apply<op::DepthToSpace{.blocksize = 2}>(Tensor<float, Shape<1, 4, 1, 1>>{{{{1}}, {{2}}, {{3}}, {{4}}}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<1, 1, 2, 2>>>);
  CHECK(y(0, 0, 1, 0) == 3);
}
}  // namespace tenon
