#include "tenon/op/math/mod.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Mod: cases") {
  const op::Mod mod{}, fmod{.fmod = 1};
  const float nan = std::nanf(""), inf = INFINITY;
  const Value a = t<int32_t>({6}, {-4, 7, 5, 4, -7, 8}), b = t<int32_t>({6}, {2, -3, 8, -2, 3, 5});
  struct Row {
    op::Mod op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {mod, {a, b}, t<int32_t>({6}, {0, -2, 5, 0, 2, 3})},
      {fmod, {a, b}, t<int32_t>({6}, {0, 1, 5, 0, -1, 3})},
      {mod, {t<int64_t>({2, 1}, {7, -7}), t<int64_t>({2}, {3, -3})}, t<int64_t>({2, 2}, {1, -2, 2, -1})},
      {fmod, {t<int64_t>({2, 1}, {7, -7}), t<int64_t>({2}, {3, -3})}, t<int64_t>({2, 2}, {1, 1, -1, -1})},
      // the least integer over -1 overflows
      {mod, {t<int32_t>({1}, {INT32_MIN}), t<int32_t>({}, {-1})}, t<int32_t>({1}, {0})},
      {fmod, {t<int64_t>({1}, {INT64_MIN}), t<int64_t>({}, {-1})}, t<int64_t>({1}, {0})},
      {mod, {t<int64_t>({1}, {-1}), t<int64_t>({}, {INT64_MAX})}, t<int64_t>({1}, {INT64_MAX - 1})},
      {mod, {t<int8_t>({2}, {-128, 127}), t<int8_t>({2}, {3, -128})}, t<int8_t>({2}, {1, -1})},
      {mod, {t<int16_t>({2}, {-7, 7}), t<int16_t>({2}, {4, -4})}, t<int16_t>({2}, {1, -1})},
      {mod, {t<uint8_t>({2}, {255, 7}), t<uint8_t>({}, {16})}, t<uint8_t>({2}, {15, 7})},
      {fmod, {t<uint16_t>({1}, {65535}), t<uint16_t>({}, {16})}, t<uint16_t>({1}, {15})},
      {mod, {t<uint32_t>({1}, {UINT32_MAX}), t<uint32_t>({}, {16})}, t<uint32_t>({1}, {15})},
      {mod, {t<uint64_t>({1}, {UINT64_MAX}), t<uint64_t>({}, {16})}, t<uint64_t>({1}, {15})},
      {fmod,
       {t<float>({4}, {5.5, -5.5, 5.5, -4.25}), t<float>({4}, {2, 2, -2, -2})},
       t<float>({4}, {1.5, -1.5, 1.5, -0.25})},
      {fmod,
       {t<float>({5}, {1, inf, nan, 3, -3}), t<float>({5}, {0, 2, 2, inf, -inf})},
       t<float>({5}, {nan, nan, nan, 3, -3})},
      {fmod, {t<double>({}, {1e17}), t<double>({}, {3})}, t<double>({}, {1})},
      {fmod, {cast<float16>({2}, {5.5, -5.5}), cast<float16>({}, {2})}, cast<float16>({2}, {1.5, -1.5})},
      {fmod, {cast<bfloat16>({2}, {5.5, -5.5}), cast<bfloat16>({}, {2})}, cast<bfloat16>({2}, {1.5, -1.5})},
      {mod, {t<int32_t>({0, 2}, {}), t<int32_t>({1}, {0})}, t<int32_t>({0, 2}, {})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 0, 0);
  for (int version : {10, 13}) {
    check(stated<op::Mod>(version), {a, b}, {t<int32_t>({6}, {0, -2, 5, 0, 2, 3})});
    check(stated<op::Mod>(version, {{"fmod", int64_t{1}}}), {a, b}, {t<int32_t>({6}, {0, 1, 5, 0, -1, 3})});
  }
  check_in_place(mod, {a, t<int32_t>({}, {3})}, 0);
  check_in_place(fmod, {a, b}, 1);
}

TEST_CASE("Mod: errors") {
  for (const op::Mod& op : {op::Mod{}, op::Mod{.fmod = 1}}) {
    check_fails(op, {t<int32_t>({2}, {1, 2}), t<int32_t>({2}, {1, 0})}, "an integer is divided by zero");
    check_fails(op, {t<uint8_t>({}, {1}), t<uint8_t>({}, {0})}, "an integer is divided by zero");
  }
  const Value f = t<float>({1}, {1}), h = cast<float16>({1}, {1}), b = cast<bfloat16>({1}, {1});
  check_fails(op::Mod{}, {f, f}, "fmod: 0, expected 1 for float");
  check_fails(op::Mod{}, {h, h}, "fmod: 0, expected 1 for float16");
  check_fails(op::Mod{.fmod = 1}, {b, b}, "input A cannot be tensor(bfloat16)", 1, 10);
  check_fails(op::Mod{.fmod = 2}, {f, f}, "fmod: 2, expected 0 or 1");
  check_fails(op::Mod{}, {t<bool>({1}, {true}), t<bool>({1}, {true})}, "input A cannot be tensor(bool)");
  check_fails(op::Mod{}, {t<int32_t>({2}, {1, 2}), t<int32_t>({3}, {1, 2, 3})}, "do not broadcast");
}

TEST_CASE("Mod: symbols, typed calls") {
  const auto n = Dim::symbol(1);
  const auto i = DType::int32;
  CHECK(infer(op::Mod{}, {info(i, {n, 1}), info(i, {3})})[0].dims == Dims{n, 3});
  const auto y = apply<op::Mod{}>(Tensor<int32_t, Shape<2>>{-7, 7}, 3);
  static_assert(std::is_same_v<decltype(y), const Tensor<int32_t, Shape<2>>>);
  CHECK(y[0] == 2);
}
}  // namespace tenon
