#include "tenon/op/tensor/pad.hpp"

#include "tenon/graph/session.hpp"
#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {
Value vec(const std::vector<int64_t>& v) {
  return Tensor<int64_t>({static_cast<int64_t>(v.size())}, v.begin(), v.end());
}
}  // namespace

TEST_CASE("Pad: one axis") {
  const struct {
    const char* mode;
    std::vector<int32_t> in;
    int64_t front, back;
    std::vector<int32_t> out;
  } rows[] = {
      {"constant", {1, 2, 3}, 2, 1, {9, 9, 1, 2, 3, 9}},
      {"constant", {1, 2, 3}, -1, 2, {2, 3, 9, 9}},
      {"constant", {1, 2, 3}, -2, -1, {}},
      {"constant", {1, 2, 3}, -5, 4, {9, 9}},
      {"constant", {1, 2, 3}, 4, -5, {9, 9}},
      {"constant", {1, 2, 3}, 1, -2, {9, 1}},
      {"constant", {}, 1, 1, {9, 9}},
      {"edge", {1, 2, 3}, 2, 3, {1, 1, 1, 2, 3, 3, 3, 3}},
      {"edge", {1, 2, 3}, -1, 2, {2, 3, 3, 3}},
      {"edge", {}, 0, 0, {}},
      {"reflect", {1, 2, 3, 4}, 2, 3, {3, 2, 1, 2, 3, 4, 3, 2, 1}},
      {"reflect", {1, 2, 3}, 5, 6, {2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1}},
      {"reflect", {1}, 2, 1, {1, 1, 1, 1}},
      {"reflect", {1, 2, 3, 4}, -1, 2, {2, 3, 4, 3, 2}},
      {"wrap", {1, 2, 3}, 2, 1, {2, 3, 1, 2, 3, 1}},
      {"wrap", {1, 2, 3}, 4, 5, {3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2}},
      {"wrap", {1, 2, 3}, -1, 1, {2, 3, 2}},
      {"wrap", {7}, 2, 0, {7, 7, 7}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.mode);
    CAPTURE(row.front);
    CAPTURE(row.back);
    auto tensor = [](const std::vector<int32_t>& v) {
      return Tensor<int32_t>({static_cast<int64_t>(v.size())}, v.begin(), v.end());
    };
    check(op::Pad{.mode = row.mode}, {tensor(row.in), vec({row.front, row.back}), t<int32_t>({}, {9})},
          {tensor(row.out)});
  }
}

TEST_CASE("Pad: cases") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  struct Row {
    op::Pad op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, vec({0, 1, 1, 0})}, t<float>({3, 3}, {0, 1, 2, 0, 3, 4, 0, 0, 0})},
      {{}, {x, vec({1, 0}), t<float>({1}, {7}), vec({-1})}, t<float>({2, 3}, {7, 1, 2, 7, 3, 4})},
      {{}, {x, vec({0, 1, 0, -1}), Value(), t<int32_t>({2}, {1, 0})}, t<float>({2, 2}, {0, 0, 1, 2})},
      {{}, {x, vec({}), Value(), vec({})}, x},
      {{.mode = "edge"}, {x, vec({1, 1, 0, 0})}, t<float>({3, 3}, {1, 1, 2, 1, 1, 2, 3, 3, 4})},
      {{.mode = "reflect"}, {x, vec({1, 1, 0, 0})}, t<float>({3, 3}, {4, 3, 4, 2, 1, 2, 4, 3, 4})},
      {{.mode = "wrap"}, {x, vec({0, 1, 1, 0})}, t<float>({3, 3}, {2, 1, 2, 4, 3, 4, 2, 1, 2})},
      {{}, {t<float>({}, {5}), vec({})}, t<float>({}, {5})},
      {{}, {t<float>({0, 1}, {}), vec({1, 0, 0, 1})}, t<float>({1, 2}, {0, 0})},
      {{.mode = "edge"}, {t<float>({0, 1}, {}), vec({0, 2, 0, 1})}, t<float>({0, 4}, {})},
      {{}, {t<bool>({1}, {true}), vec({1, 1})}, t<bool>({3}, {false, true, false})},
      {{}, {t<std::string>({1}, {"a"}), vec({1, 0})}, t<std::string>({2}, {"", "a"})},
      {{},
       {t<std::string>({1}, {"a"}), vec({1, 0}), t<std::string>({}, {"-"})},
       t<std::string>({2}, {"-", "a"})},
      {{.mode = "reflect"},
       {t<std::string>({2}, {"a", "b"}), vec({1, 1})},
       t<std::string>({4}, {"b", "a", "b", "a"})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  check(op::Pad{}, {x, vec({0, 1, 1, 0})}, {t<float>({3, 3}, {0, 1, 2, 0, 3, 4, 0, 0, 0})}, 0, 0, 11);
  // Nothing takes long although the pads are many.
  check(op::Pad{.mode = "reflect"}, {t<float>({0, 2}, {}), vec({0, int64_t{1} << 40, 0, 0})},
        {t<float>({0, (int64_t{1} << 40) + 2}, {})});
}

