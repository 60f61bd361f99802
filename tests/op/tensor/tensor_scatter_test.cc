#include "tenon/op/tensor/tensor_scatter.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("TensorScatter: cases") {
  const Value x = t<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6}), u = t<float>({2, 2, 1}, {7, 8, 9, 10});
  const Value wide = t<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  struct Row {
    op::TensorScatter op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, u}, t<float>({2, 3, 1}, {7, 8, 3, 9, 10, 6})},
      {{}, {x, u, t<int64_t>({2}, {1, 0})}, t<float>({2, 3, 1}, {1, 7, 8, 9, 10, 6})},
      {{.mode = "circular"}, {x, u, t<int64_t>({2}, {2, 4})}, t<float>({2, 3, 1}, {8, 2, 7, 4, 9, 10})},
      {{.mode = "circular"}, {x, u, t<int64_t>({2}, {-1, 0})}, t<float>({2, 3, 1}, {8, 2, 7, 9, 10, 6})},
      {{.mode = "circular"}, {x, t<float>({2, 0, 1}, {}), t<int64_t>({2}, {-7, 9})}, x},
      {{.axis = 2},
       {wide, t<float>({1, 2, 1}, {7, 8}), t<int64_t>({1}, {2})},
       t<float>({1, 2, 3}, {1, 2, 7, 4, 5, 8})},
      {{.axis = -1, .mode = "circular"},
       {wide, t<float>({1, 2, 2}, {7, 8, 9, 10}), t<int64_t>({1}, {2})},
       t<float>({1, 2, 3}, {8, 2, 7, 10, 5, 9})},
      {{}, {x, t<float>({2, 0, 1}, {}), t<int64_t>({2}, {3, 3})}, x},
      {{}, {t<float>({0, 3, 1}, {}), t<float>({0, 1, 1}, {})}, t<float>({0, 3, 1}, {})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
}

TEST_CASE("TensorScatter: every type, also packed ones") {
  for_types(op::TensorScatter::spec.types[0], [&](DType d) {
    const Value x = pattern(d, {2, 3, 5, 3}), u = pattern(d, {2, 3, 2, 3}, 9);
    const AnyTensor y =
        run(op::TensorScatter{.mode = "circular"}, {x, u, t<int64_t>({2}, {4, 1})})[0].tensor().clone();
    int wrong = 0;
    for (int64_t k = 0; k < y.size(); ++k) {
      const int64_t b = k / 45, m = k / 15 % 3, s = k / 3 % 5, e = k % 3, at = (s - (b ? 1 : 4) + 5) % 5;
      wrong += element(y, k) !=
               (at < 2 ? element(u.tensor(), ((b * 3 + m) * 2 + at) * 3 + e) : element(x.tensor(), k));
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("TensorScatter: errors, symbols, typed") {
  const Value x = t<float>({1, 3, 1}, {1, 2, 3}), u = t<float>({1, 2, 1}, {7, 8});
  check_fails(op::TensorScatter{}, {x, u, t<int64_t>({1}, {2})}, "2 entries from 2 on leave a cache of 3");
  check_fails(op::TensorScatter{}, {x, u, t<int64_t>({1}, {-1})}, "2 entries from -1 on leave a cache of 3");
  check_fails(op::TensorScatter{}, {x, t<float>({1, 0, 1}, {}), t<int64_t>({1}, {-1})},
              "0 entries from -1 on leave a cache of 3");
  check_fails(op::TensorScatter{}, {x, u, t<int64_t>({1}, {INT64_MAX})}, "leave a cache of 3");
  check_fails(op::TensorScatter{.mode = "wrap"}, {x, u}, "mode: 'wrap', expected linear or circular");
  check_fails(op::TensorScatter{.axis = 0}, {x, u}, "axis 0 is the batch");
  check_fails(op::TensorScatter{.axis = 3}, {x, u}, "axis 3 outside");
  check_fails(op::TensorScatter{}, {x, t<float>({1, 4, 1}, {1, 2, 3, 4})},
              "has more entries than past_cache");
  check_fails(op::TensorScatter{}, {x, t<float>({1, 1, 2}, {1, 2})},
              "extents of past_cache and update differ");
  check_fails(op::TensorScatter{}, {x, t<float>({1, 1}, {1})}, "update: rank 2, expected 3");
  check_fails(op::TensorScatter{}, {x, u, t<int64_t>({2}, {0, 0})},
              "extents of write_indices and the batch differ");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::TensorScatter{}, {info(DType::float32, {n, 8, 4}), info(DType::float32, {})})[0].dims ==
        Dims{n, 8, 4});
  auto y = apply<op::TensorScatter{}>(Tensor<float, Shape<1, 2, 2>>{{{{1, 2}, {3, 4}}}},
                                      Tensor<float, Shape<1, 2, 2>>{{{{5, 6}, {7, 8}}}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<1, 2, 2>>>);
  CHECK(y[0] == 5);
}
}  // namespace tenon
