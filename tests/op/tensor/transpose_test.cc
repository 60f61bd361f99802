#include "tenon/op/tensor/transpose.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Transpose: cases") {
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check(op::Transpose{}, {x}, {t<float>({3, 2}, {1, 4, 2, 5, 3, 6})});
  check(op::Transpose{.perm = {0, 1}}, {x}, {x});
  check(op::Transpose{}, {t<float>({}, {7})}, {t<float>({}, {7})});
  check(op::Transpose{.perm = {0}}, {t<int8_t>({3}, {1, 2, 3})}, {t<int8_t>({3}, {1, 2, 3})}, 0, 0, 1);
  check(op::Transpose{.perm = {2, 0, 1}}, {t<float>({2, 0, 3}, {})}, {t<float>({3, 2, 0}, {})});
}

TEST_CASE("Transpose: every type, against the definition") {
  const struct {
    Extents extents, perm;
  } rows[] = {{{2, 3}, {1, 0}},
              {{3, 5, 2}, {2, 1, 0}},
              {{3, 5, 2}, {1, 0, 2}},
              {{4, 2, 3, 5}, {0, 2, 1, 3}},
              {{1, 3, 1, 4}, {3, 2, 1, 0}},
              {{2, 2, 2, 2, 2}, {4, 2, 0, 1, 3}},
              {{7, 9}, {1, 0}},
              {{6, 8, 4}, {0, 2, 1}}};
  for (const auto& row : rows)
    for_types(op::Transpose::spec.types[0], [&](DType d) {
      const Value x = pattern(d, row.extents);
      const Value y = run(op::Transpose{.perm = Ints(row.perm.begin(), row.perm.end())}, {x})[0];
      Extents extents;
      for (int64_t p : row.perm) extents.push_back(row.extents[p]);
      check_moved(y.tensor(), x.tensor(), extents, [&](const Extents& index) {
        Extents from = index;
        for (int a = 0; a < index.size(); ++a) from[row.perm[a]] = index[a];
        return place(row.extents, from);
      });
    });
}

TEST_CASE("Transpose: large, in parallel") {
  const WithThreads threads;
  for (DType d : {DType::uint8, DType::float32, DType::int4, DType::uint2}) {
    const Extents extents{130, 257, 6};
    const Value x = pattern(d, extents);
    check_moved(run(op::Transpose{.perm = {1, 0, 2}}, {x})[0].tensor(), x.tensor(), {257, 130, 6},
                [&](const Extents& i) { return place(extents, {i[1], i[0], i[2]}); });
    check_moved(run(op::Transpose{}, {x})[0].tensor(), x.tensor(), {6, 257, 130},
                [&](const Extents& i) { return place(extents, {i[2], i[1], i[0]}); });
  }
}

TEST_CASE("Transpose: errors") {
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check_fails(op::Transpose{.perm = {0}}, {x}, "perm: 1 entries, expected 2");
  check_fails(op::Transpose{.perm = {0, 0}}, {x}, "no permutation: 0");
  check_fails(op::Transpose{.perm = {0, 2}}, {x}, "no permutation: 2");
  check_fails(op::Transpose{.perm = {0, -1}}, {x}, "no permutation: -1");
  check_fails(op::Transpose{}, {cast<bfloat16>({1}, {1})}, "data cannot be tensor(bfloat16)", 1, 1);
}

TEST_CASE("Transpose: symbols and values") {
  const auto n = Dim::symbol(1);
  CHECK(infer(op::Transpose{.perm = {2, 0, 1}}, {info(DType::float32, {n, 2, Dim()})})[0].dims ==
        Dims{Dim(), n, 2});
  CHECK(infer(op::Transpose{.perm = {1, 0}}, {info(DType::float32, {})})[0].dims.rank() == 2);
  CHECK_FALSE(infer(op::Transpose{}, {info(DType::float32, Dims())})[0].dims.ranked());
  const auto v = infer(op::Transpose{}, {info(DType::int64, {2, 2}, {1, n, 3, 4})})[0].propagated;
  CHECK((v[0].is(1) && v[1].is(3) && v[2].same(n) && v[3].is(4)));
}

TEST_CASE("Transpose: typed") {
  const Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  auto y = apply<op::Transpose{.perm = {1, 0}}>(x);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<3, 2>>>);
  CHECK(y(2, 1) == 6);
}
}  // namespace tenon
