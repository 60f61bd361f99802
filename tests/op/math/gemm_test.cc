#include "tenon/op/math/gemm.hpp"

#include "tenon/graph/session.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Gemm: cases") {
  const Value a = t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), at = t<float>({3, 2}, {1, 4, 2, 5, 3, 6});
  const Value b = t<float>({3, 2}, {1, 2, 3, 4, 5, 6}), bt = t<float>({2, 3}, {1, 3, 5, 2, 4, 6});
  const float nan = std::nanf("");
  const Value product = t<float>({2, 2}, {22, 28, 49, 64});
  struct Row {
    op::Gemm op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {a, b}, product},
      {{}, {a, b, Value()}, product},
      {{.transA = 1}, {at, b}, product},
      {{.transB = 1}, {a, bt}, product},
      {{.transA = 1, .transB = 1}, {at, bt}, product},
      {{}, {a, b, t<float>({2}, {10, 20})}, t<float>({2, 2}, {32, 48, 59, 84})},
      {{}, {a, b, t<float>({1, 2}, {10, 20})}, t<float>({2, 2}, {32, 48, 59, 84})},
      {{}, {a, b, t<float>({2, 1}, {10, 20})}, t<float>({2, 2}, {32, 38, 69, 84})},
      {{}, {a, b, t<float>({1}, {1})}, t<float>({2, 2}, {23, 29, 50, 65})},
      {{}, {a, b, t<float>({}, {1})}, t<float>({2, 2}, {23, 29, 50, 65})},
      {{.alpha = 0.5f, .beta = 2},
       {a, b, t<float>({2, 2}, {1, 2, 3, 4})},
       t<float>({2, 2}, {13, 18, 30.5f, 40})},
      {{.beta = 0}, {a, b, t<float>({1}, {nan})}, product},
      {{},
       {t<float>({2, 0}, {}), t<float>({0, 2}, {}), t<float>({2}, {1, 2})},
       t<float>({2, 2}, {1, 2, 1, 2})},
      {{},
       {t<float>({0, 2}, {}), t<float>({2, 2}, {1, 2, 3, 4}), t<float>({2}, {1, 2})},
       t<float>({0, 2}, {})},
      {{}, {t<float>({1, 1}, {nan}), t<float>({1, 1}, {0})}, t<float>({1, 1}, {nan})},
      {{.alpha = 2, .beta = -1},
       {t<int32_t>({1, 1}, {INT32_MAX}), t<int32_t>({1, 1}, {1}), t<int32_t>({}, {3})},
       t<int32_t>({1, 1}, {-5})},
      {{.alpha = 0.5f, .beta = 0.5f},
       {t<int32_t>({1, 2}, {1, 2}), t<int32_t>({2, 2}, {1, 2, 3, 4}), t<int32_t>({2}, {1, -20})},
       t<int32_t>({1, 2}, {4, -5})},
      {{.alpha = 1.5f}, {t<int64_t>({1, 1}, {-3}), t<int64_t>({1, 1}, {1})}, t<int64_t>({1, 1}, {-4})},
      {{.beta = -1},
       {t<uint32_t>({1, 1}, {1}), t<uint32_t>({1, 1}, {1}), t<uint32_t>({}, {2})},
       t<uint32_t>({1, 1}, {UINT32_MAX})},
      {{},
       {t<uint64_t>({1, 1}, {1}), t<uint64_t>({1, 1}, {2}), t<uint64_t>({}, {2})},
       t<uint64_t>({1, 1}, {4})},
      {{.alpha = 0.25f}, {t<double>({1, 1}, {3}), t<double>({1, 1}, {2})}, t<double>({1, 1}, {1.5})},
      {{},
       {cast<float16>({1, 1}, {2048}), cast<float16>({1, 1}, {1}), cast<float16>({1}, {2})},
       cast<float16>({1, 1}, {2050})},
      {{.transB = 1},
       {cast<bfloat16>({1, 2}, {1, 2}), cast<bfloat16>({1, 2}, {3, 4}), cast<bfloat16>({1, 1}, {1})},
       cast<bfloat16>({1, 1}, {12})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
  check(op::Gemm{}, {a, b}, {product}, 0, 0, 11);
}

