#include "tenon/op/tensor/split.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Split: cases") {
  const Value x = t<float>({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Value six = t<int32_t>({6}, {1, 2, 3, 4, 5, 6});
  auto i = [](std::initializer_list<int32_t> v) { return t<int32_t>({static_cast<int64_t>(v.size())}, v); };
  auto n = [](std::initializer_list<int64_t> v) { return t<int64_t>({static_cast<int64_t>(v.size())}, v); };
  struct Row {
    op::Split op;
    std::vector<Value> in, out;
  } rows[] = {
      {{.num_outputs = 1}, {six}, {six}},
      {{.num_outputs = 3}, {six}, {i({1, 2}), i({3, 4}), i({5, 6})}},
      {{.num_outputs = 4}, {six}, {i({1, 2}), i({3, 4}), i({5, 6}), i({})}},
      {{.num_outputs = 4}, {i({1, 2, 3, 4, 5, 6, 7})}, {i({1, 2}), i({3, 4}), i({5, 6}), i({7})}},
      {{.num_outputs = 5}, {i({1, 2, 3})}, {i({1}), i({2}), i({3}), i({}), i({})}},
      {{.num_outputs = 2}, {i({})}, {i({}), i({})}},
      {{}, {six, n({4, 2})}, {i({1, 2, 3, 4}), i({5, 6})}},
      {{}, {six, n({0, 6, 0})}, {i({}), six, i({})}},
      {{}, {i({}), n({0, 0})}, {i({}), i({})}},
      {{.axis = 1}, {x, n({2, 3})}, {t<float>({2, 2}, {1, 2, 6, 7}), t<float>({2, 3}, {3, 4, 5, 8, 9, 10})}},
      {{.axis = -1, .num_outputs = 2},
       {x},
       {t<float>({2, 3}, {1, 2, 3, 6, 7, 8}), t<float>({2, 2}, {4, 5, 9, 10})}},
      {{.axis = -2, .num_outputs = 2},
       {x},
       {t<float>({1, 5}, {1, 2, 3, 4, 5}), t<float>({1, 5}, {6, 7, 8, 9, 10})}},
      {{.num_outputs = 2},
       {t<std::string>({2}, {"a", "b"})},
       {t<std::string>({1}, {"a"}), t<std::string>({1}, {"b"})}},
  };
  for (const Row& row : rows) check(row.op, row.in, row.out);
  check(op::Split{}, {six}, {i({1, 2}), i({3, 4}), i({5, 6})}, 0, 0, 13);
  check(op::Split{}, {six}, {six}, 0, 0, 13);
}

TEST_CASE("Split: every type, against the definition") {
  const WithThreads threads;
  const struct {
    Extents extents;
    int axis;
    Extents lengths;
  } rows[] = {
      {{3, 6, 5}, 1, {2, 3, 1}}, {{3, 4}, 0, {1, 2}}, {{13}, 0, {1, 4, 8}}, {{40, 80, 70}, 1, {30, 50}}};
  for (const auto& row : rows)
    for_types(op::Split::spec.types[0], [&](DType d) {
      Extents extents = row.extents;
      extents[row.axis] = 0;
      for (int64_t n : row.lengths) extents[row.axis] += n;
      const Value x = pattern(d, extents);
      const Tensor<int64_t> lengths({row.lengths.size()}, row.lengths.begin(), row.lengths.end());
      const auto parts = run(op::Split{.axis = row.axis}, {x, lengths}, row.lengths.size());
      int64_t first = 0;
      for (int k = 0; k < row.lengths.size(); first += row.lengths[k++]) {
        Extents part = extents;
        part[row.axis] = row.lengths[k];
        check_moved(parts[static_cast<std::size_t>(k)].tensor(), x.tensor(), part, [&](Extents index) {
          index[row.axis] += first;
          return place(extents, index);
        });
      }
    });
}

TEST_CASE("Split: an output that was not requested") {
  const Value x = t<float>({4}, {1, 2, 3, 4}), lengths = t<int64_t>({3}, {1, 2, 1});
  op::Context context;
  for (const auto& [op, in] : {std::pair(op::Split{}, std::vector<const Value*>{&x, &lengths}),
                               std::pair(op::Split{.num_outputs = 3}, std::vector<const Value*>{&x})}) {
    Value a = t<float>({op.num_outputs ? 2 : 1},
                       op.num_outputs ? std::initializer_list<float>{0, 0} : std::initializer_list<float>{0});
    Value c = t<float>({op.num_outputs ? 0 : 1},
                       op.num_outputs ? std::initializer_list<float>{} : std::initializer_list<float>{0});
    Value* out[] = {&a, nullptr, &c};
    op::run(op, context, in, out);
    CHECK(a.view<float>()[0] == 1);
    if (c.tensor().size() > 0) CHECK(c.view<float>()[0] == 4);
  }
}

TEST_CASE("Split: older versions") {
  const Value x = t<float>({4}, {1, 2, 3, 4});
  const std::vector<Value> halves{t<float>({2}, {1, 2}), t<float>({2}, {3, 4})};
  const std::vector<Value> uneven{t<float>({1}, {1}), t<float>({3}, {2, 3, 4})};
  for (int version : {2, 11}) {
    CAPTURE(version);
    check(op::Split{}, {x}, halves, 0, 0, version);
    check(stated<op::Split>(version), {x}, halves, 0, 0);
    check(stated<op::Split>(version, {{"split", ints{}}}), {x}, halves, 0, 0);
    check(stated<op::Split>(version, {{"split", ints{1, 3}}}), {x}, uneven, 0, 0);
    check(stated<op::Split>(version, {{"axis", int64_t{-1}}, {"split", ints{1, 1}}}),
          {t<float>({1, 2}, {1, 2})}, {t<float>({1, 1}, {1}), t<float>({1, 1}, {2})}, 0, 0);
    check_fails(stated<op::Split>(version, {{"split", ints{1, 1}}}), {x},
                "the lengths sum to 2, but axis 0 has 4", 2);
    check_fails(stated<op::Split>(version, {{"split", ints{4}}}), {x}, "split states 1 lengths for 2 outputs",
                2);
    check_fails(stated<op::Split>(version), {x}, "does not divide into 3 equal parts", 3);
    check_fails(stated<op::Split>(version), {x, t<int64_t>({2}, {1, 3})}, "has no input split at version", 2);
    check_fails(stated<op::Split>(version), {cast<bfloat16>({2}, {1, 2})}, "input cannot be tensor(bfloat16)",
                2);
  }
  check(stated<op::Split>(13), {x, t<int64_t>({2}, {1, 3})}, uneven);
  check(stated<op::Split>(13), {x}, halves);
  check(stated<op::Split>(18, {{"num_outputs", int64_t{2}}}), {x}, halves);
  check_refused<op::Split>(13, {{"split", ints{1, 3}}}, "version 13 has no attribute 'split'");
  check_refused<op::Split>(13, {{"num_outputs", int64_t{2}}}, "version 13 has no attribute 'num_outputs'");
  check(stated<op::Split_1>(1), {x}, halves);
  check(stated<op::Split_1>(1, {{"axis", int64_t{0}}, {"split", ints{1, 3}}}), {x}, uneven);
  check(stated<op::Split_1>(1, {{"split", ints{2, 2}}}), {x, t<float>({2}, {1, 3})}, uneven);
  check(op::Split_1{}, {x}, halves);
  check(op::Split_1{.axis = 0, .split = {1, 3}}, {x}, uneven);
  check(op::Split_1{.split = {2, 2}}, {x, t<float>({2}, {1, 3})}, uneven);
  const Value d = t<double>({2}, {1, 2});
  check(op::Split_1{}, {d, t<double>({2}, {0, 2})}, {t<double>({0}, {}), d});
  const Value h = cast<float16>({2}, {1, 2});
  check(op::Split_1{}, {h, cast<float16>({2}, {2, 0})}, {h, cast<float16>({0}, {})});
  check_fails(op::Split_1{}, {x, t<float>({1}, {4})}, "split states 1 lengths for 2 outputs", 2);
  check_fails(op::Split_1{}, {x, t<float>({}, {4})}, "split: rank 0, expected 1");
  check_fails(stated<op::Split_1>(1, {{"split", ints{1, 1}}}), {x}, "the lengths sum to 2, but axis 0 has 4",
              2);
}

TEST_CASE("Split: errors") {
  const Value x = t<float>({4}, {1, 2, 3, 4});
  const int64_t big = INT64_MAX / 2;
  check_fails(op::Split{}, {x}, "axis 0 of (4) does not divide into 3 equal parts", 3, 13);
  check_fails(op::Split{}, {x}, "neither split nor num_outputs is given", 2);
  check_fails(op::Split{.num_outputs = 2}, {x}, "split states 2 lengths for 3 outputs", 3);
  check_fails(op::Split{.num_outputs = 0}, {x}, "num_outputs: 0, expected at least 1");
  check_fails(op::Split{.num_outputs = 2}, {x, t<int64_t>({2}, {2, 2})}, "exclude each other", 2);
  check_fails(op::Split{}, {x, t<int64_t>({2}, {5, -1})}, "length: -1, expected at least 0", 2);
  check_fails(op::Split{}, {x, t<int64_t>({2}, {1, 1})}, "the lengths sum to 2, but axis 0 has 4", 2);
  check_fails(op::Split{}, {x, t<int64_t>({3}, {big, big, big})}, "the lengths overflow", 3);
  check_fails(op::Split{}, {x, t<int64_t>({2, 1}, {2, 2})}, "split: rank 2, expected 1", 2);
  check_fails(op::Split{.axis = 1, .num_outputs = 1}, {x}, "axis 1 outside of [-1, 0]");
  check_fails(op::Split{.num_outputs = 1}, {t<float>({}, {1})}, "axis 0 outside");
}

TEST_CASE("Split: symbols and values") {
  const auto n = Dim::symbol(1);
  auto r = infer(op::Split{.axis = 1, .num_outputs = 2}, {info(DType::float32, {n, 6})}, 2);
  CHECK((r[0].dims == Dims{n, 3} && r[1].dims == Dims{n, 3}));
  const op::Split halves{.num_outputs = 2}, whole{.num_outputs = 1};
  r = infer(halves, {info(DType::float32, {n, 6})}, 2);
  CHECK(r[1].dims == Dims{Dim(), 6});
  CHECK(infer(whole, {info(DType::float32, {n, 6})}, 1)[0].dims == Dims{n, 6});
  r = infer(op::Split{}, {info(DType::float32, {n, 6}), info(DType::int64, {2}, {n, 2})}, 2);
  CHECK((r[0].dims == Dims{n, 6} && r[1].dims == Dims{2, 6}));
  r = infer(op::Split{}, {info(DType::float32, {n, 6}), info(DType::int64, {2})}, 2);
  CHECK(r[1].dims == Dims{Dim(), 6});
  CHECK_FALSE(infer(halves, {info(DType::float32, {})}, 2)[1].dims.ranked());
  r = infer(op::Split{}, {info(DType::int64, {3}, {1, n, 3}), info(DType::int64, {2}, {1, 2})}, 2);
  CHECK((r[0].propagated[0].is(1) && r[1].propagated[0].same(n) && r[1].propagated[1].is(3)));
}

TEST_CASE("Split: typed") {
  const Tensor<float, Shape<4>> x{1, 2, 3, 4};
  auto [a, b] = apply<op::Split{.num_outputs = 2}, 2>(x);
  static_assert(std::is_same_v<decltype(a), Tensor<float, Shape<2>>>);
  CHECK(b[1] == 4);
}
}  // namespace tenon
