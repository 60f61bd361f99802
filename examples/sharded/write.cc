// write MODEL.onnx: a network with 537 MB of weights in a file next to it, sixteen layers of 1,024 numbers,
// each two products with 4,096 numbers in between.
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>

#include "tenon/model.hpp"

namespace {

using namespace tenon;

constexpr int layers = 16;
constexpr int64_t width = 1024, inner = 4 * width;

Tensor<float> random_weights(int64_t rows, int64_t columns, std::mt19937& random) {
  Tensor<float> w(Extents{rows, columns});
  std::normal_distribution<float> numbers(0, 1 / std::sqrt(static_cast<float>(rows)));
  for (float& x : w) x = numbers(random);
  return w;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::invalid_argument("usage: write MODEL.onnx");
    std::string text = R"(<ir_version: 10, opset_import: ["": 21]>
      layers (float[batch, 1024] x0) => (float[batch, 1024] x16) {)";
    for (int k = 0; k < layers; ++k) {
      const std::string n = std::to_string(k);
      text += "up" + n + " = MatMul (x" + n + ", u" + n + ") relu" + n + " = Relu (up" + n + ") down" + n +
              " = MatMul (relu" + n + ", d" + n + ") x" + std::to_string(k + 1) + " = Add (x" + n + ", down" +
              n + ")\n";
    }
    Model model = parse_text(text + "}");
    std::mt19937 random(1);
    for (int k = 0; k < layers; ++k) {
      model.add_initializer("u" + std::to_string(k), random_weights(width, inner, random));
      model.add_initializer("d" + std::to_string(k), random_weights(inner, width, random));
    }
    save(model, argv[1], {.external_threshold = 1 << 20});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "write: %s\n", e.what());
    return 1;
  }
}