TEST_CASE("Gemm: older versions") {
  const Value a = t<float>({1, 2}, {1, 2}), b = t<float>({2, 2}, {1, 2, 3, 4}), c = t<float>({2}, {10, 20});
  const Value whole = t<float>({1, 2}, {10, 20}), y = t<float>({1, 2}, {17, 30});
  check(op::Gemm{}, {a, b, c}, {y}, 0, 0, 7);
  for (int version : op::Gemm::spec.since) check(stated<op::Gemm>(version), {a, b, c}, {y}, 0, 0);
  for (int version : {7, 9})
    check(op::Gemm{.transA = 1}, {t<float>({2, 1}, {1, 2}), b, c}, {y}, 1e-6, 1e-7, version);
  check(op::Gemm{}, {t<int32_t>({1, 1}, {2}), t<int32_t>({1, 1}, {3}), t<int32_t>({1}, {1})},
        {t<int32_t>({1, 1}, {7})}, 0, 0, 9);
  check(op::Gemm_1{}, {a, b, whole}, {y});
  check(op::Gemm_1{.broadcast = 1}, {a, b, c}, {y}, 0, 0, 1);
  check(op::Gemm_1{.alpha = 2, .beta = 0.5f, .broadcast = 1, .transB = 1}, {a, b, c},
        {t<float>({1, 2}, {15, 32})});
  check_fails(op::Gemm_1{}, {a, b, c}, "C (2) is not (1,2)");
  check_fails(op::Gemm_1{}, {a, t<float>({2, 1}, {1, 1}), t<float>({1}, {1})}, "C (1) is not (1,1)");
  for (int version : {7, 9}) check_fails(op::Gemm{}, {a, b}, "input C is missing", 1, version);
  check_fails(op::Gemm{}, {t<int32_t>({1, 1}, {2}), t<int32_t>({1, 1}, {3}), t<int32_t>({1}, {1})},
              "input A cannot be tensor(int32)", 1, 7);
}

TEST_CASE("Gemm: newest nodes stand for versions 1 and 6") {
  const Value a = t<float>({1, 2}, {1, 2}), b = t<float>({2, 2}, {1, 2, 3, 4}), c = t<float>({2}, {10, 20});
  const Value whole = t<float>({1, 2}, {10, 20}), y = t<float>({1, 2}, {17, 30});
  const Attributes stretched{{"broadcast", int64_t{1}}};
  for (int version : {1, 6}) {
    CAPTURE(version);
    check(stated<op::Gemm_1>(version), {a, b, whole}, {y});
    check(stated<op::Gemm_1>(version, stretched), {a, b, whole}, {y});
    check(stated<op::Gemm_1>(version, stretched), {a, b, c}, {y});
    check(stated<op::Gemm_1>(version, stretched), {a, b, t<float>({1, 1}, {1})}, {t<float>({1, 2}, {8, 11})});
    check(stated<op::Gemm_1>(version, {{"transA", int64_t{1}}}), {t<float>({2, 1}, {1, 2}), b, whole}, {y});
    check(stated<op::Gemm_1>(
              version, {{"alpha", 2.0f}, {"beta", 0.5f}, {"broadcast", int64_t{1}}, {"transB", int64_t{1}}}),
          {a, b, c}, {t<float>({1, 2}, {15, 32})});
    check_fails(stated<op::Gemm_1>(version), {a, b, c}, "C (2) is not (1,2)");
    check_fails(stated<op::Gemm_1>(version), {a, b}, "input C is missing");

    // Whether C is of Y's size, only the run knows.
    Graph g;
    const std::vector<ValueId> in{g.add_input("a", DType::float32, Dims::of_rank(2)),
                                  g.add_input("b", DType::float32, {2, 2}),
                                  g.add_input("c", DType::float32, Dims::of_rank(2))};
    const std::string name[] = {"y"};
    g.add_output("y", g.add_node("n", stated<op::Gemm_1>(version).op, in, name)[0]);
    const Session s(std::move(g));
    check_equal(s.run({{"a", a}, {"b", b}, {"c", whole}})["y"], y);
    CHECK_THROWS_AS(s.run({{"a", a}, {"b", b}, {"c", t<float>({1, 1}, {1})}}), Error);
  }
}

TEST_CASE("Gemm: errors") {
  const Value f = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check_fails(op::Gemm{}, {f, f}, "inner extents differ: 3 and 2");
  check_fails(op::Gemm{}, {t<float>({3}, {1, 2, 3}), f}, "are not matrices");
  check_fails(op::Gemm{.transB = 1}, {f, f, t<float>({3}, {1, 2, 3})}, "C (3) does not stretch to (2,2)");
  check_fails(op::Gemm{.transB = 1}, {f, f, t<float>({1, 2, 2}, {1, 2, 3, 4})}, "does not stretch");
  check_fails(op::Gemm{}, {cast<bfloat16>({1, 1}, {1}), cast<bfloat16>({1, 1}, {1})},
              "input A cannot be tensor(bfloat16)", 1, 11);
}

TEST_CASE("Gemm: extents that are not known yet, and typed") {
  const auto n = Dim::symbol(1);
  const auto f = [](const Dims& d) { return info(DType::float32, d); };
  CHECK(infer(op::Gemm{.transB = 1}, {f({n, 4}), f({8, 4}), f({8})})[0].dims == Dims{n, 8});
  CHECK(infer(op::Gemm{}, {f({n, 4}), f(Dims()), f({1, 8})})[0].dims == Dims{n, 8});
  CHECK(infer(op::Gemm{}, {f(Dims()), f({4, 8})})[0].dims == Dims{Dim(), 8});
  Tensor<float, Shape<1, 2>> a{{1, 2}};
  Tensor<float, Shape<3, 2>> b{{1, 2}, {3, 4}, {5, 6}};
  const auto y = apply<op::Gemm{.transB = 1}>(a, b);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 3>>>);
  CHECK(y(0, 2) == 17);
  CHECK(op::Gemm{.transB = 1}(a, b, 1.0f)[0] == 6);
}
}  // namespace tenon
