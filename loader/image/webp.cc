// WebP, with libwebp; for an animation, the first picture.
#include <webp/decode.h>
#include <webp/demux.h>

#include "loader/image/picture.hpp"

namespace tenon::TENON_ABI::image {
namespace {

constexpr std::string_view format = "WebP";

struct Closer {
  void operator()(WebPAnimDecoder* d) const { WebPAnimDecoderDelete(d); }
};

void decode_first(Bytes bytes, Picture& p) {
  WebPAnimDecoderOptions options;
  if (!WebPAnimDecoderOptionsInit(&options)) fail(format, "another version of the library");
  options.color_mode = MODE_RGBA;
  const WebPData data{bytes.data(), bytes.size()};
  const std::unique_ptr<WebPAnimDecoder, Closer> decoder(WebPAnimDecoderNew(&data, &options));
  uint8_t* canvas = nullptr;
  int time = 0;
  WebPAnimInfo info;
  if (!decoder || !WebPAnimDecoderGetInfo(decoder.get(), &info) || info.canvas_width != p.extent(1) ||
      info.canvas_height != p.extent(0) || !WebPAnimDecoderGetNext(decoder.get(), &canvas, &time))
    fail(format, "the animation is damaged");
  for (int64_t k = 0; k < p.extent(0) * p.extent(1); ++k) std::copy_n(canvas + 4 * k, 3, p.data() + 3 * k);
}

}  // namespace

bool is_webp(Bytes bytes) {
  return begins_with(bytes, "RIFF") && bytes.size() >= 12 && begins_with(bytes.subspan(8), "WEBP");
}

Picture decode_webp(Bytes bytes, Allocator& allocator) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
    fail(format, "the header is damaged");
  // Lossless pictures are decoded to four bytes per pixel, animations onto three such canvases.
  const int64_t working = features.has_animation ? 16 : 5;
  Picture p = new_picture(format, features.width, features.height, 3, working, allocator);
  if (features.has_animation) decode_first(bytes, p);
  else if (WebPDecodeRGBInto(bytes.data(), bytes.size(), p.data(), static_cast<std::size_t>(p.size()),
                             features.width * 3) == nullptr)
    fail(format, "the picture is damaged");
  return p;
}

}  // namespace tenon::TENON_ABI::image
