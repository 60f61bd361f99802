#include "tenon/op/math/clip.hpp"

#include "tenon/graph/session.hpp"
#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Clip: bounds are inputs") {
  const Value x = t<float>({2, 2}, {-INFINITY, -1, 3, NAN});
  const Value absent, low = t<float>({}, {-2}), high = t<float>({}, {2});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{x}, x},
      {{t<float>({2}, {-INFINITY, INFINITY}), low}, t<float>({2}, {-2, INFINITY})},
      {{x, low}, t<float>({2, 2}, {-2, -1, 3, NAN})},
      {{x, absent, high}, t<float>({2, 2}, {-INFINITY, -1, 2, NAN})},
      {{x, low, high}, t<float>({2, 2}, {-2, -1, 2, NAN})},
      {{x, high, low}, t<float>({2, 2}, {-2, -2, -2, NAN})},  // min above max: all are max
      {{t<float>({}, {5}), low, high}, t<float>({}, {2})},
      {{t<float>({0}, {}), low, high}, t<float>({0}, {})},
      {{t<float>({1}, {5}), t<float>({1}, {-1}), t<float>({1, 1}, {1})}, t<float>({1}, {1})},
      {{t<double>({2}, {1e300, 0}), absent, t<double>({}, {1e200})}, t<double>({2}, {1e200, 0})},
      {{t<int8_t>({3}, {-128, 0, 127}), t<int8_t>({}, {-5}), t<int8_t>({}, {5})}, t<int8_t>({3}, {-5, 0, 5})},
      {{t<int64_t>({2}, {INT64_MAX, INT64_MIN}), t<int64_t>({}, {INT64_MIN + 1})},
       t<int64_t>({2}, {INT64_MAX, INT64_MIN + 1})},
      {{t<uint64_t>({2}, {UINT64_MAX, 0}), absent, t<uint64_t>({}, {UINT64_MAX - 1})},
       t<uint64_t>({2}, {UINT64_MAX - 1, 0})},
      {{t<uint16_t>({2}, {9, 1}), t<uint16_t>({}, {2})}, t<uint16_t>({2}, {9, 2})},
      {{cast<float16>({3}, {-INFINITY, 1, 3}), absent, cast<float16>({}, {2})},
       cast<float16>({3}, {-INFINITY, 1, 2})},
      {{cast<bfloat16>({3}, {-9, 1, INFINITY}), cast<bfloat16>({}, {0})},
       cast<bfloat16>({3}, {0, 1, INFINITY})},
  };
  for (const Row& row : rows) check(op::Clip{}, row.in, {row.out});
  check_in_place(op::Clip{}, {x, low, high}, 0);
  check_in_place(op::Clip{}, {t<float>({}, {5}), low, high}, 2);
}

TEST_CASE("Clip: bounds are attributes") {
  const float most = std::numeric_limits<float>::max();
  const Value x = t<float>({4}, {-INFINITY, -1, 3, NAN});
  const auto clip_6 = [](const Attributes& a) { return stated<op::Clip>(6, a); };
  check(clip_6({}), {x}, {t<float>({4}, {-most, -1, 3, NAN})});
  check(clip_6({{"max", 2.0f}, {"min", -2.0f}}), {x}, {t<float>({4}, {-2, -1, 2, NAN})});
  check(clip_6({{"max", 2.0f}}), {cast<float16>({2}, {-9, 9})}, {cast<float16>({2}, {-9, 2})});
  check(clip_6({{"max", 2.0f}}), {x}, {t<float>({4}, {-most, -1, 2, NAN})});
  check(clip_6({{"min", 0.0f}}), {t<float>({2}, {-1, INFINITY})}, {t<float>({2}, {0, most})});
  const Value finite = t<double>({3}, {-1e300, 1, 1e300}), within = t<double>({3}, {-double{most}, 1, most});
  check(clip_6({}), {finite}, {within});
  check(clip_6({{"max", 0.5f}}), {finite}, {t<double>({3}, {-double{most}, 0.5, 0.5})});
  const Value half = cast<float16>({4}, {-INFINITY, -7, 65504, INFINITY});
  check(clip_6({}), {half}, {half});  // no float16 is beyond the range of float
  check(clip_6({{"max", 1.5f}, {"min", -2.5f}}), {half}, {cast<float16>({4}, {-2.5, -2.5, 1.5, 1.5})});
  check(clip_6({{"max", -1.0f}, {"min", 1.0f}}), {t<float>({2}, {-9, 9})}, {t<float>({2}, {-1, -1})});
  check(clip_6({}), {t<float>({0}, {})}, {t<float>({0}, {})});
  check_in_place(op::Clip{}, {x, t<float>({}, {-most}), t<float>({}, {2})}, 0);

  const auto clip_1 = [](const Attributes& a) { return stated<op::Clip>(1, a); };
  check(clip_1({}), {x}, {x});
  check(clip_1({{"min", 0.0f}}), {x}, {t<float>({4}, {0, 0, 3, NAN})});
  check(clip_1({{"max", 0.0f}}), {x}, {t<float>({4}, {-INFINITY, -1, 0, NAN})});
  check(clip_1({{"max", 0.0f}, {"min", -1.5f}}), {t<double>({2}, {-2, 2})}, {t<double>({2}, {-1.5, 0})});
  check(clip_1({{"consumed_inputs", ints{0}}}), {x}, {x});
  check(clip_1({}), {finite}, {finite});

  for (int version : {11, 12, 13})
    check(stated<op::Clip>(version), {x, Value(), t<float>({}, {2})},
          {t<float>({4}, {-INFINITY, -1, 2, NAN})});
  CHECK(infer(clip_6({}), {info(DType::float16, {Dim::unknown(), 3})}).type == Type(DType::float16));
}

