#include "tenon/op/tensor/slice.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {
Value vec(const std::vector<int64_t>& v) {
  return Tensor<int64_t>({static_cast<int64_t>(v.size())}, v.begin(), v.end());
}
Value ints32(const std::vector<int64_t>& v) {
  std::vector<int32_t> narrow;
  for (int64_t x : v) narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(x, INT32_MIN, INT32_MAX)));
  return Tensor<int32_t>({static_cast<int64_t>(v.size())}, std::move(narrow));
}
}  // namespace

TEST_CASE("Slice: one axis, starts and ends of all sizes") {
  constexpr int64_t least = INT64_MIN, most = INT64_MAX;
  const Value x = t<int32_t>({5}, {0, 1, 2, 3, 4});
  const struct {
    int64_t start, end, step;
    std::vector<int32_t> out;
  } rows[] = {
      {1, 3, 1, {1, 2}},
      {0, most, 1, {0, 1, 2, 3, 4}},
      {-2, most, 1, {3, 4}},
      {-9, 2, 1, {0, 1}},
      {least, -1, 2, {0, 2}},
      {1, 1, 1, {}},
      {3, 1, 1, {}},
      {9, 12, 1, {}},
      {0, 5, 2, {0, 2, 4}},
      {1, 5, 3, {1, 4}},
      {0, 5, most, {0}},
      {4, 0, -1, {4, 3, 2, 1}},
      {-1, least, -1, {4, 3, 2, 1, 0}},
      {most, least + 1, -2, {4, 2, 0}},
      {-1, -most, -1, {4, 3, 2, 1, 0}},
      {3, -6, -1, {3, 2, 1, 0}},
      {3, -5, -1, {3, 2, 1}},
      {0, 4, -1, {}},
      {4, least, least, {4}},
      {4, least, -4, {4, 0}},
      {-9, least, -1, {0}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.start);
    CAPTURE(row.end);
    CAPTURE(row.step);
    const Value y = Tensor<int32_t>({static_cast<int64_t>(row.out.size())}, row.out.begin(), row.out.end());
    check(op::Slice{}, {x, vec({row.start}), vec({row.end}), vec({0}), vec({row.step})}, {y});
    if (row.start == std::clamp<int64_t>(row.start, INT32_MIN, INT32_MAX) || row.step > 0)
      check(op::Slice{}, {x, ints32({row.start}), ints32({row.end}), ints32({-1}), ints32({row.step})}, {y});
    if (row.step == 1)
      check(stated<op::Slice>(1, {{"ends", ints{row.end}}, {"starts", ints{row.start}}}), {x}, {y});
  }
}

