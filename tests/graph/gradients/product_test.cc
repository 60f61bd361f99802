#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

TEST_CASE("Products") {
  check_op(op::MatMul{}, {reals({2, 3}), reals({3, 4})});
  check_op(op::MatMul{}, {reals({3}), reals({3})});
  check_op(op::MatMul{}, {reals({3}), reals({2, 3, 2})});
  check_op(op::MatMul{}, {reals({2, 2, 3}), reals({3})});
  check_op(op::MatMul{}, {reals({2, 1, 2, 3}), reals({2, 3, 1})});
  check_op(op::MatMul{}, {reals({2, 2, 2, 3}), reals({3, 2})});
  check_op(op::MatMul{}, {reals({2, 2, 3}), reals({1, 1, 3, 2})});
  check_op(op::MatMul{}, {reals({2, 3}), reals({1, 3, 2})});
  for (int64_t a : {0, 1})
    for (int64_t b : {0, 1})
      check_op(op::Gemm{.alpha = 0.5f, .beta = 2, .transA = a, .transB = b},
               {a ? reals({3, 2}) : reals({2, 3}), b ? reals({4, 3}) : reals({3, 4}), reals({4})});
}

TEST_CASE("Products of scalars and of nothing, and extents 1 that stretch") {
  check_op(op::MatMul{}, {reals({2, 0}), reals({0, 3})});
  check_op(op::MatMul{}, {reals({0, 2}), reals({2, 3})});
  check_op(op::MatMul{}, {reals({0, 2, 2}), reals({2})});
  check_op(op::MatMul{}, {reals({2, 2, 0}), reals({0, 2})});
  check_op(op::Gemm{}, {reals({2, 0}), reals({0, 3}), reals({2, 1})});
  check_op(op::Gemm{.beta = 0}, {reals({2, 3}), reals({3, 2}), reals({})});
  check_operator(old("Gemm", 6, {{"broadcast", int64_t{1}}}), {reals({2, 3}), reals({3, 2}), reals({2})});
}

TEST_CASE("Second derivatives of products") {
  check_twice(op::MatMul{}, {reals({2, 1, 3}), reals({3, 2})});
  check_twice(op::Gemm{}, {reals({2, 3}), reals({3, 2}), reals({2})});
}

}  // namespace tenon::test
