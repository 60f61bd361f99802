#include "tenon/kernels/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tests/kernels/data.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

std::size_t n(int64_t v) { return static_cast<std::size_t>(v); }

/// Operands of one call, all heads' vectors dense, (batch, heads, steps, size).
struct Case {
  int64_t batch = 1, heads = 4, kv_heads = 2, queries = 1, keys = 70, size = 20, value_size = 12;
  int64_t left = -1, right = -1;
  double softcap = 0;
  bool masked = false, none_is_nan = false, sinks = false;
  std::vector<int64_t> ends{};
  /// Codes lie in 4 bits, and have no scales but factors of each head's numbers.
  bool halves = false;
};

template <class T>
struct Operands {
  Case c;
  std::vector<float> q, mask, sinks, k_scale, v_scale, k_factors, v_factors;
  std::vector<T> k, v;
  std::vector<int64_t> offsets;

  explicit Operands(const Case& of) : c(of) {
    const double most = c.halves ? 8 : std::is_same_v<T, int8_t> ? 128 : 1;
    q = test::numbers<float>(c.batch * c.heads * c.queries * c.size, -1, 1, 1);
    k = test::numbers<T>(c.batch * c.kv_heads * c.keys * c.size, -most, most, 2);
    v = test::numbers<T>(c.batch * c.kv_heads * c.keys * c.value_size, -most, most, 3);
    k_scale = test::numbers<float>(c.batch * c.kv_heads * c.keys, 0, 1 / most, 4);
    v_scale = test::numbers<float>(c.batch * c.kv_heads * c.keys, 0, 1 / most, 5);
    if (c.halves) {
      std::fill(k_scale.begin(), k_scale.end(), 1.0f), std::fill(v_scale.begin(), v_scale.end(), 1.0f);
      k_factors = test::numbers<float>(c.kv_heads * c.size, 0, 1 / most, 8);
      v_factors = test::numbers<float>(c.kv_heads * c.value_size, 0, 1 / most, 9);
    }
    sinks = test::numbers<float>(c.heads, -1, 1, 6);
    mask = test::numbers<float>(c.batch * c.queries * c.keys, -2, 2, 7);
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (i % 3 == 1 || i / n(c.keys) % 4 == 3) mask[i] = -INFINITY;  // all keys of some queries
    for (const int64_t end : c.ends) offsets.push_back(end - c.queries);
  }
  double key(int64_t head, int64_t j, int64_t i) const {
    const double x = static_cast<double>(static_cast<float>(k[n((head * c.keys + j) * c.size + i)]));
    const double scaled = std::is_same_v<T, int8_t> ? x * double{k_scale[n(head * c.keys + j)]} : x;
    return c.halves ? scaled * double{k_factors[n(head % c.kv_heads * c.size + i)]} : scaled;
  }
  double value(int64_t head, int64_t j, int64_t i) const {
    const double x = static_cast<double>(static_cast<float>(v[n((head * c.keys + j) * c.value_size + i)]));
    const double scaled = std::is_same_v<T, int8_t> ? x * double{v_scale[n(head * c.keys + j)]} : x;
    return c.halves ? scaled * double{v_factors[n(head % c.kv_heads * c.value_size + i)]} : scaled;
  }
};

