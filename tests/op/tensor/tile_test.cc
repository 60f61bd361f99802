#include "tenon/op/tensor/tile.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Tile: cases") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  struct Row {
    Value in, repeats, out;
  } rows[] = {
      {x, t<int64_t>({2}, {1, 2}), t<float>({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})},
      {x, t<int64_t>({2}, {2, 1}), t<float>({4, 2}, {1, 2, 3, 4, 1, 2, 3, 4})},
      {x, t<int64_t>({2}, {1, 1}), x},
      {x, t<int64_t>({2}, {0, 2}), t<float>({0, 4}, {})},
      {t<float>({0, 2}, {}), t<int64_t>({2}, {3, 2}), t<float>({0, 4}, {})},
      {t<float>({}, {5}), t<int64_t>({0}, {}), t<float>({}, {5})},
      {t<std::string>({2}, {"a", "b"}), t<int64_t>({1}, {2}), t<std::string>({4}, {"a", "b", "a", "b"})},
  };
  for (const Row& row : rows) check(op::Tile{}, {row.in, row.repeats}, {row.out});
  check(op::Tile{}, {x, t<int64_t>({2}, {1, 1})}, {x}, 0, 0, 6);
}

TEST_CASE("Tile: every type, against the definition") {
  const WithThreads threads;
  const struct {
    Extents extents, repeats;
  } rows[] = {{{3, 2, 5}, {2, 1, 3}},
              {{1, 7}, {3, 2}},
              {{3, 1}, {1, 9}},
              {{30, 70}, {20, 11}},
              // More loops than a plan of copies holds.
              {{2, 2, 2, 2, 2, 2, 2, 2, 2}, {2, 2, 2, 2, 2, 2, 1, 2, 2}},
              {{2, 2, 2, 2, 2, 2, 2, 2, 2}, {2, 2, 2, 2, 2, 2, 2, 2, 2}}};
  for (const auto& row : rows)
    for_types(op::Tile::spec.types[0], [&](DType d) {
      Extents out = row.extents;
      for (int a = 0; a < out.size(); ++a) out[a] *= row.repeats[a];
      if (out.size() == 9 && d != DType::float32) return;  // once is enough
      const Value x = pattern(d, row.extents);
      const Tensor<int64_t> repeats({row.repeats.size()}, row.repeats.begin(), row.repeats.end());
      check_moved(run(op::Tile{}, {x, repeats})[0].tensor(), x.tensor(), out, [&](Extents index) {
        for (int a = 0; a < index.size(); ++a) index[a] %= row.extents[a];
        return place(row.extents, index);
      });
    });
}

TEST_CASE("Tile: version 1 repeats along one axis") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check(op::Tile_1{}, {x, t<float>({}, {2}), t<float>({}, {1})},
        {t<float>({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})});
  check(op::Tile_1{}, {x, t<float>({1}, {2}), t<float>({1}, {-2})},
        {t<float>({4, 2}, {1, 2, 3, 4, 1, 2, 3, 4})});
  const Value h = cast<float16>({1}, {3}), d = t<double>({1}, {3});
  check(op::Tile_1{}, {h, cast<float16>({}, {2}), cast<float16>({}, {0})}, {cast<float16>({2}, {3, 3})});
  check(op::Tile_1{}, {d, t<double>({}, {2}), t<double>({}, {0})}, {t<double>({2}, {3, 3})});
  check_fails(op::Tile_1{}, {x, t<float>({}, {-1}), t<float>({}, {0})}, "tiles: -1, expected at least 0");
  check_fails(op::Tile_1{}, {x, t<float>({}, {1}), t<float>({}, {2})}, "axis 2 outside");
  check_fails(op::Tile_1{}, {x, t<float>({2}, {1, 1}), t<float>({}, {0})},
              "tiles: (2), expected one element");
  check(stated<op::Tile_1>(1), {x, t<float>({}, {2}), t<float>({}, {1})},
        {t<float>({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})});
  check(stated<op::Tile_1>(1), {x, t<float>({1}, {2}), t<float>({1}, {-2})},
        {t<float>({4, 2}, {1, 2, 3, 4, 1, 2, 3, 4})});
  check_fails(stated<op::Tile_1>(1), {x, t<float>({}, {1}), t<float>({}, {2})}, "axis 2 outside");
  for (int version : {6, 13})
    check(stated<op::Tile>(version), {x, t<int64_t>({2}, {1, 2})},
          {t<float>({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})});
  const auto f = DType::float32;
  CHECK(infer(op::Tile_1{}, {info(f, {2, 3}), info(f, {1}), info(f, {1})})[0].dims == Dims::of_rank(2));
}

TEST_CASE("Tile: errors") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::Tile{}, {x, t<int64_t>({1}, {2})}, "1 repeats for a rank of 2");
  check_fails(op::Tile{}, {x, t<int64_t>({2}, {2, -1})}, "repeats: -1, expected at least 0");
  check_fails(op::Tile{}, {x, t<int64_t>({1, 2}, {2, 1})}, "repeats: rank 2, expected 1");
  check_fails(op::Tile{}, {x, t<int64_t>({2}, {INT64_MAX, INT64_MAX})}, "the extent of axis 0 overflows");
}

TEST_CASE("Tile: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::Tile{}, {info(f, {n, 3}), info(l, {2}, {1, 2})})[0].dims == Dims{n, 6});
  CHECK(infer(op::Tile{}, {info(f, {1, 3}), info(l, {2}, {n, 2})})[0].dims == Dims{n, 6});
  CHECK(infer(op::Tile{}, {info(f, {1, 3}), info(l, {2})})[0].dims == Dims::of_rank(2));
  CHECK(infer(op::Tile{}, {info(f, {}), info(l, {2})})[0].dims.rank() == 2);
  auto y = op::Tile{}(Tensor<float, Shape<2>>{4, 5}, constant<int64_t, 2>);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<4>>>);
  CHECK(y[3] == 5);
}
}  // namespace tenon
