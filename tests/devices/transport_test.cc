// Transports: messages, collective calls, bytes sent, aborts.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/devices/ranks.hpp"

namespace tenon::devices {
namespace {

using Link = std::shared_ptr<Transport>;

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
  on_ranks(2, [](const Link& t) {
    for (int k = 0; k < 100; ++k) {
      std::vector<int> out{k, t->rank()}, in(2);
      t->send(1 - t->rank(), bytes_of(out));
      t->receive(1 - t->rank(), bytes_of(in));
      CHECK(in == std::vector<int>{k, 1 - t->rank()});
    }
    std::vector<int> nothing;
    t->send(1 - t->rank(), bytes_of(nothing));
    t->receive(1 - t->rank(), bytes_of(nothing));
    CHECK(t->bytes_sent() == 800);
  });
}

TEST_CASE("Messages do not wait for their receivers, whatever their size") {
  on_ranks(2, [](const Link& t) {
    const std::size_t sizes[] = {1, (4 << 20) - 8, (4 << 20) - 7, (9 << 20) + 3};
    for (const std::size_t size : sizes) {
      std::vector<std::byte> out(size, static_cast<std::byte>(size));
      t->send(1 - t->rank(), out);
      out.assign(size, std::byte{99});
    }
    for (const std::size_t size : sizes) {
      std::vector<std::byte> in(size);
      t->receive(1 - t->rank(), in);
      CHECK(in == std::vector<std::byte>(size, static_cast<std::byte>(size)));
    }
  });
}

TEST_CASE("Messages leave while their sender works") {
  on_ranks(2, [](const Link& t) {
    std::vector<uint32_t> name{std::random_device()()};
    t->broadcast(first(2), bytes_of(name));
    const auto arrived = std::filesystem::temp_directory_path() / str_cat("tenon_arrived_", name[0]);
    std::vector<std::byte> message(std::size_t{1} << 20);
    if (t->rank() == 0) {
      t->send(1, message);
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
      while (!std::filesystem::exists(arrived) && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      CHECK(std::filesystem::remove(arrived));
    } else {
      t->receive(0, message);
      std::ofstream{arrived};
    }
  });
}

// Different numbers for each rank and element, whose sums depend on the order.
std::vector<float> operand(int64_t rank, std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = 1.0f / static_cast<float>(3 * static_cast<std::size_t>(rank) + i + 1);
  return x;
}

// Sums in the order of the ring, which ends at the rank that has the block.
std::vector<float> ring_sums(int ranks, std::size_t count) {
  const auto p = static_cast<std::size_t>(ranks);
  std::vector<float> sums;
  for (std::size_t block = 0; block < p; ++block)
    for (std::size_t i = count * block / p; i < count * (block + 1) / p; ++i) {
      float sum = 0;
      for (std::size_t step = 1; step <= p; ++step)
        sum = operand(static_cast<int64_t>((block + step) % p), count)[i] + sum;
      sums.push_back(sum);
    }
  return sums;
}

TEST_CASE("All-reduce: sums in the order of the ring, and bytes sent") {
  for (int p : {1, 2, 3, 4, 7})
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{84}}) {
      CAPTURE(p);
      CAPTURE(n);
      const std::vector<float> sums = ring_sums(p, n);
      on_ranks(p, [&](const Link& t) {
        std::vector<float> x = operand(t->rank(), n);
        t->all_reduce(first(p), DType::float32, bytes_of(x));
        CHECK(x == sums);
        int64_t sent = t->bytes_sent();
        if (n == 84) CHECK(sent == 2 * (p - 1) * 84 * 4 / p);
        t->all_reduce(first(p), DType::int64, std::as_writable_bytes(std::span(&sent, 1)));
        CHECK(sent == 2 * (p - 1) * static_cast<int64_t>(n) * 4);
      });
    }
}

TEST_CASE("All-reduce of more bytes than one call of MPI takes, among ranks in any order") {
  constexpr std::size_t count = (9 << 20) / sizeof(float) + 5;
  on_ranks(3, [&](const Link& t) {
    std::vector<float> x(count);
    for (std::size_t i = 0; i < count; ++i)
      x[i] = static_cast<float>(i % 1000 + static_cast<std::size_t>(t->rank()));
    t->all_reduce({2, 0, 1}, DType::float32, bytes_of(x));
    std::size_t other = 0;
    for (std::size_t i = 0; i < count; ++i) other += x[i] != static_cast<float>(3 * (i % 1000) + 3);
    CHECK(other == 0);
    x.assign(count, static_cast<float>(t->rank()));
    t->broadcast({1, 2, 0}, bytes_of(x));
    CHECK(x == std::vector<float>(count, 1));
  });
}

TEST_CASE("All-reduce: element types") {
  const auto reduced = [](auto a, auto b, DType type, auto sum) {
    on_ranks(2, [&](const Link& t) {
      std::vector<decltype(a)> x{t->rank() == 0 ? a : b};
      t->all_reduce({1, 0}, type, bytes_of(x));
      CHECK(std::memcmp(x.data(), &sum, sizeof(a)) == 0);
    });
  };
  reduced(0.25, 3.0, DType::float64, 3.25);
  reduced(float16(0.5f), float16(2.0f), DType::float16, float16(2.5f));
  reduced(bfloat16(0.5f), bfloat16(2.0f), DType::bfloat16, bfloat16(2.5f));
  reduced(int8_t{100}, int8_t{100}, DType::int8, int8_t{-56});
  reduced(INT64_MAX, int64_t{1}, DType::int64, INT64_MIN);
  for (const DType type : {DType::complex64, DType::bool_, DType::string})
    on_ranks(2, [&](const Link& t) {
      std::vector<std::byte> x(2 * static_cast<std::size_t>(bits_of(DType::complex64)) / 8);
      const auto refused = str_cat("no sums of tensor(", name_of(type), ")");
      CHECK_THROWS_WITH_AS(t->all_reduce({0, 1}, type, x), doctest::Contains(refused.c_str()), Error);
      const std::vector<std::size_t> halves(2, x.size() / 2);
      CHECK_THROWS_WITH_AS(t->reduce_scatter({0, 1}, type, halves, x), doctest::Contains(refused.c_str()),
                           Error);
    });
}

