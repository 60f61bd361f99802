// Memory may end at any allocation: loading and running a model then ends in std::bad_alloc or
// Error{out_of_memory} (or does without), and nothing is lost. Every operator new of this program may fail.
// Ordinarily ever fewer allocations of each model are tried; TENON_EVERY_ALLOCATION=1 tries all of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "tenon/model.hpp"
#include "tests/heap.hpp"
#include "tests/loader/draw.hpp"
#include "tests/loader/folder.hpp"

namespace {

thread_local int64_t left = -1;    // allocations until one fails; below 0: none does
thread_local bool all = false;     // whether later ones fail as well
thread_local bool failed = false;  // whether one has failed
thread_local int64_t blocks = 0;   // that are in use

}  // namespace

// RE2 loses an object where an allocation in its constructor fails.
extern "C" const char* __lsan_default_suppressions() { return "leak:libre2.so\n"; }

void* tenon::heap::take(std::size_t bytes, std::size_t alignment) noexcept {
  if (left == 0) {
    failed = true;
    if (!all) left = -1;
    return nullptr;
  }
  if (left > 0) --left;
  void* const p = allocate(bytes, alignment);
  if (p != nullptr) ++blocks;
  return p;
}
void tenon::heap::give(void* p) noexcept {
  if (p != nullptr) --blocks;
  std::free(p);
}

namespace tenon {
namespace {

namespace fs = std::filesystem;

// For std::terminate, which may come while there is no memory.
char current[300];

bool same(const Value& a, const Value& b) {
  if (!a.is_tensor() || a.type() == Type(DType::string)) return a.type() == b.type();
  return b.is_tensor() && a.type() == b.type() && a.tensor().extents() == b.tensor().extents() &&
         (a.tensor().bytes() == 0 || std::memcmp(a.tensor().data(), b.tensor().data(),
                                                 static_cast<std::size_t>(a.tensor().bytes())) == 0);
}
bool same(Outputs& a, Outputs& b) {
  bool equal = a.size() == b.size();
  for (std::size_t k = 0; equal && k < a.size(); ++k) equal = same(a[k], b[k]);
  return equal;
}

struct Tally {
  int64_t allocations = 0, tried = 0, without_memory = 0, errors = 0, results = 0;
};

/// Whether an operator may lose memory: RE2's objects own by plain pointers what their constructors have made
/// when an allocation throws, and the library is Debian's.
bool loses_memory(std::string_view op) { return op == "RegexFullMatch" || op == "Tokenizer"; }

/// Calls f, which gives Outputs, again and again, with another allocation failing each time. `loses` says
/// that blocks may be lost.
template <class F>
void walk(const std::string& what, Tally& tally, bool loses, F f) {
  static const bool every = std::getenv("TENON_EVERY_ALLOCATION") != nullptr;
  Outputs expected = f();
  int64_t in_use = 0;
  bool random = false;
  {
    Outputs again = f();
    random = !same(expected, again);
  }
  in_use = blocks;
  for (const bool later : {false, true})
    for (int64_t n = 0;; n += every ? 1 : 1 + n / 4) {
      std::snprintf(current, sizeof current, "%s, allocation %lld%s", what.c_str(), static_cast<long long>(n),
                    later ? " and all later ones" : "");
      int64_t* counter = &tally.results;
      bool right = true;
      failed = false;
      try {
        all = later;
        left = n;
        Outputs results = f();
        left = -1;
        right = random || same(expected, results);
      } catch (const std::bad_alloc&) {
        counter = &tally.without_memory;
      } catch (const Error& e) {
        left = -1;
        counter = &tally.errors;
        if (e.code() != ErrorCode::out_of_memory) FAIL_CHECK(current, ": ", std::string(e.what()));
      }
      left = -1;
      if (!right) FAIL_CHECK(current, ": the results differ");
      if (blocks > in_use && !loses) FAIL_CHECK(current, ": ", blocks - in_use, " blocks are lost");
      in_use = std::max(in_use, blocks);
      if (!failed) {
        tally.allocations += n;
        break;
      }
      ++tally.tried, ++*counter;
    }
  {
    Outputs last = f();
  }
  if (blocks > in_use) FAIL_CHECK(what, ": blocks are lost");
}

void report(const std::string& of, const Tally& t) {
  MESSAGE(of, ": ", t.allocations, " allocations, ", t.tried, " failed: ", t.without_memory,
          " std::bad_alloc, ", t.errors, " Errors, ", t.results, " results");
  CHECK(t.tried > 0);
}

}  // namespace

TEST_CASE("memory that ends while digits are loaded and read") {
  std::set_terminate([] {
    std::fprintf(stderr, "std::terminate at %s\n", current);
    std::abort();
  });
  const Value scans = read_npy("examples/digits/images.npy");
  const Value images = AnyTensor(DType::uint8, {3, 8, 8}, scans.tensor().storage().slice(0, 192));
  Tally tally;
  walk("digits", tally, false, [&] {
    const Session s = load("examples/digits/digits.onnx");
    return s.run({{"image", images}});
  });
  report("digits", tally);
}

TEST_CASE("memory that ends while a use of each operator is made ready and run") {
  constexpr uint64_t most = 10000;  // draws for each operator
  const Folder folder;
  const fs::path file = folder / "model.onnx";
  Tally tally;
  int64_t models = 0, graphs = 0;
  for (const auto& [key, versions] : standard_registry().operators()) {
    if (!test::runs_alone(key)) continue;
    const auto& [version, c] = *versions.rbegin();
    std::optional<Feeds> feeds;
    const auto draw = [&](uint64_t seed) {
      test::Draw drawn(test::seed_of(seed, version));
      test::WantedType any;
      return test::draw_graph(drawn, *c, version, any);
    };
    const auto try_out = [](Session s, const Feeds& f) {
      (void)s.run(f, {.time_limit = std::chrono::seconds(1), .max_bytes = 1 << 20});
    };
    for (uint64_t seed = 1; !feeds && seed <= most; ++seed) {
      bool written = false;
      try {
        test::DrawnGraph drawn = draw(seed);
        try {
          save(drawn.graph, file);
          written = true;
        } catch (const Error& e) {  // nodes that the newest operator set has not
          if (e.code() != ErrorCode::not_supported) throw;
        }
        try_out(written ? load(file) : Session(std::move(drawn.graph)), drawn.feeds);
        feeds = std::move(drawn.feeds);
      } catch (const Error&) {
        continue;  // not what the operator takes
      }
      walk(str_cat(key.second, ", seed ", seed), tally, loses_memory(key.second), [&] {
        const Session s = written ? load(file) : Session(draw(seed).graph);
        return s.run(*feeds);
      });
      ++(written ? models : graphs);
    }
    CHECK_MESSAGE(feeds, key.second, " is not met");
  }
  report(str_cat(models, " models and ", graphs, " graphs"), tally);
  CHECK(models > 200);
}

}  // namespace tenon