TEST_CASE("Pad: every type, against the definition") {
  const WithThreads threads;
  const struct {
    Extents extents, front, back;
  } rows[] = {{{3, 4}, {2, 1}, {1, 3}},
              {{3, 4, 2}, {-1, 5, 1}, {2, -2, 0}},
              {{2, 3, 1, 5}, {1, 2, 3, 4}, {4, 3, 2, 1}},
              {{4, 8}, {2, 4}, {2, 8}},
              {{3, 4, 5}, {1, 2, 0}, {2, 1, 0}},
              {{2, 2, 70}, {0, 1, 3}, {1, 0, 2}},
              {{200, 300}, {100, 50}, {120, 450}},
              {{150001}, {7, 0}, {149000, 0}}};
  for (const auto& row : rows)
    for (const char* mode : {"constant", "edge", "reflect", "wrap"})
      for_types(op::Pad::spec.types[0], [&](DType d) {
        const int rank = row.extents.size();
        // What threads share is cut alike for all element sizes: one of each kind will do.
        const bool large = element_count(row.extents) > 10000;
        if (large && d != DType::float32 && d != DType::int4 && d != DType::string) return;
        const Value x = pattern(d, row.extents), one = pattern(d, {1}, 99);
        std::vector<int64_t> pads;
        Extents out = row.extents;
        for (int a = 0; a < rank; ++a) pads.push_back(row.front[a]), out[a] += row.front[a] + row.back[a];
        for (int a = 0; a < rank; ++a) pads.push_back(row.back[a]);
        const Value y = run(op::Pad{.mode = mode}, {x, vec(pads), one})[0];
        REQUIRE(y.tensor().extents() == out);
        // The definition: each axis' index after cutting, mapped into the rest.
        for (int64_t k = 0; k < y.tensor().size(); ++k) {
          Extents from = Extents::filled(rank, 0);
          bool outside = false;
          for (int64_t rest = k, a = rank; a-- > 0; rest /= out[a]) {
            const int64_t first = std::max<int64_t>(0, -row.front[a]);
            const int64_t n = row.extents[a] - first - std::max<int64_t>(0, -row.back[a]);
            int64_t i = rest % out[a] - std::max<int64_t>(0, row.front[a]);
            outside |= i < 0 || i >= n;
            if (mode[0] == 'e') i = std::clamp<int64_t>(i, 0, n - 1);
            if (mode[0] == 'w') i = (i % n + n) % n;
            if (mode[0] == 'r') {
              const int64_t period = std::max<int64_t>(1, 2 * (n - 1));
              i = (i % period + period) % period;
              i = std::min(i, period - i) % std::max<int64_t>(n, 1);
            }
            from[a] = first + i;
          }
          const bool value = mode[0] == 'c' && outside;
          const AnyTensor& source = value ? one.tensor() : x.tensor();
          if (element(y.tensor(), k) == element(source, value ? 0 : place(row.extents, from))) continue;
          FAIL_CHECK(mode, ": element ", k);
          return;
        }
      });
}

