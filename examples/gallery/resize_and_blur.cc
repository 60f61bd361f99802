// A picture made larger, and blurred: by rows and by columns, which is the same as by both at once.
#include <cmath>
#include <cstdio>
#include <string_view>

#include "tenon/array/math.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/tensor/resize.hpp"

namespace {
using namespace tenon;

constexpr std::string_view heart[8] = {"        ",  //
                                       "  #  #  ",  //
                                       " ###### ",  //
                                       " ###### ",  //
                                       " ###### ",  //
                                       "  ####  ",  //
                                       "   ##   ",  //
                                       "        "};

template <class Image>
void draw_row(const Image& image, int64_t row) {
  constexpr std::string_view shades = " .:-=+*#%@";
  for (int64_t column = 0; column < image.extent(3); ++column)
    std::printf("%c", shades[static_cast<std::size_t>(std::lround(9 * image(0, 0, row, column)))]);
  std::printf("|");
}
}  // namespace

int main() {
  Tensor<float, Shape<1, 1, 8, 8>> picture;
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t column = 0; column < 8; ++column) picture(0, 0, row, column) = heart[row][column] == '#';

  constexpr auto larger = constant<int64_t, 1, 1, 16, 24>;
  const auto nearest = apply<op::Resize{}>(picture, none, none, larger);
  const auto cubic = clip(apply<op::Resize{.mode = "cubic"}>(picture, none, none, larger), 0, 1);

  const Tensor<float, Shape<1, 1, 5, 1>> column{
      {{{1 / 16.f}, {4 / 16.f}, {6 / 16.f}, {4 / 16.f}, {1 / 16.f}}}};
  const auto row = transpose<0, 1, 3, 2>(column);
  const Tensor<float, Shape<1, 1, 5, 5>> kernel = matmul(column, row);
  const auto blurred = apply<op::Conv{.pads = {2, 2, 2, 2}}>(nearest, kernel);

  const auto by_columns = apply<op::Conv{.pads = {2, 0, 2, 0}}>(nearest, column);
  const auto by_both = apply<op::Conv{.pads = {0, 2, 0, 2}}>(by_columns, row);
  const float difference = max(abs(by_both - blurred)).item();

  for (int64_t i = 0; i < 16; ++i) {
    draw_row(nearest, i);
    draw_row(cubic, i);
    draw_row(blurred, i);
    std::printf("\n");
  }
  std::printf("by rows and columns: %s\n", difference < 1e-6f ? "the same" : "different");
  return difference < 1e-6f ? 0 : 1;
}
