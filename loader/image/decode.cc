// decode_image: detects the format, decodes, and arranges the channels.
#include "loader/image/picture.hpp"

namespace tenon::TENON_ABI {
namespace image {
namespace {

constexpr struct {
  bool (*is)(Bytes);
  Picture (*decode)(Bytes, Allocator&);
} formats[] = {{is_png, decode_png},   {is_jpeg, decode_jpeg}, {is_bmp, decode_bmp},
               {is_webp, decode_webp}, {is_tiff, decode_tiff}, {is_jpeg2000, decode_jpeg2000},
               {is_pnm, decode_pnm}};

Picture decode(Bytes bytes, Allocator& allocator) {
  for (const auto& format : formats)
    if (format.is(bytes)) return format.decode(bytes, allocator);
  raise(ErrorCode::invalid_argument, op::ImageDecoder::spec.name,
        "the bytes are none of BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP");
}

/// ITU-R 601's luma in 16-bit fixed point, whose weights sum to 1: gray stays the same gray.
uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 0x8000) >> 16);
}

}  // namespace
}  // namespace image

Tensor<uint8_t> decode_image(std::span<const uint8_t> encoded, PixelFormat format, Allocator& allocator) {
  image::Picture p = image::decode(encoded, allocator);
  const int64_t height = p.extent(0), width = p.extent(1), channels = p.extent(2);
  const int64_t wanted = format == PixelFormat::grayscale ? 1 : 3;
  uint8_t* const from = p.data();
  if (channels == 3 && format == PixelFormat::bgr)
    for (int64_t k = 0; k < p.size(); k += 3) std::swap(from[k], from[k + 2]);
  if (channels == wanted) return p;
  auto result = Tensor<uint8_t>::uninitialized(Extents{height, width, wanted}, allocator);
  uint8_t* const to = result.data();
  if (wanted == 1)
    for (int64_t k = 0; k < height * width; ++k) to[k] = image::luma(from + 3 * k);
  else
    for (int64_t k = 0; k < height * width; ++k) std::fill_n(to + 3 * k, 3, from[k]);
  return result;
}

}  // namespace tenon::TENON_ABI
