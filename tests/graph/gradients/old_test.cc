#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

TEST_CASE("Operators that stretch from an axis on") {
  const auto along = [](int64_t axis) {
    return std::vector<std::pair<std::string, op::AttributeValue>>{{"axis", axis}, {"broadcast", int64_t{1}}};
  };
  for (const char* name : {"Add", "Sub", "Mul", "Div"}) {
    check_operator(old(name, 6, along(1)), {reals({2, 3, 2}), reals({3}, 0.5, 2)});
    check_operator(old(name, 1), {reals({2, 3}), reals({2, 3}, 0.5, 2)});
  }
  check_operator(old("Mul", 6, along(-3)), {reals({2, 3, 2}), reals({2, 1})});
  check_operator(old("Mul", 6, along(-1)), {reals({2, 3}), reals({3})});
  check_operator(old("Mul", 6, along(1)), {reals({2, 0}), reals({})});
  check_operator(old("Mul", 6, {{"broadcast", int64_t{1}}}), {reals({2, 3}), reals({1, 3})});
  check_operator(old("Pow", 1, along(0)), {reals({3, 2}, 0.5, 2), reals({3})});
  check_operator(old("Mul", 6, along(0)), {reals({2, 3}), reals({2})}, 1, {0}, true);
}

TEST_CASE("Slopes of channels and others") {
  check_operator(old("PRelu", 6), {reals({2, 3, 2}), reals({3})});
  check_operator(old("PRelu", 6), {reals({2, 3, 4}), reals({4})});
  check_operator(old("PRelu", 6), {reals({2, 3, 3}), reals({1})});
  check_operator(old("PRelu", 6), {reals({2, 3}), reals({3})});
  check_operator(old("PRelu", 1), {reals({2, 3, 2}), reals({3, 1})});
}

TEST_CASE("Products and lines of several axes") {
  check_operator(old("Gemm", 6, {{"transA", int64_t{1}}}), {reals({3, 2}), reals({3, 2}), reals({2, 2})});
  check_operator(old("Softmax", 11), {reals({2, 3, 2})});
  check_operator(old("LogSoftmax", 1, {{"axis", int64_t{2}}}), {reals({2, 2, 3, 1})});
  check_operator(old("Hardmax", 11), {reals({2, 3, 2})});
}

TEST_CASE("Scatter") {
  check_operator(old("Scatter", 9, {{"axis", int64_t{1}}}),
                 {reals({2, 3}), ints({2, 1}, {0, 2}), reals({2, 1})});
}

}  // namespace tenon::test
