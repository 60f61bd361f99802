// JPEG 2000, with OpenJPEG: JP2 files and bare codestreams.
#include <openjpeg.h>

#include <cstdio>

#include "loader/image/picture.hpp"

namespace tenon::TENON_ABI::image {
namespace {

constexpr std::string_view format = "JPEG 2000";
constexpr std::string_view jp2("\0\0\0\x0CjP  \r\n\x87\n", 12), codestream("\xFF\x4F\xFF\x51", 4);

/// A file in memory for the library to read, and the library's first error message.
struct File {
  Bytes bytes;
  std::size_t at = 0;
  char text[120] = {};
};
File* file_of(void* user) { return static_cast<File*>(user); }

template <auto Close>
struct Closer {
  void operator()(auto* p) const { Close(p); }
};
using Stream = std::unique_ptr<opj_stream_t, Closer<opj_stream_destroy>>;
using Codec = std::unique_ptr<opj_codec_t, Closer<opj_destroy_codec>>;
using Image = std::unique_ptr<opj_image_t, Closer<opj_image_destroy>>;

Stream stream_of(File& file) {
  Stream s(opj_stream_create(1 << 16, OPJ_TRUE));
  if (!s) return s;
  opj_stream_set_user_data(s.get(), &file, nullptr);
  opj_stream_set_user_data_length(s.get(), file.bytes.size());
  opj_stream_set_read_function(s.get(), [](void* to, OPJ_SIZE_T count, void* user) -> OPJ_SIZE_T {
    File& f = *file_of(user);
    const std::size_t n = std::min(count, f.bytes.size() - f.at);
    if (n == 0) return static_cast<OPJ_SIZE_T>(-1);
    std::memcpy(to, f.bytes.data() + f.at, n);
    f.at += n;
    return n;
  });
  opj_stream_set_skip_function(s.get(), [](OPJ_OFF_T count, void* user) -> OPJ_OFF_T {
    File& f = *file_of(user);
    const auto left = static_cast<OPJ_OFF_T>(f.bytes.size() - f.at);
    if (count < 0 || left == 0) return -1;
    const OPJ_OFF_T n = std::min(count, left);
    f.at += static_cast<std::size_t>(n);
    return n;
  });
  opj_stream_set_seek_function(s.get(), [](OPJ_OFF_T at, void* user) -> OPJ_BOOL {
    File& f = *file_of(user);
    if (at < 0 || static_cast<std::size_t>(at) > f.bytes.size()) return OPJ_FALSE;
    f.at = static_cast<std::size_t>(at);
    return OPJ_TRUE;
  });
  return s;
}

/// A component at 8 bits, which may have fewer samples than the picture has pixels.
class Component {
 public:
  Component(const opj_image_comp_t& c, int64_t width, int64_t height)
      : c_(&c), width_(width), height_(height), greatest_((int64_t{1} << c.prec) - 1) {
    if (c.data == nullptr || c.w == 0 || c.h == 0 || c.prec == 0 || c.prec > 31)
      fail(format, "a component without samples");
  }
  uint8_t at(int64_t x, int64_t y) const {
    int64_t sample = c_->data[y * c_->h / height_ * c_->w + x * c_->w / width_];
    if (c_->sgnd) sample += (greatest_ + 1) / 2;
    sample = std::clamp<int64_t>(sample, 0, greatest_);
    // Deeper samples are rounded, shallower ones scaled to all 8 bits.
    if (c_->prec > 8)
      return static_cast<uint8_t>(
          std::min<int64_t>(255, (sample + (int64_t{1} << (c_->prec - 9))) >> (c_->prec - 8)));
    return static_cast<uint8_t>((sample * 510 + greatest_) / (2 * greatest_));
  }

 private:
  const opj_image_comp_t* c_;
  int64_t width_, height_, greatest_;
};

uint8_t to_byte(double x) { return static_cast<uint8_t>(std::clamp(x, 0.0, 255.0) + 0.5); }

/// The meaning of the components: gray, R G B, Y Cb Cr or C M Y K.
OPJ_COLOR_SPACE colors_of(const opj_image_t& image) {
  if (image.numcomps < 3) return OPJ_CLRSPC_GRAY;
  if (image.color_space == OPJ_CLRSPC_SYCC || image.color_space == OPJ_CLRSPC_EYCC) return OPJ_CLRSPC_SYCC;
  if (image.color_space == OPJ_CLRSPC_CMYK && image.numcomps > 3) return OPJ_CLRSPC_CMYK;
  // Only color differences are sampled more coarsely than the rest.
  const opj_image_comp_t* c = image.comps;
  if (image.color_space != OPJ_CLRSPC_SRGB && c[0].dx == c[0].dy && c[1].dx != 1) return OPJ_CLRSPC_SYCC;
  return OPJ_CLRSPC_SRGB;
}

}  // namespace

bool is_jpeg2000(Bytes bytes) { return begins_with(bytes, jp2) || begins_with(bytes, codestream); }

Picture decode_jpeg2000(Bytes bytes, Allocator& allocator) {
  File file{.bytes = bytes};
  const auto damaged = [&] {
    fail(format, file.text[0] ? std::string_view(file.text) : "the bytes are damaged");
  };
  const Stream stream = stream_of(file);
  const Codec codec(opj_create_decompress(begins_with(bytes, jp2) ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K));
  if (!stream || !codec) raise(ErrorCode::out_of_memory, op::ImageDecoder::spec.name, format);
  opj_set_error_handler(
      codec.get(),
      [](const char* message, void* user) {
        File& f = *file_of(user);
        if (f.text[0] == '\0') std::snprintf(f.text, sizeof f.text, "%s", message);
        f.text[std::strcspn(f.text, "\n")] = '\0';
      },
      &file);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* read = nullptr;
  if (!opj_setup_decoder(codec.get(), &parameters) || !opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE) ||
      !opj_read_header(stream.get(), codec.get(), &read))
    damaged();
  const Image image(read);
  // The library holds samples of four bytes, and a tile's samples twice.
  for (OPJ_UINT32 k = 0; k < image->numcomps; ++k)
    check_extents(format, image->comps[k].w, image->comps[k].h, int64_t{8} * image->numcomps + 3);
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get()))
    damaged();
  if (image->numcomps == 0) damaged();
  const int64_t width = image->comps[0].w, height = image->comps[0].h;
  const OPJ_COLOR_SPACE colors = colors_of(*image);
  const int64_t channels = colors == OPJ_CLRSPC_GRAY ? 1 : 3;
  Picture p = new_picture(format, width, height, channels, 0, allocator);
  std::vector<Component> in;
  for (OPJ_UINT32 k = 0; k < (colors == OPJ_CLRSPC_CMYK ? 4 : channels); ++k)
    in.emplace_back(image->comps[k], width, height);
  uint8_t* to = p.data();
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x, to += channels) {
      uint8_t sample[4] = {};
      for (std::size_t k = 0; k < in.size(); ++k) sample[k] = in[k].at(x, y);
      if (colors == OPJ_CLRSPC_SYCC) {
        const double luma = sample[0], blue = sample[1] - 128, red = sample[2] - 128;
        to[0] = to_byte(luma + 1.402 * red);
        to[1] = to_byte(luma - 0.344136 * blue - 0.714136 * red);
        to[2] = to_byte(luma + 1.772 * blue);
      } else if (colors == OPJ_CLRSPC_CMYK) {
        for (int k = 0; k < 3; ++k) to[k] = multiply(255 - sample[k], 255 - sample[3]);
      } else {
        std::copy_n(sample, channels, to);
      }
    }
  return p;
}

}  // namespace tenon::TENON_ABI::image
