// without_exceptions CASE: a program that is compiled with -fno-exceptions -fno-rtti. "compute" prints a
// result of each part of the headers; the other cases each end in an error, and so in the program's own
// function, which prints it and ends with 3.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>

[[noreturn]] void end_in(int code, const char* text) {
  std::printf("%d %s\n", code, text);
  std::exit(3);
}
#define TENON_ABORT() ::end_in(static_cast<int>(code), text)

#include "tenon/array.hpp"
#include "tenon/base/thread_pool.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/relu.hpp"

using namespace tenon;

Session doubled() {
  Graph g;
  auto x = g.input<float, Shape<dyn, 2>>("x");
  g.output("y", g.add(op::Relu{}, g.add(op::Add{}, x, x)));
  return Session(std::move(g), {.threads = 2});
}

int main(int, char** argv) {
  const std::string_view end = argv[1];
  const Tensor<float> two({2}, {1, 2}), three({3}, {1, 2, 3});
  if (end == "compute") {
    const Tensor<float, Shape<2, 2>> a{{1, 2}, {3, 4}};
    std::printf("%s\n", to_string(op::MatMul{}(a, a)).c_str());
    const Tensor<float> s = two * two + 1.f;
    std::printf("%s\n", to_string(s).c_str());
    Outputs out = doubled().run({{"x", Tensor<float>({1, 2}, {-1, 3})}});
    std::printf("%s\n", to_string(out["y"].view<float>()).c_str());
    ThreadPool pool(3);
    const ScopedPool scope(pool);
    std::atomic<int64_t> sum{0};
    parallel_for(1000, 10, [&](int64_t begin, int64_t end_of) { sum += end_of - begin; });
    parallel_rounds(4, 10, [&](int64_t, int64_t) { ++sum; });
    std::printf("%d\n", static_cast<int>(sum));
  }
  if (end == "extents") op::Add{}(two, three);
  if (end == "index") two(5);
  if (end == "session") std::ignore = doubled().run({{"z", Tensor<float>({1, 2})}});
  if (end == "memory") {
    Scratch scratch;
    scratch.take<float>(-1);
  }
  if (end == "csv") std::ignore = parse_csv<float>("1,x\n");
}
