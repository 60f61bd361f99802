#include "tenon/op/generator/range.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Range: cases") {
  const auto of = []<class T>(T a, T b, T c, std::type_identity_t<std::initializer_list<T>> out) {
    CAPTURE(name_of(dtype_of<T>));
    const Value y = t<T>({static_cast<int64_t>(out.size())}, out);
    for (int version : {11, 27})
      check(op::Range{}, {t<T>({}, {a}), t<T>({}, {b}), t<T>({}, {c})}, {y}, 1e-6, 1e-7, version);
  };
  of(1.0f, 5.0f, 2.0f, {1, 3});
  of(0.0f, 1.0f, 0.3f, {0, 0.3f, 0.6f, 0.9f});
  of(5.0, 1.0, -2.0, {5, 3});
  of(5.0, 1.0, 1.0, {});
  of(1.0, 1.0, 1.0, {});
  of(10, 4, -2, {10, 8, 6});
  of(3, 9, 3, {3, 6});
  of(3, 10, 3, {3, 6, 9});
  of(3, 3, 3, {});
  of(4, 3, 3, {});
  of(int16_t{-3}, int16_t{3}, int16_t{4}, {int16_t{-3}, int16_t{1}});
  of(INT64_MAX - 1, INT64_MAX, int64_t{5}, {INT64_MAX - 1});
  of(INT64_MAX, INT64_MIN, INT64_MIN, {INT64_MAX, int64_t{-1}});
  of(INT64_MIN, INT64_MAX, INT64_MAX, {INT64_MIN, int64_t{-1}, INT64_MAX - 1});
  for (int64_t stash : {1, 11})
    for (DType d : {DType::float16, DType::bfloat16})
      check(op::Range{.stash_type = stash}, {cast(d, {}, {1}), cast(d, {}, {2}), cast(d, {}, {0.25})},
            {cast(d, {4}, {1, 1.25, 1.5, 1.75})});
}

TEST_CASE("Range: errors") {
  const auto fails = [](auto a, auto b, auto c, std::string_view text) {
    using T = decltype(a);
    check_fails(op::Range{}, {t<T>({}, {a}), t<T>({}, {b}), t<T>({}, {c})}, text);
  };
  fails(1, 2, 0, "delta is 0, or there is no end");
  fails(1, 1, 0, "delta is 0, or there is no end");
  fails(INT64_MIN, INT64_MAX, int64_t{1}, "delta is 0, or there is no end");
  fails(1.0f, 2.0f, 0.0f, "delta is 0, or there is no end");
  fails(1.0f, 1.0f, 0.0f, "delta is 0, or there is no end");
  fails(1.0, std::nan(""), 1.0, "delta is 0, or there is no end");
  fails(1.0, HUGE_VAL, 1.0, "delta is 0, or there is no end");
  const Value one = t<float>({}, {1});
  check(op::Range{}, {t<float>({1}, {1}), t<float>({1, 1}, {2}), one}, {t<float>({1}, {1})});
  check_fails(op::Range{}, {t<float>({2}, {1, 2}), one, one}, "start: (2), expected one element");
  check_fails(op::Range{.stash_type = 10}, {one, one, one}, "stash_type: 10, expected 1 or 11");
}

TEST_CASE("Range: symbols, typed") {
  const auto scalar = Dims::of_rank(0);
  const auto l = DType::int64;
  CHECK(infer(op::Range{}, {info(l, scalar, {0}), info(l, scalar, {5}), info(l, scalar, {2})})[0].dims ==
        Dims{3});
  CHECK(infer(op::Range{}, {info(l, scalar), info(l, scalar, {5}), info(l, scalar, {2})})[0].dims ==
        Dims{Dim()});
  CHECK(infer(op::Range{}, {info(DType::float32, {}), info(DType::float32, {}), info(DType::float32, {})})[0]
            .dims == Dims{Dim()});
  const auto one = Tensor<float>({}, {1}), four = Tensor<float>({}, {4});
  CHECK(op::Range{}(one, four, one)[2] == 3);
  CHECK(apply<op::Range{}>(one, four, one)[2] == 3);
}
}  // namespace tenon
