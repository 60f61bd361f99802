// y = an expression: in y's memory, or in memory of its own. Every operator new of this program is
// counted.
#include <doctest/doctest.h>

#include <atomic>
#include <vector>

#include "tenon/array/math.hpp"
#include "tenon/array/slice.hpp"
#include "tests/heap.hpp"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

void* tenon::heap::take(std::size_t bytes, std::size_t alignment) noexcept {
  ++allocations;
  return allocate(bytes, alignment);
}
void tenon::heap::give(void* p) noexcept { std::free(p); }

namespace tenon {
namespace {

/// Of the second call: the first one may take memory for scratch that its thread keeps.
template <class F>
int64_t allocations_of(F f) {
  f();
  const int64_t before = allocations;
  f();
  return allocations - before;
}
template <class S>
std::vector<float> list(const Tensor<float, S>& t) {
  return {t.begin(), t.end()};
}
using Floats = std::vector<float>;

TEST_CASE("an expression is written where its elements fit") {
  const Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  const Tensor<float, Shape<3>> b{10, 20, 30};
  Tensor<float, Shape<2, 3>> y;
  CHECK(allocations_of([&] { y = x * 2 + x; }) == 0);
  CHECK(list(y) == Floats{3, 6, 9, 12, 15, 18});
  CHECK(allocations_of([&] { y = y * 2 - y; }) == 0);  // each element is read before it is written
  CHECK(list(y) == Floats{3, 6, 9, 12, 15, 18});
  CHECK(allocations_of([&] { y = x + b; }) == 0);
  CHECK(list(y) == Floats{11, 22, 33, 14, 25, 36});

  Tensor<float> any({2, 3});
  const float* const data = any.data();
  any = x + b;
  CHECK(any.data() == data);
  any = b * 2;  // other extents
  CHECK(any.data() != data);
  CHECK(list(any) == Floats{20, 40, 60});
  Tensor<float> empty;
  empty = x + 1;
  CHECK(list(empty) == Floats{2, 3, 4, 5, 6, 7});
}

TEST_CASE("elements that are read after they would be written get memory of their own") {
  Tensor<float> y({2, 2}, {1, 2, 3, 4});
  const TensorView<float> row(y.data(), {2});
  const float* const data = y.data();
  y = y * row;  // the first row is read for the second, too
  CHECK(y.data() != data);
  CHECK(list(y) == Floats{1, 4, 3, 8});
  y = y(all, range(1, all, -1));
  CHECK(list(y) == Floats{4, 1, 8, 3});
}

TEST_CASE("memory that something else sees is left alone") {
  Tensor<float, Shape<2>> y{1, 2};
  const Value shared = y;
  y = y + 1;
  CHECK(list(y) == Floats{2, 3});
  CHECK(list(shared.as<float>()) == Floats{1, 2});

  auto own = Tensor<float, Shape<2>>{3, 4};
  own = std::move(own) * 2;
  CHECK(list(own) == Floats{6, 8});
}

TEST_CASE("an assigned tensor has the extents that the type states") {
  const Tensor<float> x({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor<float, Shape<2, 3>> y;
  const float* const data = y.data();
  y = x + 1;
  CHECK(y.data() == data);
  CHECK(list(y) == Floats{2, 3, 4, 5, 6, 7});
  y = y(range(1, all, -1), all);
  CHECK(list(y) == Floats{5, 6, 7, 2, 3, 4});
  Tensor<float, Shape<2, 2>> z{{1, 2}, {3, 4}};
  CHECK_THROWS_WITH_AS(z = x + 1, "extents (2,3) do not fit the type (2,2)", Error);
  CHECK(list(z) == Floats{1, 2, 3, 4});
}

TEST_CASE("slices are assigned as expressions are") {
  const Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Shape<3>> row;
  Tensor<float, Shape<2>> column;
  CHECK(allocations_of([&] {
          row = x(1, all);
          column = x(all, 2);
        }) == 0);
  CHECK(list(row) == Floats{4, 5, 6});
  CHECK(list(column) == Floats{3, 6});
  const Tensor<float> copy = x(0, all);
  CHECK(copy.data() != x.data());
  CHECK(list(copy) == Floats{1, 2, 3});
  Tensor<float> y({2, 2});
  y = x(0, all);
  CHECK(list(y) == Floats{1, 2, 3});
  y = y(range(0, 2));
  CHECK(list(y) == Floats{1, 2});
  Tensor<std::string> words({2}, {"a", "b"});
  words = words(range(1, 2));
  CHECK(words[0] == "b");
}

}  // namespace
}  // namespace tenon
