#include "tenon/base/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

using tenon::Scratch;

TEST_CASE("Scratch: memory of nested objects does not overlap, and is aligned") {
  Scratch outer;
  std::vector<std::pair<char*, int64_t>> taken;
  const auto take = [&](Scratch& scratch, int64_t n) {
    char* p = scratch.take<char>(n);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
    std::fill_n(p, n, static_cast<char>(taken.size()));
    taken.emplace_back(p, n);
  };
  take(outer, 100);
  {
    Scratch inner;
    for (int64_t n : {1, 1000, 100000, 0, 64}) take(inner, n);
  }
  take(outer, 5000);
  // The bytes of `inner` are free again.
  for (std::size_t k : {std::size_t{0}, taken.size() - 1})
    CHECK(std::all_of(taken[k].first, taken[k].first + taken[k].second,
                      [&](char c) { return c == static_cast<char>(k); }));
}

TEST_CASE("Scratch: a second round of the same calls gets the same memory, also below an object that stays") {
  Scratch held;
  held.take<char>(10);
  const auto round = [] {
    std::vector<void*> at;
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{10'000, 10'000}, {11'000}, {30'000, 5, 70'000}}) {
      Scratch scratch;
      for (int64_t n : sizes) at.push_back(scratch.take<char>(n));
    }
    return at;
  };
  round();
  const auto second = round();
  CHECK(second == round());
  CHECK(second[0] == second[2]);
}

TEST_CASE("scratch_size: what the thread took at once fits, and a second round needs no more") {
  std::thread([] {
    CHECK(tenon::scratch_size() == 0);
    const auto round = [] {
      Scratch outer;
      outer.take<char>(1000);
      Scratch inner;
      inner.take<char>(100'000);
    };
    round();
    const std::size_t size = tenon::scratch_size();
    CHECK(size >= 101'000);
    round();
    CHECK(tenon::scratch_size() == size);
  }).join();
}

TEST_CASE("Scratch: each thread has a stack of its own") {
  Scratch mine;
  int* a = mine.take<int>(4);
  std::fill_n(a, 4, 1);
  std::thread([&] {
    Scratch own;
    int* b = own.take<int>(4);
    CHECK(b != a);
    std::fill_n(b, 4, 2);
  }).join();
  CHECK(a[3] == 1);
}

TEST_CASE("Scratch: more than the address space is refused") {
  Scratch scratch;
  CHECK_THROWS_AS(scratch.take<double>(INT64_MAX), std::bad_alloc);
  CHECK_THROWS_AS(scratch.take<char>(-1), std::bad_alloc);
}
