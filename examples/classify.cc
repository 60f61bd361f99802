// Reads handwritten digits with a network from a file: classify [MODEL.onnx IMAGES.npy [LABELS.npy]]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <numeric>

#include "tenon/loader.hpp"

namespace {
using namespace tenon;

using Images = TensorView<const uint8_t, Shape<dyn, 8, 8>>;
using Probabilities = TensorView<const float, Shape<dyn, 10>>;

std::array<int, 10> likeliest_first(Probabilities probability, int64_t image) {
  std::array<int, 10> digits;
  std::iota(digits.begin(), digits.end(), 0);
  std::sort(digits.begin(), digits.end(),
            [&](int a, int b) { return probability(image, a) > probability(image, b); });
  return digits;
}

// A scan, and next to it the three digits that it looks most like.
void draw(Images images, Probabilities probability, int64_t image) {
  constexpr const char* shades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  const std::array<int, 10> digits = likeliest_first(probability, image);
  for (int64_t row = 0; row < 8; ++row) {
    std::printf("  ");
    for (int64_t column = 0; column < 8; ++column)
      std::printf("%s", shades[std::min<int>(images(image, row, column) + 3, 16) / 4]);
    if (row >= 3 && row < 6) {
      const int digit = digits[static_cast<std::size_t>(row - 3)];
      const float p = probability(image, digit);
      std::printf("   %d %5.1f %% ", digit, static_cast<double>(100 * p));
      for (int k = 0; k < static_cast<int>(40 * p + 0.5f); ++k) std::printf("█");
    }
    std::printf("\n");
  }
}
}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 || argc > 4) {
    std::fprintf(stderr, "usage: classify [MODEL.onnx IMAGES.npy [LABELS.npy]]\n");
    return 2;
  }
  const std::string model = argc > 1 ? argv[1] : "examples/digits/digits.onnx";
  const std::string images_file = argc > 2 ? argv[2] : "examples/digits/images.npy";
  const std::string labels_file = argc > 3 ? argv[3] : argc > 1 ? "" : "examples/digits/labels.npy";
  try {
    const Value scans = read_npy(images_file);
    const auto images = scans.view<uint8_t, Shape<dyn, 8, 8>>();
    const bool labelled = !labels_file.empty();
    const int64_t count = images.extent(0);
    Tensor<uint8_t, Shape<dyn>> labels;
    if (labelled) labels = read_npy(labels_file).as<uint8_t, Shape<dyn>>();
    if (labelled && labels.size() != count)
      throw Error(ErrorCode::invalid_shape, labels_file,
                  str_cat("labels for ", labels.size(), " of ", count, " images"));

    const auto start = std::chrono::steady_clock::now();
    const Session session = load(model, {.threads = 2});
    Outputs out = session.run({{"image", scans}});
    const auto probability = out["probability"].view<float, Shape<dyn, 10>>();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (probability.extent(0) != count)
      throw Error(ErrorCode::invalid_shape, model,
                  str_cat("results for ", probability.extent(0), " of ", count, " images"));

    // The first three images, and up to ten of those that the network gets wrong.
    int64_t wrong = 0;
    for (int64_t k = 0; k < count; ++k) {
      const bool mistaken = labelled && likeliest_first(probability, k)[0] != labels[k];
      wrong += mistaken;
      if (k >= 3 && (!mistaken || wrong > 10)) continue;
      std::printf("image %s", std::to_string(k).c_str());
      if (labelled) std::printf(", written as %d%s", labels[k], mistaken ? ", mistaken" : "");
      std::printf("\n");
      draw(images, probability, k);
    }
    std::printf("%s images read in %.2f ms, loading the network included\n", std::to_string(count).c_str(),
                took.count());
    if (labelled)
      std::printf("%s of %s right: %.2f %%\n", std::to_string(count - wrong).c_str(),
                  std::to_string(count).c_str(),
                  100.0 * static_cast<double>(count - wrong) / static_cast<double>(count));
  } catch (const Error& e) {
    std::fprintf(stderr, "classify: %s\n", e.what());
    return 1;
  }
}
