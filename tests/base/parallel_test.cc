#include "tenon/base/thread_pool.hpp"

#include <doctest/doctest.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {
using tenon::Executor;
using tenon::parallel_for;
using tenon::ScopedPool;
using tenon::ThreadPool;
using Chunks = std::vector<std::pair<int64_t, int64_t>>;

// The chunks that a loop is cut into, in order of their beginnings, whichever thread ran them.
Chunks chunks_of(int64_t n, int64_t grain) {
  std::mutex mutex;
  Chunks chunks;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    auto place = chunks.begin();
    while (place != chunks.end() && place->first < begin) ++place;
    chunks.insert(place, {begin, end});
  });
  return chunks;
}

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
}  // namespace

TEST_CASE("chunks depend on length and grain only") {
  constexpr int64_t big = int64_t{1} << 62;
  const struct {
    int64_t n, grain;
    Chunks expected;
  } rows[] = {
      {-3, 4, {}},
      {0, 4, {}},
      {1, 4, {{0, 1}}},
      {4, 4, {{0, 4}}},
      {5, 4, {{0, 4}, {4, 5}}},
      {8, 4, {{0, 4}, {4, 8}}},
      {3, 0, {{0, 1}, {1, 2}, {2, 3}}},
      {2, -7, {{0, 1}, {1, 2}}},
      {7, 1000, {{0, 7}}},
      {big + 1, big, {{0, big}, {big, big + 1}}},
      {std::numeric_limits<int64_t>::max(), big, {{0, big}, {big, std::numeric_limits<int64_t>::max()}}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.n);
    CAPTURE(row.grain);
    CHECK(chunks_of(row.n, row.grain) == row.expected);
    for (const int threads : {1, 2, 3, 8}) {
      ThreadPool pool(threads);
      const ScopedPool use(pool);
      CHECK(chunks_of(row.n, row.grain) == row.expected);
    }
  }
}

TEST_CASE("a pool has between 1 and 4096 threads") {
  for (const int threads : {0, -1, 4097}) CHECK_THROWS_AS(ThreadPool{threads}, tenon::Error);
  for (const int threads : {1, 2, 5}) CHECK(ThreadPool(threads).threads() == threads);
}

TEST_CASE("every task runs once, many times over") {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 2000; ++round) {
      const int64_t tasks = round % 37;
      int counts[37] = {};
      pool.run(tasks, [&](int64_t i) { ++counts[i]; });
      for (int i = 0; i < 37; ++i) REQUIRE(counts[i] == (i < tasks ? 1 : 0));
    }
  }
}

TEST_CASE("workers help, each with its own tasks") {
  ThreadPool pool(3);
  std::thread::id owners[3];
  for (int round = 0; round < 20; ++round) {
    // Three tasks that wait for each other can only finish on three threads.
    std::atomic<int> arrived{0};
    std::thread::id ids[3];
    pool.run(3, [&](int64_t i) {
      ids[i] = std::this_thread::get_id();
      ++arrived;
      while (arrived.load() < 3) std::this_thread::yield();
    });
    CHECK(arrived.load() == 3);
    CHECK(ids[0] == std::this_thread::get_id());
    if (round == 0) std::copy(ids, ids + 3, owners);
    CHECK(std::equal(ids, ids + 3, owners));
  }
}

TEST_CASE("many callers share a pool") {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&pool, &total, caller] {
      const ScopedPool use(pool);
      for (int round = 0; round < 300; ++round) {
        std::vector<int64_t> squares(static_cast<size_t>(50 + caller));
        parallel_for(50 + caller, 3, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) squares[static_cast<size_t>(i)] = i * i;
        });
        for (const int64_t square : squares) total += square;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  int64_t expected = 0;
  for (int caller = 0; caller < 6; ++caller) {
    for (int64_t i = 0; i < 50 + caller; ++i) expected += 300 * i * i;
  }
  CHECK(total.load() == expected);
}

TEST_CASE("a caller does not wait for another's work") {
  ThreadPool pool(2);
  std::atomic<bool> release{false};
  std::atomic<int> held{0};
  // Both the worker and the first caller are held until the second caller has finished.
  std::thread first([&] {
    pool.run(2, [&](int64_t) {
      ++held;
      while (!release.load()) std::this_thread::yield();
    });
  });
  while (held.load() < 2) std::this_thread::yield();
  int64_t sum = 0;
  pool.run(10, [&](int64_t i) { sum += i; });
  CHECK(sum == 45);
  release = true;
  first.join();
}