/// y by the kernel, with the keys in parts that end at `ends` and after the last key.
template <class W = float, class T>
std::vector<float> attend(const Operands<T>& o, const std::vector<int64_t>& ends = {}) {
  const Case& c = o.c;
  const bool scaled = std::is_same_v<T, int8_t> && !c.halves;
  std::vector<AttentionPart> parts;
  // Each part in memory of its own, so that reading past a part is noticed.
  std::vector<std::vector<T>> memory;
  std::vector<std::vector<float>> scales;
  const auto stored = [&](const std::vector<T>& x) {
    std::vector<T> pairs;
    if constexpr (std::is_same_v<T, int8_t>)
      for (std::size_t i = 0; c.halves && i < x.size(); i += 2)
        pairs.push_back(static_cast<int8_t>((x[i] + 8) | (x[i + 1] + 8) << 4));
    return c.halves ? pairs : x;
  };
  int64_t from = 0;
  const auto add = [&](int64_t to) {
    const auto copied = [&](const auto& x, int64_t size) {
      std::remove_cvref_t<decltype(x)> of;
      for (int64_t h = 0; h < c.batch * c.kv_heads; ++h)
        of.insert(of.end(), x.begin() + (h * c.keys + from) * size, x.begin() + (h * c.keys + to) * size);
      return of;
    };
    const int64_t count = to - from, heads = c.kv_heads;
    memory.push_back(stored(copied(o.k, c.size))), memory.push_back(stored(copied(o.v, c.value_size)));
    const T *const k = memory[memory.size() - 2].data(), *const v = memory.back().data();
    scales.push_back(copied(o.k_scale, 1)), scales.push_back(copied(o.v_scale, 1));
    const DType type = c.halves ? DType::uint4 : dtype_of<T>;
    AttentionPart part{.k = {type, k, heads * count * c.size, count * c.size, c.size},
                       .v = {type, v, heads * count * c.value_size, count * c.value_size, c.value_size},
                       .keys = count};
    if (scaled) {
      part.k_scale = {scales[scales.size() - 2].data(), heads * count, count, 1};
      part.v_scale = {scales.back().data(), heads * count, count, 1};
    }
    parts.push_back(part);
    from = to;
  };
  for (const int64_t end : ends) add(end);
  add(c.keys);

  const int64_t group = c.heads * c.queries;
  std::vector<float> y(n(c.batch * group * c.value_size), 77);
  AttentionArgs a;
  a.batch = c.batch, a.heads = c.heads, a.kv_heads = c.kv_heads;
  a.queries = c.queries, a.size = c.size, a.value_size = c.value_size;
  a.q = {DType::float32, o.q.data(), group * c.size, c.queries * c.size, c.size};
  a.y = {DType::float32, y.data(), group * c.value_size, c.queries * c.value_size, c.value_size};
  a.parts = parts;
  if (c.halves) a.k_factors = o.k_factors.data(), a.v_factors = o.v_factors.data();
  a.scale = 0.7, a.softcap = c.softcap;
  a.left = c.left, a.right = c.right, a.offset = c.keys - c.queries;
  if (!c.ends.empty()) a.ends = c.ends.data(), a.offsets = o.offsets.data();
  if (c.masked) a.mask = {DType::float32, o.mask.data(), c.queries * c.keys, 0, c.keys, c.keys};
  a.mask.none_is_nan = c.none_is_nan;
  if (c.sinks) a.sinks = o.sinks.data();
  attention<W>(a);
  return y;
}

/// The definition, in double.
template <class T>
std::vector<double> expected(const Operands<T>& o) {
  const Case& c = o.c;
  std::vector<double> y;
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t i = 0; i < c.queries; ++i) {
        const int64_t kv = b * c.kv_heads + h / (c.heads / c.kv_heads);
        const int64_t end = c.ends.empty() ? c.keys : c.ends[n(b)], p = i + end - c.queries;
        const float* const q = o.q.data() + ((b * c.heads + h) * c.queries + i) * c.size;
        std::vector<double> score(n(c.keys), -INFINITY), sums(n(c.value_size));
        double most = c.sinks ? double{o.sinks[n(h)]} : -INFINITY;
        const double sink = most;
        bool open = false;
        for (int64_t j = 0; j < end; ++j) {
          if ((c.left >= 0 && j < p - c.left) || (c.right >= 0 && j > p + c.right)) continue;
          const double bias = c.masked ? double{o.mask[n((b * c.queries + i) * c.keys + j)]} : 0;
          double x = 0;
          for (int64_t d = 0; d < c.size; ++d) x += double{q[d]} * o.key(kv, j, d);
          x *= 0.7;
          if (c.softcap > 0) x = c.softcap * std::tanh(x / c.softcap);
          score[n(j)] = x + bias;
          open |= c.none_is_nan || bias > -INFINITY;
          most = std::max(most, score[n(j)]);
        }
        double total = std::exp(sink - most);
        for (int64_t j = 0; open && j < c.keys; ++j) {
          const double weight = std::exp(score[n(j)] - most);
          total += weight;
          for (int64_t d = 0; weight > 0 && d < c.value_size; ++d) sums[n(d)] += weight * o.value(kv, j, d);
        }
        for (const double x : sums) y.push_back(open ? x / total : 0);
      }
  return y;
}