TEST_CASE("Slice: several axes") {
  const Value x = t<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{x, vec({1, 0}), vec({2, 3}), vec({0, 1}), vec({1, 2})}, t<float>({1, 2}, {5, 7})},
      {{x, vec({0, 1}), vec({-1, 1000})}, t<float>({1, 3}, {2, 3, 4})},
      {{x, vec({1}), vec({3}), vec({-1})}, t<float>({2, 2}, {2, 3, 6, 7})},
      {{x, vec({1}), vec({2})}, t<float>({1, 4}, {5, 6, 7, 8})},
      {{x, vec({1, 3}), vec({0, 0}), vec({1, 0}), vec({-1, -1})}, t<float>({1, 1}, {6})},
      {{x, vec({20, 20}), vec({-20, -20}), vec({1, 0}), vec({-2, -1})}, t<float>({2, 2}, {8, 6, 4, 2})},
      {{x, vec({0}), vec({0})}, t<float>({0, 4}, {})},
      {{x, vec({}), vec({})}, x},
      {{t<float>({0, 2}, {}), vec({0}), vec({5}), Value(), vec({-1})}, t<float>({0, 2}, {})},
      {{t<float>({}, {3}), vec({}), vec({})}, t<float>({}, {3})},
      {{t<std::string>({3}, {"a", "b", "c"}), vec({2}), vec({-4}), Value(), vec({-2})},
       t<std::string>({2}, {"c", "a"})},
  };
  for (const Row& row : rows) check(op::Slice{}, row.in, {row.out});
  check(op::Slice{}, {x, vec({1}), vec({2}), vec({0})}, {t<float>({1, 4}, {5, 6, 7, 8})}, 0, 0, 10);
  const auto slice_1 = [](const ints& ends, const ints& starts) {
    return stated<op::Slice>(1, {{"ends", ends}, {"starts", starts}});
  };
  check(stated<op::Slice>(1, {{"axes", ints{1}}, {"ends", ints{-1}}, {"starts", ints{1}}}), {x},
        {t<float>({2, 2}, {2, 3, 6, 7})});
  check(stated<op::Slice>(1, {{"axes", ints{-1, 0}}, {"ends", ints{2, 2}}, {"starts", ints{0, 1}}}), {x},
        {t<float>({1, 2}, {5, 6})});
  check(slice_1({1, 2}, {0, 0}), {x}, {t<float>({1, 2}, {1, 2})});
  check(slice_1({}, {}), {x}, {x});
  check(stated<op::Slice>(1, {{"axes", ints{}}, {"ends", ints{1}}, {"starts", ints{0}}}), {x},
        {t<float>({1, 4}, {1, 2, 3, 4})});
  for (int version : {10, 11, 13})
    check(stated<op::Slice>(version), {x, vec({1}), vec({2})}, {t<float>({1, 4}, {5, 6, 7, 8})});
  const Dim n = Dim::symbol(1);
  CHECK(infer(slice_1({INT64_MAX, 3}, {0, 1}), {info(DType::float32, {n, 4})}).dims == Dims{n, 2});
}

TEST_CASE("Slice: every type, against the definition") {
  const WithThreads threads;
  const struct {
    Extents extents, starts, counts, steps;
  } rows[] = {{{5, 7}, {1, 2}, {3, 4}, {1, 1}},
              {{5, 7}, {4, 6}, {5, 3}, {-1, -3}},
              {{4, 6, 8}, {0, 1, 0}, {4, 3, 8}, {1, 2, 1}},
              {{9, 2}, {0, 1}, {9, 1}, {1, 1}},
              {{300, 400}, {10, 7}, {280, 380}, {1, 1}},
              {{300, 400}, {299, 0}, {300, 200}, {-1, 2}}};
  for (const auto& row : rows)
    for_types(op::Slice::spec.types[0], [&](DType d) {
      const Value x = pattern(d, row.extents);
      std::vector<int64_t> ends;
      for (int a = 0; a < row.starts.size(); ++a) {
        const int64_t end = row.starts[a] + row.counts[a] * row.steps[a];
        ends.push_back(end < 0 ? INT64_MIN : end);
      }
      const auto list = [](const Extents& e) { return vec(std::vector<int64_t>(e.begin(), e.end())); };
      const Value y = run(op::Slice{}, {x, list(row.starts), vec(ends), Value(), list(row.steps)})[0];
      check_moved(y.tensor(), x.tensor(), row.counts, [&](Extents index) {
        for (int a = 0; a < index.size(); ++a) index[a] = row.starts[a] + index[a] * row.steps[a];
        return place(row.extents, index);
      });
    });
}

