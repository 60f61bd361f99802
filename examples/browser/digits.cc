// Reads a digit that was drawn in a square: a WebAssembly module without imports, of a model that is a
// header. `build` compiles it, and index.html draws.
#include <algorithm>

#include "digits.hpp"

namespace {

constexpr int side = 256;  // of the drawing
constexpr int cells = 8, parts = 4, fine = cells * parts;

unsigned char drawing[side * side];
unsigned char image[cells * cells];
float probability[10];
digits::Memory memory;

// The rows and columns from the first to past the last with ink.
struct Box {
  int top = side, left = side, bottom = 0, right = 0;
  Box() {
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        if (drawing[y * side + x] > 127) {
          top = std::min(top, y), bottom = std::max(bottom, y + 1);
          left = std::min(left, x), right = std::max(right, x + 1);
        }
  }
  int size() const { return std::max(bottom - top, right - left); }
};

// The scans that the model has learnt from are 8 x 8 counts of 4 x 4 black and white pixels. They are as high
// as the digit, which is in the middle.
void scan(const Box& box) {
  std::fill(image, image + cells * cells, 0);
  const int height = box.size();
  const int first_x = box.left - (height - (box.right - box.left)) / 2;
  const int first_y = box.top - (height - (box.bottom - box.top)) / 2;
  for (int i = 0; i < fine; ++i)
    for (int j = 0; j < fine; ++j) {
      const int y = first_y + (2 * i + 1) * height / (2 * fine),
                x = first_x + (2 * j + 1) * height / (2 * fine);
      const bool inside = y >= 0 && y < side && x >= 0 && x < side;
      image[i / parts * cells + j / parts] += inside && drawing[y * side + x] > 127;
    }
}

}  // namespace

extern "C" {

/// 256 x 256 bytes: 0 is paper, 255 ink.
[[clang::export_name("drawing")]] unsigned char* drawing_address() { return drawing; }
/// The 8 x 8 counts from 0 to 16 that the model was given.
[[clang::export_name("image")]] unsigned char* image_address() { return image; }
/// The ten probabilities of the last digit.
[[clang::export_name("probability")]] float* probability_address() { return probability; }

/// The most probable digit of image().
[[clang::export_name("read_image")]] int read_image() {
  digits::run(image, probability, memory);
  return static_cast<int>(std::max_element(probability, probability + 10) - probability);
}

/// The most probable digit of drawing(), or -1 without ink.
[[clang::export_name("read_drawing")]] int read_drawing() {
  const Box box;
  if (box.size() <= 0) return -1;
  scan(box);
  return read_image();
}

}  // extern "C"
