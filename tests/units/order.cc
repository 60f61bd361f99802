// Calls the unit for any processor, and the one with AVX-512 where that is at hand.
#include <cmath>
#include <cstdio>

float plain();
float avx512();

int main() {
  const float y = plain();
  std::printf("plain %.4f\n", static_cast<double>(y));
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq")) return 0;
  std::printf("avx512 %s\n", std::abs(avx512() - y) < 1e-5f ? "alike" : "differs");
}
