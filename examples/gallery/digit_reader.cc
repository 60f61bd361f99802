// Digits that are drawn in text are read by a trained network from a file.
#include <cstdio>
#include <string>

#include "tenon/loader.hpp"
#include "tenon/op/math/top_k.hpp"

namespace {
using namespace tenon;

constexpr std::string_view drawing[16] = {"         ###           ####         ############",  //
                                          "        ####         ########      #############",  //
                                          "        ###         ####  ####     #############",  //
                                          "       ####        ####    ####             ####",  //
                                          "       ###         ###      ###             ### ",  //
                                          "      ####         ###      ###            #### ",  //
                                          "      ###         ####      ####           ###  ",  //
                                          "     ####   ###   ###        ###          ####  ",  //
                                          "     ###    ###   ###        ###          ###   ",  //
                                          "    ####    ###   ###        ###         ####   ",  //
                                          "    ##############   ###      ###        ###    ",  //
                                          "    ##############  ###      ###        ####    ",  //
                                          "            ###    ####    ####        ###      ",  //
                                          "            ###     ####  ####        ####      ",  //
                                          "            ###      ########         ###       ",  //
                                          "            ###        ####           ###       "};
}  // namespace

int main() {
  // The network's images have 8 x 8 pixels from 0, paper, to 16, ink: 2 x 2 letters are a pixel.
  Tensor<uint8_t, Shape<3, 8, 8>> images;
  for (std::size_t line = 0; line < 16; ++line)
    for (std::size_t at = 0; at < 48; ++at)
      if (drawing[line][at] == '#') images(at / 16, line / 2, at % 16 / 2) += 4;

  const Session session = load("examples/digits/digits.onnx");
  Outputs out = session.run({{"image", images}});
  const auto probability = out["probability"].view<float, Shape<3, 10>>();

  const auto [share, digit] = apply<op::TopK{}>(probability, constant<int64_t, 3>);
  std::string number;
  for (int k = 0; k < 3; ++k) {
    for (int rank = 0; rank < 3; ++rank)
      std::printf("%s%d: %4.1f %%", rank > 0 ? "   " : "", static_cast<int>(digit(k, rank)),
                  100 * static_cast<double>(share(k, rank)));
    number += std::to_string(digit(k, 0));
    std::printf("\n");
  }
  std::printf("read as %s\n", number.c_str());
  return number == "407" ? 0 : 1;
}
