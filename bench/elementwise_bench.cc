// Kernels that read and write each element about once: rates in elements per second of one thread. The rates
// of add and transpose over millions of elements compare with the bandwidth that peak.cc measures.
// Names are kernel/elements or kernel/rows/columns.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "tenon/base/thread_pool.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/move/transpose.hpp"
#include "tenon/kernels/reduce/normalize.hpp"
#include "tenon/kernels/reduce/reduce.hpp"
#include "tenon/kernels/reduce/softmax.hpp"

namespace {

using namespace tenon::kernels;

// Runs f on one thread and counts `elements` for each run.
template <class F>
void measure(benchmark::State& state, int64_t elements, F f) {
  tenon::ThreadPool pool(1);
  const tenon::ScopedPool scope(pool);
  for (auto _ : state) {
    f();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * elements);
}

// Numbers on both sides of 0, where functions have their branches.
template <class T>
std::vector<T> operand(int64_t n) {
  std::vector<T> x(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = static_cast<T>(static_cast<float>(i % 13 - 6));
  return x;
}

template <class T>
void add(benchmark::State& state) {
  const int64_t shape[] = {state.range(0)};
  const auto a = operand<T>(shape[0]), b = operand<T>(shape[0]);
  std::vector<T> c(a.size());
  const auto plan = broadcast_plan(shape, shape);
  measure(state, shape[0], [&] { binary(BinaryOp::add, a.data(), b.data(), c.data(), plan); });
}

// A row added to each row, and a column to each column.
void add_row(benchmark::State& state) {
  const int64_t shape[] = {state.range(0), state.range(1)}, row[] = {shape[1]};
  const auto a = operand<float>(shape[0] * shape[1]), b = operand<float>(shape[1]);
  std::vector<float> c(a.size());
  const auto plan = broadcast_plan(shape, row);
  measure(state, plan.size, [&] { binary(BinaryOp::add, a.data(), b.data(), c.data(), plan); });
}
void add_column(benchmark::State& state) {
  const int64_t shape[] = {state.range(0), state.range(1)}, column[] = {shape[0], 1};
  const auto a = operand<float>(shape[0] * shape[1]), b = operand<float>(shape[0]);
  std::vector<float> c(a.size());
  const auto plan = broadcast_plan(shape, column);
  measure(state, plan.size, [&] { binary(BinaryOp::add, a.data(), b.data(), c.data(), plan); });
}

template <UnaryOp op, class T>
void map(benchmark::State& state) {
  const int64_t n = state.range(0);
  const auto x = operand<T>(n);
  std::vector<T> y(x.size());
  measure(state, n, [&] { unary(op, x.data(), y.data(), n); });
}

template <class T>
void softmax_rows(benchmark::State& state) {
  const int64_t rows = state.range(0), columns = state.range(1);
  const auto x = operand<T>(rows * columns);
  std::vector<T> y(x.size());
  measure(state, rows * columns, [&] { softmax(x.data(), y.data(), rows, columns, 1); });
}

void layer_norm_rows(benchmark::State& state) {
  LayerNormArgs<float> args;
  args.rows = state.range(0), args.n = state.range(1);
  const auto x = operand<float>(args.rows * args.n), scale = operand<float>(args.n);
  std::vector<float> y(x.size());
  args.x = x.data(), args.y = y.data(), args.scale = args.bias = scale.data();
  measure(state, args.rows * args.n, [&] { layer_norm(args); });
}

// Over the columns of a row (axes 2), the rows (1) or all (3).
template <ReduceOp op, uint32_t axes, class T>
void reduce_axes(benchmark::State& state) {
  const int64_t shape[] = {state.range(0), state.range(1)};
  const auto x = operand<T>(shape[0] * shape[1]);
  std::vector<T> y(x.size());
  const ReducePlan plan = reduce_plan(shape, axes);
  measure(state, shape[0] * shape[1], [&] { reduce(op, x.data(), y.data(), plan); });
}

template <class T>
void transpose_matrix(benchmark::State& state) {
  const int64_t shape[] = {state.range(0), state.range(1)}, order[] = {1, 0};
  const auto x = operand<T>(shape[0] * shape[1]);
  std::vector<T> y(x.size());
  measure(state, shape[0] * shape[1], [&] { transpose(y.data(), x.data(), shape, order, sizeof(T)); });
}

void lengths(benchmark::internal::Benchmark* b) { b->Arg(1 << 8)->Arg(1 << 12)->Arg(1 << 18)->Arg(1 << 22); }
void matrices(benchmark::internal::Benchmark* b) {
  b->Args({64, 8})->Args({64, 64})->Args({512, 512})->Args({4096, 1024});
}

using tenon::float16;

BENCHMARK(add<float>)->Apply(lengths);
BENCHMARK(add<float16>)->Apply(lengths);
BENCHMARK(add<int8_t>)->Apply(lengths);
BENCHMARK(add<int64_t>)->Apply(lengths);
BENCHMARK(add_row)->Apply(matrices);
BENCHMARK(add_column)->Apply(matrices);
BENCHMARK(map<UnaryOp::relu, float>)->Apply(lengths);
BENCHMARK(map<UnaryOp::exp, float>)->Apply(lengths);
BENCHMARK(map<UnaryOp::exp, float16>)->Apply(lengths);
BENCHMARK(map<UnaryOp::erf, float>)->Apply(lengths);
BENCHMARK(map<UnaryOp::gelu, float>)->Apply(lengths);
BENCHMARK(softmax_rows<float>)->Apply(matrices);
BENCHMARK(softmax_rows<float16>)->Apply(matrices);
BENCHMARK(layer_norm_rows)->Apply(matrices);
BENCHMARK(reduce_axes<ReduceOp::sum, 2, float>)->Apply(matrices);
BENCHMARK(reduce_axes<ReduceOp::sum, 1, float>)->Apply(matrices);
BENCHMARK(reduce_axes<ReduceOp::sum, 3, float>)->Apply(matrices);
BENCHMARK(reduce_axes<ReduceOp::max, 2, float>)->Apply(matrices);
BENCHMARK(reduce_axes<ReduceOp::sum, 2, float16>)->Apply(matrices);
BENCHMARK(reduce_axes<ReduceOp::sum, 2, int64_t>)->Apply(matrices);
BENCHMARK(transpose_matrix<float>)->Apply(matrices);
BENCHMARK(transpose_matrix<float16>)->Apply(matrices);

}  // namespace

BENCHMARK_MAIN();
