// Memory may end at any allocation: loading and running a model then ends in std::bad_alloc or an Error (or
// does without), and nothing is lost. Every operator new of this program may fail. Ordinarily ever fewer
// allocations of each model are tried; TENON_EVERY_ALLOCATION=1 tries all of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <set>

#include "loader/onnx.pb.h"
#include "tenon/loader.hpp"
#include "tests/heap.hpp"

namespace {

thread_local int64_t left = -1;    // allocations until one fails; below 0: none does
thread_local bool all = false;     // whether those behind it fail as well
thread_local bool failed = false;  // whether one has failed
thread_local int64_t blocks = 0;   // that are in use

}  // namespace

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

/// Calls f, which gives Outputs, again and again, with another allocation failing each time.
template <class F>
void walk(const std::string& name, Tally& tally, F f) {
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
      std::snprintf(current, sizeof current, "%s, allocation %lld%s", name.c_str(), static_cast<long long>(n),
                    later ? " and all behind it" : "");
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
      } catch (const Error&) {
        counter = &tally.errors;
      }
      left = -1;
      if (!right) FAIL_CHECK(current, ": the results differ");
      if (blocks > in_use) {
        FAIL_CHECK(current, ": ", blocks - in_use, " blocks are lost");
        in_use = blocks;
      }
      if (!failed) {
        tally.allocations += n;
        break;
      }
      ++tally.tried, ++*counter;
    }
  {
    Outputs last = f();
  }
  if (blocks > in_use) FAIL_CHECK(name, ": blocks are lost");
}

void report(const std::string& of, const Tally& t) {
  MESSAGE(of, ": ", t.allocations, " allocations, ", t.tried, " failed: ", t.without_memory,
          " std::bad_alloc, ", t.errors, " Errors, ", t.results, " results");
  CHECK(t.tried > 0);
}

/// One case an operator: the first folder, by name, with a node of it.
std::vector<fs::path> cases() {
  const char* const given = std::getenv("TENON_CASES");
  const fs::path folder = given ? given : "/usr/share/libonnx-testdata/data/node";
  if (!fs::is_directory(folder)) return {};
  std::vector<fs::path> folders;
  for (const auto& e : fs::directory_iterator(folder))
    if (fs::exists(e.path() / "model.onnx")) folders.push_back(e.path());
  std::ranges::sort(folders);
  std::set<std::string> seen;
  std::vector<fs::path> found;
  for (const fs::path& f : folders) {
    std::ifstream in(f / "model.onnx", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    onnx::ModelProto m;
    if (!m.ParseFromString(bytes)) continue;
    bool first = false;
    for (const auto& n : m.graph().node()) first |= seen.insert(n.op_type()).second;
    if (first) found.push_back(f / "model.onnx");
  }
  return found;
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
  walk("digits", tally, [&] {
    const Session s = load("examples/digits/digits.onnx");
    return s.run({{"image", images}});
  });
  report("digits", tally);
}

TEST_CASE("memory that ends while a case of each operator is loaded and run") {
  Tally tally;
  int64_t models = 0;
  for (const fs::path& model : cases()) {
    Feeds feeds;
    std::vector<std::string> names;
    try {
      const Session s = load(model);
      const Graph& g = s.graph();
      for (std::size_t k = 0; k < g.inputs().size(); ++k) names.push_back(g.entry(g.inputs()[k]).name);
      for (std::size_t k = 0; k < names.size(); ++k) {
        const fs::path file = model.parent_path() / "test_data_set_0" / concat("input_", k, ".pb");
        if (fs::exists(file)) feeds.emplace_back(names[k], read_pb(file, g.entry(g.inputs()[k]).info.type));
      }
      (void)s.run(feeds);
    } catch (const Error&) {
      continue;  // a disputed case
    }
    ++models;
    walk(model.parent_path().filename().string(), tally, [&] {
      const Session s = load(model);
      return s.run(feeds);
    });
  }
  if (models == 0) {
    MESSAGE("ONNX's cases are not installed");
    return;
  }
  report(concat(models, " cases"), tally);
  CHECK(models > 100);
}

}  // namespace tenon