TEST_CASE("nested loops") {
  ThreadPool pool(3);
  const ScopedPool use(pool);
  std::atomic<int> strangers{0}, calls{0}, executors{0};
  parallel_for(8, 1, [&](int64_t, int64_t) {
    if (tenon::current_executor() != nullptr) ++executors;
    const auto self = std::this_thread::get_id();
    parallel_for(100, 7, [&](int64_t, int64_t) {
      ++calls;
      if (std::this_thread::get_id() != self) ++strangers;
    });
  });
  CHECK(executors.load() == 0);
  CHECK(calls.load() == 8 * 15);
  CHECK(strangers.load() == 0);
  CHECK(tenon::current_executor() == &pool);

  // Asking the pool itself from inside a task is allowed, to any depth.
  std::atomic<int> leaves{0};
  for (int round = 0; round < 50; ++round) {
    pool.run(4, [&](int64_t) { pool.run(4, [&](int64_t) { pool.run(4, [&](int64_t) { ++leaves; }); }); });
  }
  CHECK(leaves.load() == 50 * 64);
}

TEST_CASE("the exception of the first failing chunk reaches the caller") {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const ScopedPool use(pool);
    for (int round = 0; round < 200; ++round) {
      std::string message;
      try {
        parallel_for(64, 2, [&](int64_t begin, int64_t) {
          if (begin >= 20) {
            throw tenon::Error(tenon::ErrorCode::invalid_argument, "chunk", std::to_string(begin));
          }
        });
      } catch (const tenon::Error& error) {
        message = error.what();
      }
      REQUIRE(message == "chunk: 20");
    }
    CHECK(tenon::current_executor() == &pool);
    CHECK_THROWS_AS(pool.run(3, [](int64_t) { throw 7; }), int);
    int calls = 0;
    pool.run(1, [&](int64_t) { ++calls; });
    CHECK(calls == 1);
  }
}

TEST_CASE("the calls of a round see what the previous round's calls wrote") {
  const auto check = [](int64_t rounds, int64_t n) {
    CAPTURE(rounds);
    CAPTURE(n);
    // Each call reads what all calls of the previous round wrote.
    std::vector<int64_t> sums[2];
    for (auto& s : sums) s.assign(static_cast<size_t>(n), 1);
    std::atomic<int64_t> calls{0};
    tenon::parallel_rounds(rounds, n, [&](int64_t round, int64_t i) {
      int64_t sum = round;
      for (const int64_t s : sums[round % 2]) sum += s;
      sums[1 - round % 2][static_cast<size_t>(i)] = sum % 1000003 + i;
      ++calls;
    });
    CHECK(calls.load() == (n > 0 ? rounds * n : 0));
    return sums[rounds % 2];
  };
  for (const auto& [rounds, n] : {std::pair{0, 3}, {5, 0}, {1, 1}, {7, 1}, {300, 2}, {300, 5}, {100, 200}}) {
    const auto expected = check(rounds, n);
    for (const int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      const ScopedPool use(pool);
      CHECK(check(rounds, n) == expected);
    }
    // Tasks one after the other, the last first: no call waits for a task that has not begun.
    struct Backwards final : Executor {
      using Executor::run;
      void run(int64_t tasks, void (*task)(void*, int64_t), void* data) override {
        for (int64_t i = tasks; i-- > 0;) task(data, i);
      }
      int threads() const override { return 3; }
    } own;
    const ScopedPool use(own);
    CHECK(check(rounds, n) == expected);
  }
  ThreadPool pool(3);
  const ScopedPool use(pool);
  for (int round = 0; round < 100; ++round)
    CHECK_THROWS_AS(tenon::parallel_rounds(50, 3,
                                           [&](int64_t r, int64_t i) {
                                             if (r == 20 && i == round % 3) throw 7;
                                           }),
                    int);
}

TEST_CASE("a caller's own executor") {
  struct Backwards final : Executor {
    using Executor::run;
    void run(int64_t tasks, void (*task)(void*, int64_t), void* data) override {
      ++runs;
      for (int64_t i = tasks; i-- > 0;) task(data, i);
    }
    int threads() const override { return 2; }
    int runs = 0;
  } own;
  {
    const ScopedPool use(own);
    CHECK(chunks_of(10, 4) == Chunks{{0, 4}, {4, 8}, {8, 10}});
    CHECK(chunks_of(4, 4) == Chunks{{0, 4}});
    CHECK(own.runs == 1);
    {
      const ScopedPool serial(nullptr);
      CHECK(tenon::current_executor() == nullptr);
    }
    // Even where the last chunk runs first, the first chunk's exception wins.
    int64_t thrown = -1;
    try {
      parallel_for(5, 1, [](int64_t begin, int64_t) { throw begin; });
    } catch (int64_t begin) {
      thrown = begin;
    }
    CHECK(thrown == 0);
  }
  CHECK(tenon::current_executor() == nullptr);
}

