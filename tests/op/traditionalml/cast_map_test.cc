#include "tenon/op/traditionalml/cast_map.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CastMap: cases") {
  using i64 = int64_t;
  const auto map = [](std::initializer_list<i64> keys, Value values) {
    return Value(Map{t<i64>({static_cast<i64>(keys.size())}, keys).tensor(), values.tensor()});
  };
  const Value texts = map({2, 0, 1}, t<std::string>({3}, {"3", "-1.5", "2.5f"}));
  const Value floats = map({3, 1}, t<float>({2}, {2.75f, -1}));
  const Value whole = map({5, -7}, t<std::string>({2}, {"12", "-3.0"}));
  struct Row {
    op::CastMap op;
    Value x, y;
  } rows[] = {
      {{}, texts, t<float>({1, 3}, {-1.5f, 2.5f, 3})},
      {{.cast_to = "TO_STRING"}, texts, t<std::string>({1, 3}, {"-1.5", "2.5f", "3"})},
      {{.cast_to = "TO_INT64"}, whole, t<i64>({1, 2}, {-3, 12})},
      {{}, floats, t<float>({1, 2}, {-1, 2.75f})},
      {{.cast_to = "TO_INT64"}, floats, t<i64>({1, 2}, {-1, 2})},
      {{.cast_to = "TO_STRING"}, floats, t<std::string>({1, 2}, {"-1.000000", "2.750000"})},
      {{.map_form = "SPARSE", .max_map = 5}, floats, t<float>({1, 5}, {0, -1, 0, 2.75f, 0})},
      {{.cast_to = "TO_STRING", .map_form = "SPARSE", .max_map = 3},
       texts,
       t<std::string>({1, 3}, {"-1.5", "2.5f", "3"})},
      {{.cast_to = "TO_INT64", .map_form = "SPARSE", .max_map = 4}, floats, t<i64>({1, 4}, {0, -1, 0, 2})},
      {{.map_form = "SPARSE"}, map({}, t<float>({0}, {})), t<float>({1, 1}, {0})},
      {{}, map({}, t<float>({0}, {})), t<float>({1, 0}, {})},
      {{}, map({0}, t<std::string>({1}, {"inf"})), t<float>({1, 1}, {INFINITY})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y}, 0, 0);

  check_fails(op::CastMap{.map_form = "SPARSE", .max_map = 3}, {floats}, "key 3 outside of [0, 3)");
  check_fails(op::CastMap{.map_form = "SPARSE", .max_map = 9}, {whole}, "key -7 outside of [0, 9)");
  check_fails(op::CastMap{.map_form = "SPARSE", .max_map = -1}, {floats}, "max_map: -1, expected at least 0");
  check_fails(op::CastMap{.cast_to = "TO_DOUBLE"}, {floats}, "cast_to: 'TO_DOUBLE', expected");
  check_fails(op::CastMap{.map_form = "dense"}, {floats}, "map_form: 'dense', expected DENSE or SPARSE");
  check_fails(op::CastMap{}, {map({0}, t<std::string>({1}, {"f"}))}, "'f' is no float");
  check_fails(op::CastMap{}, {map({0}, t<double>({1}, {1}))}, "X cannot be");
  check_fails(op::CastMap{}, {t<float>({1}, {1})}, "X cannot be");
}

TEST_CASE("CastMap: rule") {
  op::Info x;
  x.type = Type(Kind::map, DType::string, DType::int64);
  CHECK(infer(op::CastMap{}, {x})[0].dims == Dims{1, Dim()});
  CHECK(infer(op::CastMap{.map_form = "SPARSE", .max_map = 4}, {x})[0].dims == Dims{1, 4});
  CHECK(infer(op::CastMap{.cast_to = "TO_INT64"}, {x})[0].type == Type(DType::int64));
}
}  // namespace tenon
