#include "tenon/kernels/move/transpose.hpp"

#include <string>

#include "tenon/base/thread_pool.hpp"
#include "tests/kernels/data.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

using List = std::vector<int64_t>;

int64_t count(const List& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

// The offset of element i of a dense tensor of these extents in another layout.
int64_t offset(int64_t i, const List& extents, const List& strides) {
  int64_t at = 0;
  for (std::size_t d = extents.size(); d-- > 0; i /= extents[d]) at += i % extents[d] * strides[d];
  return at;
}

template <std::size_t size>
struct Block {
  unsigned char bytes[size];
  bool operator==(const Block&) const = default;
};

template <std::size_t size>
std::vector<Block<size>> blocks(int64_t n) {
  std::vector<Block<size>> v(static_cast<std::size_t>(n));
  uint32_t next = 1;
  for (auto& b : v)
    for (auto& byte : b.bytes) byte = static_cast<unsigned char>((next = next * 1664525 + 1013904223) >> 24);
  return v;
}

template <class F>
void for_each_size(F f) {
  f.template operator()<1>();
  f.template operator()<2>();
  f.template operator()<4>();
  f.template operator()<8>();
  f.template operator()<16>();
}

const struct {
  List extents, permutation;
} transposes[] = {
    {{}, {}},
    {{7}, {0}},
    {{0, 3}, {1, 0}},
    {{5, 3}, {1, 0}},
    {{64, 64}, {1, 0}},
    {{65, 127}, {1, 0}},
    {{1000, 3}, {1, 0}},
    {{3, 1000}, {1, 0}},
    {{257, 300}, {1, 0}},
    {{2, 1003}, {1, 0}},
    {{1003, 2}, {1, 0}},
    {{1000, 7}, {1, 0}},
    {{7, 1000}, {1, 0}},
    {{31, 20}, {1, 0}},
    {{9, 3, 10}, {0, 2, 1}},
    {{9, 21, 3}, {0, 2, 1}},
    {{9, 2, 37}, {0, 2, 1}},
    {{3, 1003, 3}, {0, 2, 1}},
    {{3, 3, 1003}, {0, 2, 1}},
    {{512, 83}, {1, 0}},
    {{83, 512}, {1, 0}},
    {{4096, 67}, {1, 0}},
    {{70, 4096}, {1, 0}},
    {{4, 5, 6}, {0, 1, 2}},
    {{4, 5, 6}, {0, 2, 1}},
    {{4, 5, 6}, {1, 0, 2}},
    {{4, 5, 6}, {2, 1, 0}},
    {{4, 50, 60}, {2, 0, 1}},
    {{40, 50, 6}, {1, 2, 0}},
    {{1, 12, 33, 64}, {0, 2, 1, 3}},
    {{2, 50, 4, 40}, {0, 2, 1, 3}},
    {{3, 37, 3, 64}, {2, 0, 1, 3}},
    {{2, 17, 9, 33}, {3, 2, 1, 0}},
    {{2, 16, 14, 14}, {0, 2, 3, 1}},
    {{2, 14, 14, 16}, {0, 3, 1, 2}},
    {{1, 5, 1, 6}, {3, 2, 1, 0}},
    {{2, 3, 2, 3, 2, 3}, {5, 3, 1, 4, 2, 0}},
    {{2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3},
     {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
};

}  // namespace

TEST_CASE("transpose of blocks of every size") {
  for_each_size([]<std::size_t size>() {
    for (const auto& t : transposes) {
      const auto x = blocks<size>(count(t.extents));
      auto y = blocks<size>(count(t.extents) + 1);
      const Block<size> guard = y.back();
      transpose(y.data(), x.data(), t.extents, t.permutation, size);
      List strides(t.extents.size()), out, from;
      int64_t step = 1;
      for (std::size_t d = t.extents.size(); d-- > 0; step *= t.extents[d]) strides[d] = step;
      for (int64_t p : t.permutation) {
        out.push_back(t.extents[p]);
        from.push_back(strides[p]);
      }
      bool good = y.back() == guard;
      for (int64_t i = 0; i < count(out); ++i) good &= y[i] == x[offset(i, out, from)];
      INFO("rank ", t.extents.size(), " size ", size);
      CHECK(good);
    }
  });
}

TEST_CASE("transposes in parallel, and of strings") {
  const auto x = blocks<4>(700 * 300);
  auto serial = blocks<4>(700 * 300), threaded = serial;
  const int64_t extents[] = {700, 300}, swapped[] = {1, 0};
  transpose(serial.data(), x.data(), extents, swapped, 4);
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  transpose(threaded.data(), x.data(), extents, swapped, 4);
  CHECK(serial == threaded);

  const std::string text[] = {"a", "bb", "a string too long for the small buffer", "d", "e", "f"};
  std::string turned[6];
  const int64_t small[] = {2, 3};
  transpose(turned, text, small, swapped);
  CHECK(turned[1] == "d");
  CHECK(turned[4] == text[2]);
}

TEST_CASE("strided copies: slices, reversed axes, expansion, holes in the destination") {
  const struct {
    List extents, to, from;
    int64_t to_size, from_start, from_size;
  } rows[] = {
      {{}, {}, {}, 1, 0, 1},
      {{10}, {1}, {-1}, 10, 9, 10},
      {{10}, {3}, {2}, 30, 0, 20},
      {{4, 5}, {5, 1}, {-10, 2}, 20, 30, 40},
      {{4, 5}, {5, 1}, {0, 1}, 20, 0, 5},
      {{4, 5}, {5, 1}, {1, 0}, 20, 0, 4},
      {{4, 5}, {5, 1}, {0, 0}, 20, 0, 1},
      {{3, 40, 5}, {400, 10, 1}, {200, 5, 1}, 1200, 0, 600},
      {{3, 40, 5}, {200, 5, 1}, {400, 10, 1}, 600, 0, 1200},
      {{40, 50}, {50, 1}, {1, 40}, 2000, 0, 2000},
      {{40, 50}, {1, 40}, {50, 1}, 2000, 0, 2000},
      {{40, 50}, {100, 2}, {1, 80}, 4000, 0, 4000},
      {{40, 50}, {50, 1}, {-1, 40}, 2000, 39, 2000},
      {{2, 0, 5}, {0, 5, 1}, {0, 5, 1}, 1, 0, 1},
      {{7, 6, 33}, {198, 33, 1}, {0, 33, 1}, 1386, 0, 198},
      {{1000, 70}, {70, 1}, {70, 1}, 70000, 0, 70000},
      {{1, 5, 1}, {9, 1, 9}, {9, 2, 9}, 5, 0, 10},
  };
  for_each_size([&]<std::size_t size>() {
    for (const auto& r : rows) {
      const auto x = blocks<size>(r.from_size);
      auto y = blocks<size>(r.to_size), want = y;
      const int rank = static_cast<int>(r.extents.size());
      for (int64_t i = 0; i < count(r.extents); ++i)
        want[offset(i, r.extents, r.to)] = x[r.from_start + offset(i, r.extents, r.from)];
      auto z = y;
      copy_strided(static_cast<void*>(y.data()), r.to.data(), x.data() + r.from_start, r.from.data(),
                   r.extents.data(), rank, size);
      copy_strided(z.data(), r.to.data(), x.data() + r.from_start, r.from.data(), r.extents.data(), rank);
      CHECK(y == want);
      CHECK(z == want);
    }
  });
}

TEST_CASE("strided copies: rows of every length, by several threads") {
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  for (int64_t n = 1; n <= 300; ++n) {
    // Tasks begin and end inside of an axis of rows.
    const int64_t extents[] = {3, 1500, n}, to[] = {1501 * (n + 1), n + 1, 1}, from[] = {n + 2, 0, 1};
    const auto x = blocks<1>(3 * (n + 2));
    std::vector<Block<1>> y(static_cast<std::size_t>(3 * to[0])), want = y;
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 1500; ++j)
        std::copy_n(x.begin() + i * from[0], n, want.begin() + i * to[0] + j * to[1]);
    copy_strided(static_cast<void*>(y.data()), to, x.data(), from, extents, 3, 1);
    CHECK(y == want);
  }
}
