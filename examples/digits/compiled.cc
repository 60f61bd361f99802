// Reads handwritten digits with a model that is a header: compiled IMAGES.npy LABELS.npy
//   tenon compile examples/digits/digits.onnx --shape batch=1 -o digits.hpp
//   g++ $(sed -n '2s,^// *g++,,p' digits.hpp) -I. examples/digits/compiled.cc -o compiled
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "digits.hpp"

namespace {

constexpr int most = 400;
unsigned char images[most * 64], labels[most];
digits::Memory memory;

// Reads up to n of the elements that follow the header of a .npy file; returns their number.
int read_npy(const char* name, unsigned char* to, int n) {
  std::FILE* const file = std::fopen(name, "rb");
  unsigned char head[10];
  if (file == nullptr || std::fread(head, 1, 10, file) != 10) return 0;
  std::fseek(file, 10 + head[8] + 256 * head[9], SEEK_SET);
  const auto count = static_cast<int>(std::fread(to, 1, static_cast<std::size_t>(n), file));
  std::fclose(file);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 3 ? read_npy(argv[1], images, most * 64) / 64 : 0;
  if (count == 0 || read_npy(argv[2], labels, most) < count) {
    std::fprintf(stderr, "usage: compiled IMAGES.npy LABELS.npy\n");
    return 2;
  }
  int right = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < count; ++k) {
    float probability[10];
    digits::run(images + 64 * k, probability, memory);
    right += std::max_element(probability, probability + 10) - probability == labels[k];
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  std::printf("%d of %d digits are right, %.1f us each\n", right, count, time.count() / count);
}