TEST_CASE("Pad: versions 1 and 2 state pads and value as attributes") {
  const Value out = t<float>({1, 4}, {9, 1, 2, 9});
  for (int version : {1, 2}) {
    CAPTURE(version);
    const char* pads = version == 1 ? "paddings" : "pads";
    const auto pad = [&](const ints& list, Attributes others = {}) {
      others.emplace_back(pads, list);
      return stated<op::Pad>(version, others);
    };
    const auto value = [](float v) { return Attributes{{"value", v}}; };
    const auto mode = [](const char* name) { return Attributes{{"mode", std::string(name)}}; };
    check(pad({0, 1, 0, 1}, value(9)), {t<float>({1, 2}, {1, 2})}, {out});
    check(pad({0, 1, 0, 1}), {t<float>({1, 2}, {1, 2})}, {t<float>({1, 4}, {0, 1, 2, 0})});
    check(pad({1, 0}, value(2.5f)), {cast<float16>({1}, {1})}, {cast<float16>({2}, {2.5, 1})});
    check(pad({1, 0}, value(2.5f)), {t<double>({1}, {1})}, {t<double>({2}, {2.5, 1})});
    check(pad({1, 0}), {cast<float16>({1}, {1})}, {cast<float16>({2}, {0, 1})});
    check(pad({1, 0}), {t<double>({1}, {1})}, {t<double>({2}, {0, 1})});
    check(pad({1, -1}, mode("edge")), {t<float>({2}, {1, 2})}, {t<float>({2}, {1, 1})});
    check(pad({1, 0}, mode("reflect")), {t<float>({2}, {1, 2})}, {t<float>({3}, {2, 1, 2})});
    check(pad({1, 0}, mode("constant")), {t<float>({2}, {1, 2})}, {t<float>({3}, {0, 1, 2})});
    check(pad({}), {t<float>({}, {1})}, {t<float>({}, {1})});
    const Dim n = Dim::symbol(1);
    CHECK(infer(pad({0, 1, 0, 2}), {info(DType::float32, {n, 3})}).dims == Dims{n, 6});
    check_fails(pad({1, 1, 1}), {t<float>({1}, {1})}, "3 pads for 1 axes");
    check_fails(pad({1, 1}), {t<float>({}, {1})}, "2 pads for 0 axes");
    check_fails(pad({1, 0}), {t<int32_t>({1}, {1})}, "data cannot be tensor(int32)");
    check_fails(pad({1, 0}), {t<std::string>({1}, {"a"})}, "data cannot be tensor(string)");
    check_fails(pad({1, 0}), {t<float>({1}, {1}), vec({1, 0})}, "has no input pads at version");
    check_refused<op::Pad>(version, {}, str_cat("attribute '", pads, "' is required"));

    // The border has the data's type, which only the run may know.
    for (const Value& x : {t<float>({1}, {1}), t<double>({1}, {1}), cast<float16>({1}, {1})}) {
      Graph g;
      const ValueId in = g.add_input("x", Type(Kind::unknown, DType::undefined), Dims::of_rank(1));
      const std::string name[] = {"y"};
      g.add_output("y", g.add_node("pad", pad({1, 0}, value(2.5f)).op, {in}, name)[0]);
      check_equal(Session(std::move(g)).run({{"x", x}})["y"], run(pad({1, 0}, value(2.5f)), {x})[0]);
    }
  }
  check_refused<op::Pad>(2, {{"paddings", ints{0, 0}}}, "version 2 has no attribute 'paddings'");
  check_refused<op::Pad>(1, {{"pads", ints{0, 0}}}, "version 1 has no attribute 'pads'");
  for (const char* name : {"pads", "paddings"})
    check_refused<op::Pad>(11, {{name, ints{0, 0}}}, "version 11 has no attribute");
  check_refused<op::Pad>(11, {{"value", 1.0f}}, "version 11 has no attribute 'value'");
  for (int version : {11, 13, 18, 19, 21, 23, 24, 25})
    check(stated<op::Pad>(version), {t<float>({1}, {1}), vec({1, 0}), t<float>({}, {9})},
          {t<float>({2}, {9, 1})});
}

