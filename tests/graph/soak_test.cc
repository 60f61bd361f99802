// Twelve threads run one session with ever other extents, some within bounds that they pass: results stay
// right, and memory stays flat. TENON_SOAK_SECONDS=600 takes longer than the two seconds of the ordinary
// test.
#include <doctest/doctest.h>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tenon/graph/passes.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/controlflow/loop.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/non_zero.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
using namespace test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // freed memory is kept then
#else
constexpr bool sanitized = false;
#endif

/// Windows and products for any batch and width, extents that data decide, and a loop.
Graph network() {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n"), 3, g.symbol("h"), g.symbol("w")});
  const ValueId trips = g.add_input("trips", DType::int64, {});
  const ValueId c =
      node(g, op::Relu{},
           {node(g, op::Conv{.pads = {1, 1, 1, 1}},
                 {x, g.add_constant({}, numbers({8, 3, 3, 3}, 2)), g.add_constant({}, numbers({8}, 3))})});
  const ValueId flat = node(g, op::Reshape{}, {c, g.add_constant({}, Tensor<int64_t>({2}, {-1, 8}))});
  const ValueId p =
      node(g, op::Softmax{}, {node(g, op::MatMul{}, {flat, g.add_constant({}, numbers({8, 10}, 4))})});
  g.add_output("p", p);
  const ValueId all = node(g, op::Reshape{}, {c, g.add_constant({}, Tensor<int64_t>({1}, {-1}))});
  const ValueId at =
      node(g, op::Reshape{}, {node(g, op::NonZero{}, {all}), g.add_constant({}, Tensor<int64_t>({1}, {-1}))});
  g.add_output("picked", node(g, op::Gather{}, {all, at}));
  Graph b = Graph::inside(g);
  b.add_input("i", DType::int64, {});
  const ValueId go = b.add_input("go", DType::bool_, {});
  const ValueId v = b.add_input("v", DType::float32, {Dim(), 10});
  b.add_output("go_on", go);
  b.add_output("next", node(b, op::Mul{}, {node(b, op::Add{}, {v, v}), v}));
  g.add_output("last", node(g, op::Loop{body(std::move(b))}, {trips, -1, p}));
  return g;
}

constexpr int batches = 4, heights = 12, widths = 12, shapes = batches * heights * widths;

Feeds feeds(int shape) {
  const int64_t n = 1 + shape % batches, h = 1 + shape / batches % heights, w = 3 + shape / batches / heights;
  return {{"x", numbers({n, 3, h, w}, static_cast<uint32_t>(shape))},
          {"trips", Tensor<int64_t>({}, {shape % 3})}};
}

uint64_t hash(Outputs& out) {
  uint64_t h = 1469598103934665603u;
  for (Value& v : out.values()) {
    const auto* bytes = static_cast<const unsigned char*>(std::as_const(v).tensor().data());
    for (int64_t k = 0; k < v.tensor().bytes(); ++k) h = (h ^ bytes[k]) * 1099511628211u;
  }
  return h;
}

double resident_mb() {
  std::ifstream in("/proc/self/statm");
  int64_t size = 0, resident = 0;
  in >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1048576;
}

}  // namespace

TEST_CASE("twelve threads run one session with mixed shapes") {
  const char* const given = std::getenv("TENON_SOAK_SECONDS");
  const double seconds = given ? std::atof(given) : 2;
  std::vector<uint64_t> expected;
  {
    const Session alone(network(), {.passes = standard_passes()});
    for (int k = 0; k < shapes; ++k) {
      Outputs out = alone.run(feeds(k));
      expected.push_back(hash(out));
    }
  }
  const Session s(network(), {.passes = standard_passes()});
  std::atomic<bool> done{false};
  std::atomic<int64_t> runs{0}, wrong{0}, bounded{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 12; ++t)
    threads.emplace_back([&, t] {
      Outputs kept;
      for (uint32_t r = t + 1; !done; r = r * 1664525 + 1013904223) {
        const int shape = static_cast<int>((r >> 8) % shapes);
        const Feeds in = feeds(shape);
        if (r >> 28 == 0) {
          try {
            (void)s.run(in, {.max_bytes = 100});
            ++wrong;
          } catch (const Error& e) {
            (e.code() == ErrorCode::limit ? bounded : wrong) += 1;
          }
          continue;
        }
        Outputs fresh;
        Outputs& out = r >> 31 ? kept : fresh;
        if (r >> 28 == 1)
          s.run(in, out, {.time_limit = std::chrono::hours(1), .max_bytes = int64_t{1} << 30});
        else s.run(in, out);
        if (hash(out) != expected[static_cast<std::size_t>(shape)]) ++wrong;
        ++runs;
      }
    });
  // The first tenth is for the threads to have seen the greatest shapes.
  std::vector<double> resident;
  constexpr int samples = 20;
  for (int k = 0; k < samples; ++k) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds / samples));
    resident.push_back(resident_mb());
    if (given)
      std::printf("%6.1f s: %8.1f MB, %lld runs\n", seconds * (k + 1) / samples, resident.back(),
                  static_cast<long long>(runs)),
          std::fflush(stdout);
  }
  done = true;
  for (std::thread& t : threads) t.join();
  MESSAGE(runs.load(), " runs, ", bounded.load(), " past a bound; ", resident[samples / 10],
          " MB after a tenth, ", resident.back(), " MB at the end");
  CHECK(wrong == 0);
  CHECK(runs > 0);
  CHECK(bounded > 0);
  if (!sanitized) CHECK(resident.back() < 1.25 * resident[samples / 10] + 16);
}

}  // namespace tenon