#ifdef __linux__
// Forks while `busy` threads run loops on `pool`, and gives the status of f() in the child, which has ten
// seconds.
template <class F>
int status_in_child(ThreadPool& pool, int busy, F f) {
  std::atomic<bool> ends = false;
  std::vector<std::thread> callers;
  for (int k = 0; k < busy; ++k)
    callers.emplace_back([&] {
      const ScopedPool use(pool);
      while (!ends) parallel_for(100, 1, [](int64_t, int64_t) {});
    });
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(f());
  }
  ends = true;
  for (std::thread& t : callers) t.join();
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_MESSAGE(WIFEXITED(status), "ended by signal ", WTERMSIG(status));
  return WEXITSTATUS(status);
}

// The sum of 0 to 999.
int64_t sum_on(Executor& pool) {
  const ScopedPool use(pool);
  std::atomic<int64_t> sum = 0;
  parallel_for(1000, 1, [&](int64_t begin, int64_t) { sum += begin; });
  return sum;
}

TEST_CASE("in the child of a fork a pool runs serially, and ends") {
  for (int busy : {0, 3})
    for (int repeat = 0; repeat < 20; ++repeat) {
      auto pool = std::make_unique<ThreadPool>(4);
      CHECK(sum_on(*pool) == 499500);
      const int status = status_in_child(*pool, busy, [&] {
        if (pool->threads() != 1) return 1;
        if (sum_on(*pool) != 499500) return 2;
        pool.reset();
        return 0;
      });
      CHECK(status == 0);
      CHECK(pool->threads() == 4);
      CHECK(sum_on(*pool) == 499500);
    }
}

// ThreadSanitizer ends children that start threads.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("in the child of a fork a pool of its own has workers") {
  ThreadPool pool(4);
  CHECK(sum_on(pool) == 499500);
  const int status = status_in_child(pool, 0, [] {
    ThreadPool own(3);
    return own.threads() == 3 && sum_on(own) == 499500 ? 0 : 1;
  });
  CHECK(status == 0);
}
#endif
#endif

TEST_CASE("idle workers sleep") {
  ThreadPool pool(4);
  std::atomic<int> calls{0};
  pool.run(100, [&](int64_t) { ++calls; });
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(cpu_seconds() - before < 0.1);
  pool.run(100, [&](int64_t) { ++calls; });
  CHECK(calls.load() == 200);
}

#ifdef __linux__
TEST_CASE("workers may run where the thread that made them might") {
  cpu_set_t all;
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  for (const cpu_set_t& set : {one, all}) {
    REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
    CHECK(tenon::detail::allowed_processors() == CPU_COUNT(&set));
    tenon::detail::leave_processor(tenon::detail::current_processor());
    ThreadPool pool(3);
    std::atomic<int> others{0};
    // Long enough for workers that share the caller's processor to move several times.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    while (std::chrono::steady_clock::now() < end)
      pool.run(8, [&](int64_t) {
        cpu_set_t now;
        if (sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &set)) ++others;
      });
    CHECK(others.load() == 0);
  }
}

#ifdef __x86_64__
TEST_CASE("a sandbox that does not let threads move") {
  // The filter holds for the thread that sets it, and for threads that it makes.
  std::thread([] {
    const auto load = static_cast<uint16_t>(BPF_LD | BPF_W | BPF_ABS);
    const auto jump = static_cast<uint16_t>(BPF_JMP | BPF_JEQ | BPF_K);
    const auto give = static_cast<uint16_t>(BPF_RET | BPF_K);
    sock_filter rules[] = {{load, 0, 0, 0},
                           {jump, 0, 1, SYS_sched_setaffinity},
                           {give, 0, 0, SECCOMP_RET_ERRNO | EPERM},
                           {give, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog filter{static_cast<unsigned short>(std::size(rules)), rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      return;  // a kernel without filters
    tenon::detail::leave_processor(tenon::detail::current_processor());
    ThreadPool pool(3);
    int64_t squares[100];
    for (int round = 0; round < 200; ++round) pool.run(100, [&](int64_t i) { squares[i] = i * i; });
    for (int64_t i = 0; i < 100; ++i) CHECK(squares[i] == i * i);
  }).join();
}
#endif
#endif