TEST_CASE("Clip: bounds are attributes, and only the run knows the type") {
  const float most = std::numeric_limits<float>::max();
  struct Row {
    int version;
    Attributes attributes;
    Value x, y;
  } rows[] = {
      {6, {{"max", 1.5f}}, t<float>({3}, {-9, 1, 9}), t<float>({3}, {-9, 1, 1.5})},
      {6, {{"max", 1.5f}}, t<double>({3}, {-1e300, 1, 9}), t<double>({3}, {-double{most}, 1, 1.5})},
      {6, {}, t<double>({2}, {-1e300, 1e300}), t<double>({2}, {-double{most}, most})},
      {6, {{"min", -2.5f}}, cast<float16>({2}, {-INFINITY, 3}), cast<float16>({2}, {-2.5, 3})},
      {1, {{"min", -2.5f}}, cast<float16>({2}, {-INFINITY, INFINITY}), cast<float16>({2}, {-2.5, INFINITY})},
      {1, {}, t<double>({1}, {1e300}), t<double>({1}, {1e300})},
  };
  for (const Row& row : rows) {
    Graph g;
    const ValueId x = g.add_input("x", Type(Kind::unknown, DType::undefined), Dims());
    const std::string name[] = {"y"};
    g.add_output("y", g.add_node("clip", stated<op::Clip>(row.version, row.attributes).op, {x}, name)[0]);
    const Session s(std::move(g));
    for (int time = 0; time < 2; ++time) check_equal(s.run({{"x", row.x}})["y"], row.y);
  }
}

TEST_CASE("Clip: errors and typed calls") {
  const Value x = t<float>({2}, {1, 2});
  check_fails(op::Clip{}, {x, x}, "min: (2), expected one element");
  check_fails(op::Clip{}, {x, Value(), t<float>({0}, {})}, "max: (0), expected one element");
  check_fails(op::Clip{}, {x, t<double>({}, {1})}, "input min is tensor(double), but T is tensor(float)");
  check_fails(op::Clip{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, 11);
  for (int version : {1, 6}) {
    CAPTURE(version);
    check_fails(stated<op::Clip>(version), {t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
    check_fails(stated<op::Clip>(version), {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)");
    check_fails(stated<op::Clip>(version), {t<std::string>({1}, {"a"})}, "cannot be tensor(string)");
    check_fails(stated<op::Clip>(version), {x, t<float>({}, {1})}, "has no input min at version");
  }
  check_refused<op::Clip>(6, {{"consumed_inputs", ints{0}}}, "version 6 has no attribute 'consumed_inputs'");
  check_refused<op::Clip>(11, {{"max", 1.0f}}, "version 11 has no attribute 'max'");
  check_refused<op::Clip>(6, {{"max", int64_t{1}}}, "attribute 'max' takes FLOAT");
  check_refused<op::Clip>(6, {{"max", 1.0f}, {"max", 2.0f}}, "attribute 'max' is given twice");

  const auto y = op::Clip{}(Tensor<float, Shape<2>>{-1, 9}, none, 6.0f);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y[0] == -1);
  CHECK(y[1] == 6);
}
}  // namespace tenon
