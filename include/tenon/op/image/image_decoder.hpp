// ImageDecoder: pixels from the bytes of an image file.   onnx.ai/onnx/operators/onnx__ImageDecoder.html
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI {

/// The meaning of a decoded image's channels.
enum class PixelFormat : uint8_t { rgb, bgr, grayscale };

/// The pixels (height, width, channels) of a BMP, JPEG, JPEG 2000, PNG, PNM (PBM, PGM, PPM), TIFF or WebP
/// file. Samples have 8 bits, whatever the file has; alpha is dropped; of several images the first is taken;
/// gray is 0.299 R + 0.587 G + 0.114 B. Error{invalid_argument} for bytes that are not a complete image in
/// one of these formats, Error{out_of_memory} for one whose decoding would take more than 1 GiB. Defined by
/// //loader:image, which links the formats' libraries; for header-only use by //loader:image_header_only.
Tensor<uint8_t> decode_image(std::span<const uint8_t> encoded, PixelFormat format,
                             Allocator& allocator = default_allocator());

namespace op {

/// The image (height, width, channels) in a file's bytes, in the order of `pixel_format`: RGB, BGR or
/// Grayscale. The formats are decode_image's. Bytes that cannot be decoded, for any reason, give an
/// empty image (0, 0, channels), as ONNX's text demands; decode_image reports the reason. Programs that use
/// it link //loader:image. op::ImageDecoder{.pixel_format = "BGR"}(bytes) gives (H,W,3).
struct ImageDecoder {
  Str pixel_format = "RGB";

  static constexpr Spec spec{.name = "ImageDecoder",
                             .since = {20},
                             .inputs = {{"encoded_stream", "T1"}},
                             .outputs = {{"image", "T2"}},
                             .types = {{"T1", types::uint8}, {"T2", types::uint8}},
                             .linked = true};
  static constexpr Attributes attributes{attr("pixel_format", &ImageDecoder::pixel_format)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("pixel_format", pixel_format, {"RGB", "BGR", "Grayscale"}) || !i.expect_rank(0, 1))
      return;
    i.out(0, Dims{Dim(), Dim(), channels()});
  }
  Tensor<uint8_t> compute(Context& c, TensorView<const uint8_t> encoded_stream) const {
    const PixelFormat format = pixel_format == "RGB"   ? PixelFormat::rgb
                               : pixel_format == "BGR" ? PixelFormat::bgr
                                                       : PixelFormat::grayscale;
    return tenon::detail::attempt<Error>(
        [&] { return decode_image(encoded_stream.span(), format, c.allocator()); },
        [&](const Error&) { return Tensor<uint8_t>(Extents{0, 0, channels()}); });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr int64_t channels() const { return pixel_format == "Grayscale" ? 1 : 3; }
};

}  // namespace op
}  // namespace tenon::TENON_ABI

TENON_OPERATORS(tenon::op::ImageDecoder)
