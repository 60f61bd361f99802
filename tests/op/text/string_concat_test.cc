#include "tenon/op/text/string_concat.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("StringConcat: cases") {
  using S = std::string;
  const S long_one(40, 'x');
  struct Row {
    Value x, y, z;
  } rows[] = {
      {t<S>({2}, {"abc", "def"}), t<S>({2}, {".com", ".net"}), t<S>({2}, {"abc.com", "def.net"})},
      {t<S>({2}, {"cat", "dog"}), t<S>({}, {"s"}), t<S>({2}, {"cats", "dogs"})},
      {t<S>({2, 1}, {"a", "b"}), t<S>({2}, {"1", "2"}), t<S>({2, 2}, {"a1", "a2", "b1", "b2"})},
      {t<S>({}, {"cat"}), t<S>({}, {"s"}), t<S>({}, {"cats"})},
      {t<S>({2}, {"", "的"}), t<S>({1}, {""}), t<S>({2}, {"", "的"})},
      {t<S>({1}, {long_one}), t<S>({1}, {long_one}), t<S>({1}, {long_one + long_one})},
      {t<S>({0, 2}, {}), t<S>({2}, {"a", "b"}), t<S>({0, 2}, {})},
  };
  for (const Row& row : rows) check(op::StringConcat{}, {row.x, row.y}, {row.z});
}

TEST_CASE("StringConcat: refused, symbols, typed") {
  const Value two = t<std::string>({2}, {"a", "b"});
  check_fails(op::StringConcat{}, {two, t<std::string>({3}, {"a", "b", "c"})},
              "(2) and (3) do not broadcast");
  check_fails(op::StringConcat{}, {two, t<float>({2}, {1, 2})}, "Y cannot be tensor(float)");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::StringConcat{}, {info(DType::string, {n, 1}), info(DType::string, {3})})[0].dims ==
        Dims{n, 3});
  auto z = op::StringConcat{}(Tensor<std::string, Shape<2>>{"a", "b"}, Tensor<std::string, Shape<1>>{"!"});
  static_assert(std::is_same_v<decltype(z), Tensor<std::string, Shape<2>>>);
  CHECK(z(1) == "b!");
}
}  // namespace tenon