/// Products of `size` numbers up to 1 err by less than size^0.5 units of float, and exponentials and sums of
/// weights that add up to 1 by a few more, whatever the number of keys.
template <class T>
void check_near(const Operands<T>& o, const std::vector<float>& y) {
  const std::vector<double> want = expected(o);
  REQUIRE(y.size() == want.size());
  const double bound = (16 + 4 * std::sqrt(static_cast<double>(o.c.size))) * 0x1p-24;
  double error = 0;
  bool same_nans = true;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(want[i])) same_nans &= std::isnan(y[i]);
    else error = std::fmax(error, std::isnan(y[i]) ? INFINITY : std::fabs(double{y[i]} - want[i]));
  }
  CHECK(same_nans);
  CHECK(error <= bound);
}

template <class T>
void check_same(const std::vector<T>& x, const std::vector<T>& y) {
  REQUIRE(x.size() == y.size());
  CHECK(std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

// Few queries, and more of them.
const Case kinds[] = {{.batch = 2, .keys = 1100},
                      {.keys = 1100, .left = 600, .right = 0, .masked = true},
                      {.queries = 140, .keys = 1100, .right = 0},
                      {.heads = 2, .queries = 40, .keys = 700, .left = 300, .right = 5, .masked = true},
                      {.batch = 2, .heads = 12, .queries = 150, .keys = 600, .right = 0, .sinks = true}};

}  // namespace

TEST_CASE_TEMPLATE("attention: vectors of any size, rows of any number", T, float, float16, bfloat16,
                   int8_t) {
  for (const int64_t size : {1, 7, 16, 17, 64, 70}) {
    const Operands<T> o({.size = size, .value_size = size + 3});
    check_near(o, attend(o));
  }
  for (const int64_t heads : {1, 2, 3, 4, 5, 6, 7, 9, 16, 17})
    for (const int64_t keys : {0, 1, 3, 22}) {
      const Operands<T> o({.batch = 2, .heads = heads, .kv_heads = 1, .keys = keys});
      check_near(o, attend(o));
    }
}

TEST_CASE_TEMPLATE("attention: caches of several types, against double", T, float, float16, bfloat16,
                   int8_t) {
  for (const Case& c : kinds) {
    CAPTURE(&c - kinds);
    const Operands<T> o(c);
    check_near(o, attend(o));
    check_near(o, attend<double>(o));
  }
}

TEST_CASE("attention: codes of 4 bits and factors of their numbers, against double") {
  std::vector<Case> cases(std::begin(kinds), std::end(kinds));
  for (const int64_t size : {2, 8, 18, 70}) cases.push_back({.size = size, .value_size = size + 4});
  for (Case& c : cases) {
    CAPTURE(&c - cases.data());
    c.halves = true;
    const Operands<int8_t> o(c);
    const std::vector<float> whole = attend(o);
    check_near(o, whole);
    check_near(o, attend<double>(o));
    std::vector<int64_t> pages;
    for (int64_t end = 16; end < c.keys; end += 16) pages.push_back(end);
    check_same(attend(o, pages), whole);
  }
}

TEST_CASE("attention: windows, ends, masks, caps, sinks") {
  for (const int64_t queries : {1, 2, 5, 70})
    for (const int64_t keys : {600, 1500})
      for (const bool sinks : {false, true}) {
        const Case cases[] = {
            {.left = 100, .right = 0},
            {.left = 3},
            {.right = 2},
            {.left = 520, .right = 0, .masked = true},
            {.softcap = 0.5},
            {.masked = true},
            {.masked = true, .none_is_nan = true},
            {.batch = 2, .right = 0, .ends = {keys - 77, 513}},
            {.batch = 2, .left = 90, .right = 0, .masked = true, .ends = {600, 0}},
        };
        for (const Case& of : cases) {
          CAPTURE(queries);
          CAPTURE(&of - cases);
          Case c = of;
          c.queries = queries, c.keys = keys, c.sinks = sinks;
          c.size = 5, c.value_size = 3;
          if (c.none_is_nan && sinks) continue;  // a sink makes the weights of no keys 0
          const Operands<float> o(c);
          check_near(o, attend(o));
        }
      }
}

TEST_CASE("attention: keys whose scores a mask of finite numbers makes much less than others'") {
  for (const int64_t queries : {1, 40})
    for (const float low : {-1e4f, -3e38f})
      for (const bool first : {true, false}) {
        CAPTURE(queries);
        CAPTURE(low);
        CAPTURE(first);
        Operands<float> o({.queries = queries, .keys = 1700, .masked = true});
        for (std::size_t i = 0; i < o.mask.size(); ++i)
          o.mask[i] = (i % n(o.c.keys) < 900) == first ? low : 0.0f;
        check_near(o, attend(o));
        check_near(o, attend<double>(o));
      }
}

TEST_CASE_TEMPLATE("attention: the division into parts changes no bits", T, float, float16, bfloat16,
                   int8_t) {
  for (const Case& c : kinds) {
    CAPTURE(&c - kinds);
    const Operands<T> o(c);
    const std::vector<float> whole = attend(o);
    check_same(attend(o, {1}), whole);
    check_same(attend(o, {0, 511, 512, 512, 515}), whole);
    std::vector<int64_t> pages;
    for (int64_t end = 16; end < c.keys; end += 16) pages.push_back(end);
    check_same(attend(o, pages), whole);
  }
}

TEST_CASE("attention: the same bits on any number of threads") {
  for (const Case& of : kinds) {
    CAPTURE(&of - kinds);
    Case c = of;
    c.keys += 1500, c.kv_heads = 1;
    const Operands<bfloat16> o(c);
    const std::vector<float> alone = attend(o);
    for (const int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      const ScopedPool scope(pool);
      check_same(attend(o), alone);
    }
  }
}

TEST_CASE("attention: NaN and infinity among keys and values") {
  for (const int64_t queries : {1, 40}) {
    Operands<float> o({.heads = 1, .kv_heads = 1, .queries = queries, .keys = 1100, .right = 0});
    // Keys after all windows are not read.
    o.c.right = -1, o.c.ends = {1099}, o.offsets = {1099 - queries};
    o.k.back() = o.v.back() = NAN;
    for (const float y : attend(o)) CHECK(!std::isnan(y));
    o.c.ends = {}, o.offsets = {};
    // A score that is NaN or infinite makes all weights of its query NaN, in whichever block it is.
    for (const float x : {NAN, INFINITY}) {
      for (const int64_t key : {3, 1099}) {
        Operands<float> odd(o.c);
        odd.k[n(key * odd.c.size)] = x;
        for (float& q : odd.q) q = std::fabs(q);
        for (const float y : attend(odd)) CHECK(std::isnan(y));
      }
    }
    // A weight of 0 does not hide a value that is no number.
    Operands<float> hidden(o.c);
    hidden.c.masked = true;
    std::fill(hidden.mask.begin(), hidden.mask.end(), 0.0f);
    for (int64_t i = 0; i < queries; ++i) hidden.mask[n(i * 1100 + 5)] = -INFINITY;
    hidden.v[n(5 * hidden.c.value_size)] = NAN;
    const std::vector<float> y = attend(hidden);
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i % n(hidden.c.value_size) == 0));
  }
}
