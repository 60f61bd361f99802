#include "tenon/op/nn/flatten.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Flatten: cases") {
  const struct {
    Extents in;
    int64_t axis;
    Extents out;
  } rows[] = {{{2, 3, 4}, 1, {2, 12}}, {{2, 3, 4}, 0, {1, 24}}, {{2, 3, 4}, 3, {24, 1}},
              {{2, 3, 4}, 2, {6, 4}},  {{2, 3, 4}, -1, {6, 4}}, {{2, 3, 4}, -3, {1, 24}},
              {{5}, 1, {5, 1}},        {{}, 0, {1, 1}},         {{}, 1, {1, 1}},
              {{0, 3}, 1, {0, 3}}};
  for (const auto& row : rows)
    for_types(op::Flatten::spec.types[0], [&](DType d) {
      const Value x = pattern(d, row.in);
      check_moved(run(op::Flatten{.axis = row.axis}, {x})[0].tensor(), x.tensor(), row.out,
                  [&](const Extents& i) { return place(row.out, i); });
    });
  const Value large = pattern(DType::uint8, {1, 3000, 1000});
  const WithThreads threads;
  check_moved(run(op::Flatten{.axis = 2}, {large})[0].tensor(), large.tensor(), {3000, 1000},
              [&](const Extents& i) { return place({3000, 1000}, i); });
}

TEST_CASE("Flatten: errors") {
  const Value x = t<float>({2, 1}, {1, 2});
  check_fails(op::Flatten{.axis = 3}, {x}, "axis 3 outside of [-2, 2]");
  check_fails(op::Flatten{.axis = -3}, {x}, "axis -3 outside of [-2, 2]");
  check_fails(op::Flatten{}, {t<int32_t>({1}, {1})}, "input cannot be tensor(int32)", 1, 1);
}

TEST_CASE("Flatten: what inference of files refuses") {
  const auto message = [](int64_t axis, int version, const Dims& x) {
    const op::Flatten flatten{.axis = axis};
    std::vector<op::Info> out(1);
    return any(flatten, version).infer(std::vector{info(DType::float32, x)}, out);
  };
  CHECK(message(-1, 9, {2, 3}).view() == "axis -1, before version 11 expected at least 0");
  CHECK(message(-1, 9, {2, 3}).of_files());
  CHECK(message(1, 13, Dims::of_rank(0)).of_files());
  CHECK(message(-1, 11, {2, 3}).view().empty());
  CHECK(message(0, 9, {2, 3}).view().empty());
}

TEST_CASE("Flatten: symbols, typed") {
  const auto n = Dim::symbol(1);
  CHECK(infer(op::Flatten{}, {info(DType::float32, {n, 3, 4})})[0].dims == Dims{n, 12});
  CHECK(infer(op::Flatten{}, {info(DType::float32, {2, n, 4})})[0].dims == Dims{2, Dim()});
  CHECK(infer(op::Flatten{}, {info(DType::float32, {})})[0].dims == Dims::of_rank(2));
  auto y = apply<op::Flatten{}>(Tensor<float, Shape<1, 2, 1>>{{{4}, {5}}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<1, 2>>>);
  CHECK(y(0, 1) == 5);
}
}  // namespace tenon