TEST_CASE("Slice: errors") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::Slice{}, {x, vec({0}), vec({1, 1})},
              "lengths of starts, ends, axes and steps differ: 1 and 2");
  check_fails(op::Slice{}, {x, vec({0, 0, 0}), vec({1, 1, 1})}, "slices 3 axes of a rank of 2");
  check_fails(op::Slice{}, {x, vec({0, 0}), vec({1, 1}), vec({1, -1})}, "axis -1 is named twice");
  check_fails(op::Slice{}, {x, vec({0}), vec({1}), vec({2})}, "axis 2 outside of [-2, 1]");
  check_fails(op::Slice{}, {x, vec({0}), vec({1}), vec({0}), vec({0})}, "the step on axis 0 is 0");
  check_fails(op::Slice{}, {x, t<int64_t>({}, {0}), vec({1})}, "starts: rank 0, expected 1");
  check_fails(op::Slice{}, {x, vec({0}), ints32({1})}, "tensor(int32)");
  const auto slice_1 = [](const ints& ends, const ints& starts, Attributes others = {}) {
    others.emplace_back("ends", ends);
    others.emplace_back("starts", starts);
    return stated<op::Slice>(1, others);
  };
  check_fails(slice_1({1}, {0, 0}), {x}, "lengths of starts, ends, axes and steps differ: 2 and 1");
  check_fails(slice_1({1}, {0}, {{"axes", ints{0, 1}}}), {x},
              "lengths of starts, ends, axes and steps differ: 1 and 2");
  check_fails(slice_1({1, 1, 1}, {0, 0, 0}), {x}, "slices 3 axes of a rank of 2");
  check_fails(slice_1({1, 1}, {0, 0}, {{"axes", ints{1, -1}}}), {x}, "axis -1 is named twice");
  check_fails(slice_1({1}, {0}, {{"axes", ints{2}}}), {x}, "axis 2 outside of [-2, 1]");
  check_fails(slice_1({1}, {0}), {cast<bfloat16>({1}, {1})}, "data cannot be tensor(bfloat16)");
  check_fails(slice_1({1}, {0}), {x, vec({0}), vec({1})}, "has no input starts at version 1");
  check_refused<op::Slice>(1, {{"ends", ints{1}}}, "attribute 'starts' is required");
  check_refused<op::Slice>(1, {{"starts", ints{1}}}, "attribute 'ends' is required");
  check_throws([&] { return slice_1({1}, {0}, {{"steps", ints{1}}}); }, "version 1 has no attribute 'steps'");
  check_refused<op::Slice>(10, {{"starts", ints{1}}}, "version 10 has no attribute 'starts'");
}

TEST_CASE("Slice: symbols and values") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  auto one = [&](Dim start, Dim end, Dim step) {
    return infer(op::Slice{}, {info(f, {n, 4}), info(l, {1}, {start}), info(l, {1}, {end}), info(l, {1}, {0}),
                               info(l, {1}, {step})})[0]
        .dims;
  };
  CHECK(one(0, INT64_MAX, 1) == Dims{n, 4});
  CHECK(one(0, INT32_MAX, 1) == Dims{n, 4});
  CHECK(one(0, n, 1) == Dims{n, 4});
  CHECK(one(-1, INT32_MIN, -1) == Dims{n, 4});
  CHECK(one(1, INT64_MAX, 1) == Dims{Dim(), 4});
  CHECK(one(0, 3, 1) == Dims{Dim(), 4});
  CHECK(one(0, n, Dim()) == Dims{Dim(), 4});
  CHECK(infer(op::Slice{}, {info(f, {n, 4}), info(l, {1}), info(l, {1})})[0].dims == Dims{Dim(), 4});
  CHECK(infer(op::Slice{}, {info(f, {n, 4}), info(l, {1}), info(l, {1}), info(l, {1})})[0].dims ==
        Dims::of_rank(2));
  CHECK(infer(op::Slice{}, {info(f, {n, 4}), info(l, {}), info(l, {})})[0].dims == Dims::of_rank(2));
  CHECK_FALSE(infer(op::Slice{}, {info(f, {}), info(l, {1}), info(l, {1})})[0].dims.ranked());
  auto v = infer(op::Slice{}, {info(l, {4}, {n, 2, n, 4}), info(l, {1}, {1}), info(l, {1}, {4})}, 1, 1)[0]
               .propagated;
  CHECK((v.size() == 3 && v[0].is(2) && v[1].same(n) && v[2].is(4)));
  v = infer(op::Slice{}, {info(l, {2, 2}, {1, 2, n, 4}), info(l, {1}, {1}), info(l, {1}, {-9}),
                          info(l, {1}, {0}), info(l, {1}, {-1})})[0]
          .propagated;
  CHECK((v.size() == 4 && v[0].same(n) && v[1].is(4) && v[2].is(1) && v[3].is(2)));
}

TEST_CASE("Slice: typed") {
  const Tensor<float, Shape<4>> x{1, 2, 3, 4};
  auto y = op::Slice{}(x, constant<int64_t, 1>, constant<int64_t, 3>);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2>>>);
  CHECK(y[0] == 2);
}
}  // namespace tenon
