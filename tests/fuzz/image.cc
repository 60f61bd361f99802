// The bytes of any picture, in each order of channels.
#include "tenon/op/image/image_decoder.hpp"

#include "tests/fuzz/support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  const auto format = static_cast<tenon::PixelFormat>(input.choice % 3);
  accepted([&] {
    const auto picture = tenon::decode_image(input.bytes, format);
    require(picture.extents().size() == 3 && picture.size() > 0, "a picture has pixels");
  });
  return 0;
}
