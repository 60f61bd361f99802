// Transports between threads: messages, collective calls, bytes sent, aborts.
#include <doctest/doctest.h>

#include "tests/devices/ranks.hpp"

namespace tenon::devices {
namespace {

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& v) {
  return std::as_writable_bytes(std::span<T>(v));
}

Ranks first(int count) {
  Ranks ranks;
  for (int k = 0; k < count; ++k) ranks.push_back(k);
  return ranks;
}

TEST_CASE("Messages arrive in order") {
  const auto ranks = thread_transports(2);
  on_ranks(ranks, [](const auto& r) {
    Transport& t = *r;
    for (int k = 0; k < 100; ++k) {
      std::vector<int> out{k, t.rank()}, in(2);
      t.send(1 - t.rank(), bytes_of(out));
      t.receive(1 - t.rank(), bytes_of(in));
      CHECK(in == std::vector<int>{k, 1 - t.rank()});
    }
    std::vector<int> nothing;
    t.send(1 - t.rank(), bytes_of(nothing));
    t.receive(1 - t.rank(), bytes_of(nothing));
  });
  CHECK(ranks[0]->bytes_sent() == 800);
}

TEST_CASE("All-reduce: sums, the same bits everywhere, and bytes sent") {
  for (int p : {1, 2, 3, 4, 7})
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{84}}) {
      CAPTURE(p);
      CAPTURE(n);
      const auto ranks = thread_transports(p);
      std::vector<std::vector<float>> x(static_cast<std::size_t>(p), std::vector<float>(n));
      for (std::size_t r = 0; r < x.size(); ++r)
        for (std::size_t i = 0; i < n; ++i) x[r][i] = 1.0f / static_cast<float>(3 * r + i + 1);
      std::vector<double> sum(n);
      for (const auto& part : x)
        for (std::size_t i = 0; i < n; ++i) sum[i] += static_cast<double>(part[i]);
      on_ranks(ranks, [&](const auto& r) {
        Transport& t = *r;
        t.all_reduce(first(p), DType::float32, bytes_of(x[static_cast<std::size_t>(t.rank())]));
      });
      for (std::size_t i = 0; i < n; ++i) CHECK(x[0][i] == doctest::Approx(sum[i]).epsilon(1e-6));
      int64_t sent = 0;
      for (std::size_t r = 0; r < x.size(); ++r) {
        CHECK(x[r] == x[0]);
        sent += ranks[r]->bytes_sent();
      }
      CHECK(sent == 2 * (p - 1) * static_cast<int64_t>(n) * 4);
      if (n == 84)
        for (const auto& t : ranks) CHECK(t->bytes_sent() == 2 * (p - 1) * 84 * 4 / p);
    }
}

TEST_CASE("All-reduce: element types") {
  const auto reduced = [](auto a, auto b, DType type) {
    const auto ranks = thread_transports(2);
    std::vector<std::vector<decltype(a)>> x{{a}, {b}};
    on_ranks(ranks, [&](const auto& r) {
      Transport& t = *r;
      t.all_reduce({1, 0}, type, bytes_of(x[static_cast<std::size_t>(t.rank())]));
    });
    CHECK(std::memcmp(x[0].data(), x[1].data(), sizeof(a)) == 0);
    return x[0][0];
  };
  CHECK(reduced(0.25, 3.0, DType::float64) == 3.25);
  CHECK(static_cast<float>(reduced(float16(0.5f), float16(2.0f), DType::float16)) == 2.5f);
  CHECK(static_cast<float>(reduced(bfloat16(0.5f), bfloat16(2.0f), DType::bfloat16)) == 2.5f);
  CHECK(reduced(int8_t{100}, int8_t{100}, DType::int8) == -56);
  CHECK(reduced(INT64_MAX, int64_t{1}, DType::int64) == INT64_MIN);
  CHECK_THROWS_WITH_AS(reduced(complex64(1), complex64(2), DType::complex64),
                       doctest::Contains("no sums of tensor(complex64)"), Error);
}

TEST_CASE("Reduce-scatter and all-gather of uneven blocks, among some ranks") {
  const auto ranks = thread_transports(4);
  const Ranks some{3, 0, 2};
  const std::vector<std::size_t> sizes{8, 0, 4};
  std::vector<int> gathered[4];
  on_ranks(ranks, [&](const auto& r) {
    Transport& t = *r;
    if (t.rank() == 1) return;
    std::vector<int> x{t.rank(), 10 * t.rank(), 100 * t.rank()};
    t.reduce_scatter(some, DType::int32, sizes, bytes_of(x));
    if (t.rank() == 3) CHECK(std::vector<int>(x.begin(), x.begin() + 2) == std::vector<int>{5, 50});
    if (t.rank() == 2) CHECK(x[2] == 500);
    t.all_gather(some, sizes, bytes_of(x));
    gathered[t.rank()] = x;
  });
  for (int64_t r : some) CHECK(gathered[r] == std::vector<int>{5, 50, 500});
}

TEST_CASE("Broadcast from the first of the ranks") {
  for (int p : {1, 2, 3, 5, 8}) {
    const auto ranks = thread_transports(p);
    Ranks order = first(p);
    std::swap(order.front(), order.back());
    on_ranks(ranks, [&](const auto& r) {
      Transport& t = *r;
      std::vector<int> x{t.rank(), t.rank()};
      t.broadcast(order, bytes_of(x));
      CHECK(x == std::vector<int>(2, p - 1));
    });
    int64_t sent = 0;
    for (const auto& t : ranks) sent += t->bytes_sent();
    CHECK(sent == 8 * (p - 1));
  }
}

TEST_CASE("A rank that fails ends the others' waits") {
  const auto ranks = thread_transports(3);
  std::string says[3];
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      Transport& t = *ranks[static_cast<std::size_t>(r)];
      std::vector<float> x(3);
      try {
        if (r == 1) t.abort("rank 1: no memory");
        else t.all_reduce({0, 1, 2}, DType::float32, bytes_of(x));
      } catch (const Error& e) {
        CHECK(e.code() == ErrorCode::cancelled);
        says[r] = e.message();
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(says[0] == "rank 1: no memory");
  CHECK(says[2] == "rank 1: no memory");
  std::vector<std::byte> byte(1);
  CHECK_THROWS_AS(ranks[0]->send(2, byte), Error);
}

TEST_CASE("Calls that do not fit each other are refused") {
  const auto ranks = thread_transports(2);
  std::vector<std::byte> two(2), three(3);
  CHECK_THROWS_WITH_AS(ranks[0]->send(2, two), "devices: there is no rank 2 among 2", Error);
  CHECK_THROWS_WITH_AS(ranks[0]->all_reduce({1}, DType::uint8, two),
                       "devices: rank 0 takes no part in the call that it makes", Error);
  const std::size_t sizes[] = {1, 3};
  CHECK_THROWS_WITH_AS(ranks[0]->all_gather({0, 1}, sizes, two),
                       doctest::Contains("do not make up its 2 bytes"), Error);
  ranks[0]->send(1, two);
  CHECK_THROWS_WITH_AS(ranks[1]->receive(0, three),
                       "devices: rank 1 expects 3 bytes of rank 0, which has sent 2", Error);
  CHECK_THROWS_AS(thread_transports(0), Error);
}

}  // namespace
}  // namespace tenon::devices