TEST_CASE("Pad: errors") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::Pad{.mode = "mirror"}, {x, vec({0, 0, 0, 0})},
              "mode: 'mirror', expected constant, reflect, edge or wrap");
  check_fails(op::Pad{}, {x, vec({0, 0})}, "2 pads for 2 axes");
  check_fails(op::Pad{}, {x, vec({0, 0}), Value(), vec({0, 1})}, "2 pads for 2 axes");
  check_fails(op::Pad{}, {x, vec({0, 0, 0, 0}), Value(), vec({0, -2})}, "axis -2 is named twice");
  check_fails(op::Pad{}, {x, vec({0, 0}), Value(), vec({2})}, "axis 2 outside");
  check_fails(op::Pad{}, {x, vec({0, 0, 0, 0, 0, 0}), Value(), vec({0, 1, 1})}, "pads 3 axes of a rank of 2");
  check_fails(op::Pad{}, {x, vec({-1, 0, -2, 0})}, "pads -1 and -2 do not fit an extent of 2");
  check_fails(op::Pad{}, {x, vec({INT64_MAX, 0, INT64_MAX, 0})}, "do not fit");
  check_fails(op::Pad{}, {x, vec({INT64_MIN, 0, 0, 0})}, "");
  check_fails(op::Pad{}, {x, vec({0, 0, 0, 0}), t<float>({2}, {1, 2})},
              "constant_value: (2), expected one element");
  check_fails(op::Pad{}, {x, t<int64_t>({1, 4}, {0, 0, 0, 0})}, "pads: rank 2, expected 1");
  check_fails(op::Pad{.mode = "edge"}, {t<float>({0}, {}), vec({1, 0})},
              "mode 'edge' has nothing to repeat on axis 0");
  const Value two = t<float>({2}, {1, 2});
  const std::string_view late = "mode 'wrap' is there since version 19";
  for (int version : {11, 13, 18}) check_fails(op::Pad{.mode = "wrap"}, {two, vec({1, 1})}, late, 1, version);
  check_fails(stated<op::Pad>(2, {{"mode", std::string("wrap")}, {"pads", ints{1, 1}}}), {two}, late);
  check_fails(stated<op::Pad>(1, {{"mode", std::string("wrap")}, {"paddings", ints{1, 1}}}), {two}, late);
  check(op::Pad{.mode = "wrap"}, {two, vec({1, 1})}, {t<float>({4}, {2, 1, 2, 1})}, 0, 0, 19);
  check_fails(op::Pad{.mode = "wrap"}, {two, vec({-2, 1})}, "mode 'wrap' has nothing to repeat");
  check_fails(op::Pad{}, {x, vec({0, 0}), Value(), vec({0})}, "input axes cannot be", 1, 13);
}

TEST_CASE("Pad: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::Pad{}, {info(f, {n, 3}), info(l, {4}, {0, 1, 0, 2})})[0].dims == Dims{n, 6});
  CHECK(infer(op::Pad{}, {info(f, {n, 3}), info(l, {4}, {1, 1, 0, n})})[0].dims == Dims{Dim(), Dim()});
  CHECK(infer(op::Pad{}, {info(f, {n, 3}), info(l, {2}, {1, 1}), {}, info(l, {1}, {1})})[0].dims ==
        Dims{n, 5});
  CHECK(infer(op::Pad{}, {info(f, {n, 3}), info(l, {2}), {}, info(l, {1}, {1})})[0].dims == Dims{n, Dim()});
  CHECK(infer(op::Pad{}, {info(f, {n, 3}), info(l, {2}), {}, info(l, {1})})[0].dims == Dims::of_rank(2));
  CHECK(infer(op::Pad{}, {info(f, {n, 3}), info(l, {}), {}, info(l, {})})[0].dims == Dims::of_rank(2));
  CHECK_FALSE(infer(op::Pad{}, {info(f, {}), info(l, {4})})[0].dims.ranked());
  auto y = apply<op::Pad{}>(Tensor<float, Shape<2>>{4, 5}, constant<int64_t, 1, 2>, 7.0f);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<5>>>);
  CHECK((y[0] == 7 && y[1] == 4 && y[4] == 7));
}
}  // namespace tenon
