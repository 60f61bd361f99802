// PNG, with libpng, whose errors exit by longjmp and become Errors here.
#include <png.h>

#include <csetjmp>
#include <cstdio>

#include "loader/image/picture.hpp"

namespace tenon::TENON_ABI::image {
namespace {

constexpr std::string_view format = "PNG";

/// A reader of PNG. Its members keep their values when the library exits by longjmp.
class Reader {
 public:
  explicit Reader(Bytes bytes) : at_(bytes.data()), left_(bytes.size()) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, [](png_structp, png_const_charp) {});
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      raise(ErrorCode::out_of_memory, op::ImageDecoder::spec.name, format);
    }
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Calls f(png, info), in which nothing may need a destructor: the library may jump out of it.
  template <class F>
  void run(F f) {
    if (setjmp(png_jmpbuf(png_)) != 0) fail(format, std::string_view(text_));
    f(png_, info_);
  }
  void read_from_memory() {
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, std::size_t count) {
      auto* r = static_cast<Reader*>(png_get_io_ptr(png));
      if (count > r->left_) png_error(png, "the bytes end too early");
      std::memcpy(to, r->at_, count);
      r->at_ += count;
      r->left_ -= count;
    });
  }

 private:
  static void leave(png_structp png, png_const_charp message) {
    auto* r = static_cast<Reader*>(png_get_error_ptr(png));
    std::snprintf(r->text_, sizeof r->text_, "%s", message);
    png_longjmp(png, 1);
  }

  const uint8_t* at_;
  std::size_t left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char text_[120] = {};
};

}  // namespace

bool is_png(Bytes bytes) { return begins_with(bytes, "\x89PNG\r\n\x1A\n"); }

Picture decode_png(Bytes bytes, Allocator& allocator) {
  Reader r(bytes);
  struct {
    int64_t width, height, channels, row_bytes;
    int passes;
  } s{};
  r.run([&](png_structp png, png_infop info) {
    r.read_from_memory();
    png_set_chunk_malloc_max(png, 1 << 23);
    png_read_info(png, info);
    const int color = png_get_color_type(png, info);
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (color == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    s.passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    s.width = png_get_image_width(png, info);
    s.height = png_get_image_height(png, info);
    s.channels = png_get_channels(png, info);
    s.row_bytes = static_cast<int64_t>(png_get_rowbytes(png, info));
  });
  if ((s.channels != 1 && s.channels != 3) || s.row_bytes != s.width * s.channels)
    fail(format, s.channels, " channels in rows of ", s.row_bytes, " bytes");
  Picture p = new_picture(format, s.width, s.height, s.channels, 0, allocator);
  uint8_t* const pixels = p.data();
  r.run([&](png_structp png, png_infop info) {
    for (int pass = 0; pass < s.passes; ++pass)
      for (int64_t y = 0; y < s.height; ++y) png_read_row(png, pixels + y * s.row_bytes, nullptr);
    png_read_end(png, info);
  });
  return p;
}

}  // namespace tenon::TENON_ABI::image
