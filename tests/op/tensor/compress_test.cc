#include "tenon/op/tensor/compress.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Compress: cases") {
  const Value x = t<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  struct Row {
    Opt<int64_t> axis;
    Value data, condition, out;
  } rows[] = {
      {0, x, t<bool>({3}, {false, true, true}), t<float>({2, 2}, {3, 4, 5, 6})},
      {1, x, t<bool>({2}, {false, true}), t<float>({3, 1}, {2, 4, 6})},
      {-1, x, t<bool>({1}, {true}), t<float>({3, 1}, {1, 3, 5})},
      {{}, x, t<bool>({5}, {false, true, false, false, true}), t<float>({2}, {2, 5})},
      {0, x, t<bool>({3}, {false, false, false}), t<float>({0, 2}, {})},
      {0, x, t<bool>({0}, {}), t<float>({0, 2}, {})},
      {1, x, t<bool>({4}, {false, true, true, false}), t<float>({3, 1}, {2, 4, 6})},
      {{}, x, t<bool>({7}, {false, false, false, false, false, true, true}), t<float>({1}, {6})},
      {{}, t<float>({0}, {}), t<bool>({1}, {true}), t<float>({0}, {})},
      {0, t<std::string>({2}, {"a", "b"}), t<bool>({2}, {false, true}), t<std::string>({1}, {"b"})},
  };
  for (const Row& row : rows) {
    check(op::Compress{.axis = row.axis}, {row.data, row.condition}, {row.out});
    check(op::Compress{.axis = row.axis}, {row.data, row.condition}, {row.out}, 0, 0, 9);
  }
  check(stated<op::Compress>(9, {{"axis", int64_t{0}}}), {x, rows[0].condition}, {rows[0].out});
}

TEST_CASE("Compress: every type") {
  const Extents in{3, 4, 2};
  for_types(op::Compress::spec.types[0], [&](DType d) {
    const Value x = pattern(d, in);
    check_moved(run(op::Compress{.axis = 1}, {x, t<bool>({4}, {true, false, false, true})})[0].tensor(),
                x.tensor(), {3, 2, 2}, [&](Extents i) { return place(in, {i[0], i[1] * 3, i[2]}); });
  });
}

TEST_CASE("Compress: errors") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4}), c = t<bool>({1}, {true});
  check_fails(op::Compress{.axis = 2}, {x, c}, "axis 2 outside");
  check_fails(op::Compress{}, {t<float>({}, {1}), c}, "input: rank 0, expected at least 1");
  check_fails(op::Compress{}, {x, t<bool>({}, {true})}, "condition: rank 0, expected 1");
}

TEST_CASE("Compress: symbols, typed") {
  const auto n = Dim::symbol(1);
  CHECK(infer(op::Compress{.axis = 1}, {info(DType::float32, {n, 2}), info(DType::bool_, {2})})[0].dims ==
        Dims{n, Dim()});
  CHECK(infer(op::Compress{.axis = 1}, {info(DType::float32, {n, 2}), info(DType::bool_, {2}, {1, 0})})[0]
            .dims == Dims{n, 1});
  CHECK(infer(op::Compress{}, {info(DType::float32, {}), info(DType::bool_, {2})})[0].dims == Dims{Dim()});
  auto y = apply<op::Compress{.axis = 0}>(Tensor<float, Shape<3>>{1, 2, 3},
                                          Tensor<bool, Shape<3>>{true, false, true});
  CHECK(y.size() == 2);
  CHECK(y[1] == 3);
}
}  // namespace tenon