TEST_CASE("Reduce-scatter and all-gather of uneven blocks, among some ranks and all") {
  for (const Ranks& some : {Ranks{3, 0, 2}, Ranks{3, 0, 2, 1}})
    on_ranks(4, [&](const Link& t) {
      const bool all = some.size() == 4;
      if (t->rank() == 1 && !all) return;
      std::vector<std::size_t> sizes{8, 0, 4};
      std::vector<int> x{t->rank(), 10 * t->rank(), 100 * t->rank()}, sums{5, 50, 500};
      if (all) {
        sizes.push_back(12);
        x.insert(x.end(), {1, 2, 3}), sums = {6, 60, 600, 4, 8, 12};
      }
      t->reduce_scatter(some, DType::int32, sizes, bytes_of(x));
      if (t->rank() == 3)
        CHECK(std::vector<int>(x.begin(), x.begin() + 2) == std::vector<int>{sums[0], sums[1]});
      if (t->rank() == 2) CHECK(x[2] == sums[2]);
      if (t->rank() == 1) CHECK(std::vector<int>(x.begin() + 3, x.end()) == std::vector<int>{4, 8, 12});
      const int64_t whole = all ? 24 : 12;
      const int64_t own[] = {0, 12, 4, 8}, next[] = {4, 8, all ? 12 : 8, 0};
      CHECK(t->bytes_sent() == whole - own[t->rank()]);
      t->all_gather(some, sizes, bytes_of(x));
      CHECK(x == sums);
      CHECK(t->bytes_sent() == 2 * whole - own[t->rank()] - next[t->rank()]);
    });
}

TEST_CASE("Broadcast from the first of the ranks") {
  for (int p : {1, 2, 3, 4, 5, 8}) {
    Ranks order = first(p);
    std::swap(order.front(), order.back());
    on_ranks(p, [&](const Link& t) {
      std::vector<int> x{t->rank(), t->rank()};
      t->broadcast(order, bytes_of(x));
      CHECK(x == std::vector<int>(2, p - 1));
      int64_t sent = t->bytes_sent();
      t->all_reduce(order, DType::int64, std::as_writable_bytes(std::span(&sent, 1)));
      CHECK(sent == 8 * (p - 1));
    });
  }
}

TEST_CASE("Calls that do not fit each other are refused") {
  on_ranks(2, [](const Link& t) {
    std::vector<std::byte> two(2), three(3);
    const Ranks other{1 - t->rank()};
    CHECK_THROWS_WITH_AS(t->send(2, two), "devices: there is no rank 2 among 2", Error);
    CHECK_THROWS_WITH_AS(t->receive(-1, two), "devices: there is no rank -1 among 2", Error);
    CHECK_THROWS_WITH_AS(t->broadcast({t->rank(), 2}, two), "devices: there is no rank 2 among 2", Error);
    CHECK_THROWS_WITH_AS(
        t->all_reduce(other, DType::uint8, two),
        str_cat("devices: rank ", t->rank(), " takes no part in the call that it makes").c_str(), Error);
    const std::size_t sizes[] = {1, 3};
    CHECK_THROWS_WITH_AS(t->all_gather({0, 1}, sizes, two), doctest::Contains("do not make up its 2 bytes"),
                         Error);
    t->send(1 - t->rank(), two);
    CHECK_THROWS_WITH_AS(
        t->receive(1 - t->rank(), three),
        str_cat("devices: rank ", t->rank(), " expects 3 bytes of rank ", 1 - t->rank(), ", which has sent 2")
            .c_str(),
        Error);
  });
  CHECK_THROWS_AS(thread_transports(0), Error);
}

TEST_CASE("A rank that fails ends the others' waits") {
  for (const Ranks& waiting : {Ranks{0, 1, 2}, Ranks{2, 0}, Ranks{0}})
    on_ranks(3, [&](const Link& t) {
      std::vector<float> x(3);
      const auto start = std::chrono::steady_clock::now();
      std::string says = "rank 1: no memory";
      if (t->rank() == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        t->abort(says);
        t->abort("another reason");
      } else {
        says.clear();
        try {
          if (waiting.size() == 1) t->receive(1, bytes_of(x));
          else if (waiting.size() == 3) t->all_reduce(waiting, DType::float32, bytes_of(x));
          else t->receive(2 - t->rank(), bytes_of(x));
        } catch (const Error& e) {
          CHECK(e.code() == ErrorCode::cancelled);
          says = e.message();
        }
      }
      CHECK(says == "rank 1: no memory");
      CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
      std::vector<std::byte> byte(1);
      const auto later = doctest::Contains("rank 1: no memory");
      CHECK_THROWS_WITH_AS(t->send(2, byte), later, Error);
      CHECK_THROWS_WITH_AS(t->receive(0, byte), later, Error);
      CHECK_THROWS_WITH_AS(t->broadcast({2, 1, 0}, byte), later, Error);
    });
}

}  // namespace
}  // namespace tenon::devices
