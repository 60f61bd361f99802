// Pictures, and checks that all image decoders share. Each decoder gives pixels (height, width, channels) of
// 8 bits, with three channels R, G, B or one of gray, and throws Error if the bytes are not a complete image.
#pragma once

#include "tenon/base/platform/overflow.hpp"
#include "tenon/op/image/image_decoder.hpp"

namespace tenon::TENON_ABI::image {

using Bytes = std::span<const uint8_t>;
using Picture = Tensor<uint8_t>;

/// The memory that decoding may take, in bytes: files can state extents that their content does not back up.
inline constexpr int64_t memory_limit = int64_t{1} << 30;

[[noreturn, gnu::cold]] void fail(std::string_view format, const auto&... parts) {
  raise(ErrorCode::invalid_argument, op::ImageDecoder::spec.name, format, ": ", parts...);
}

/// Error{out_of_memory} if an image exceeds the limit at `bytes_a_pixel`, and Error{invalid_argument} if it
/// has no pixels.
inline void check_extents(std::string_view format, int64_t width, int64_t height, int64_t bytes_a_pixel) {
  if (width <= 0 || height <= 0) fail(format, width, " x ", height, " pixels");
  int64_t bytes;
  if (tenon::detail::mul_overflow(width, height, &bytes) ||
      __builtin_mul_overflow(bytes, bytes_a_pixel, &bytes) || bytes > memory_limit)
    raise(ErrorCode::out_of_memory, op::ImageDecoder::spec.name, format, ": ", width, " x ", height,
          " pixels take more than ", memory_limit, " bytes to decode");
}

/// A picture whose pixels are not set yet. Decoding takes another `working` bytes per pixel.
inline Picture new_picture(std::string_view format, int64_t width, int64_t height, int64_t channels,
                           int64_t working, Allocator& allocator) {
  check_extents(format, width, height, channels + working);
  return Picture::uninitialized(Extents{height, width, channels}, allocator);
}

/// a * b / 255, rounded, for a and b up to 255.
constexpr uint8_t multiply(int a, int b) { return static_cast<uint8_t>((a * b + 127) / 255); }

/// Whether the bytes are in the format, judging by the first few.
bool is_bmp(Bytes bytes);
bool is_jpeg(Bytes bytes);
bool is_jpeg2000(Bytes bytes);
bool is_png(Bytes bytes);
bool is_pnm(Bytes bytes);
bool is_tiff(Bytes bytes);
bool is_webp(Bytes bytes);

Picture decode_bmp(Bytes bytes, Allocator& allocator);
Picture decode_jpeg(Bytes bytes, Allocator& allocator);
Picture decode_jpeg2000(Bytes bytes, Allocator& allocator);
Picture decode_png(Bytes bytes, Allocator& allocator);
Picture decode_pnm(Bytes bytes, Allocator& allocator);
Picture decode_tiff(Bytes bytes, Allocator& allocator);
Picture decode_webp(Bytes bytes, Allocator& allocator);

/// Whether the bytes begin with `magic`.
inline bool begins_with(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace tenon::TENON_ABI::image
