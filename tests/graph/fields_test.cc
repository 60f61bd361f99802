#include "tenon/graph/fused/fields.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "tenon/base/storage.hpp"

namespace tenon::passes {
namespace {

struct Whole {
  int64_t a = 0, b = 0;
  Storage c{};
  std::array<uint8_t, 4> d{};
  static constexpr op::Attributes fields{op::attr("a", &Whole::a), op::attr("b", &Whole::b),
                                         op::attr("c", &Whole::c), op::attr("d", &Whole::d)};
};
struct Short {
  int64_t a = 0;
  bool b = false;  // lies where padding would
  bool c = false;
  static constexpr op::Attributes fields{op::attr("a", &Short::a), op::attr("b", &Short::b)};
};
struct Doubled {
  int64_t a = 0, b = 0;
  static constexpr op::Attributes fields{op::attr("a", &Doubled::a), op::attr("b", &Doubled::a)};
};
struct Empty {
  static constexpr op::Attributes<> fields{};
};
static_assert(lists_all_fields<Whole>());
static_assert(lists_all_fields<Empty>());
static_assert(!lists_all_fields<Short>());
static_assert(!lists_all_fields<Doubled>());

TEST_CASE("fields come in order, with their members") {
  const Whole w{.a = 3, .b = 4};
  std::vector<std::string> names;
  int64_t sum = 0;
  for_each_field<Whole>([&](std::string_view name, auto member) {
    names.emplace_back(name);
    if constexpr (std::is_same_v<decltype(member), int64_t Whole::*>) sum = 10 * sum + w.*member;
  });
  CHECK(names == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(sum == 34);
}

}  // namespace
}  // namespace tenon::passes
