// JPEG, with libjpeg-turbo, whose errors and warnings of damage exit by longjmp and become Errors here.
#include <csetjmp>
#include <cstdio>

// jpeglib.h needs <cstdio>.
#include <jerror.h>
#include <jpeglib.h>

#include "loader/image/picture.hpp"

namespace tenon::TENON_ABI::image {
namespace {

constexpr std::string_view format = "JPEG";
constexpr int most_scans = 500;  // of a progressive file, each of which covers the whole image

/// A decompressor. Its members keep their values when the library exits by longjmp.
class Decompressor {
 public:
  Decompressor() {
    c_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.output_message = [](j_common_ptr) {};
    errors_.base.emit_message = [](j_common_ptr c, int level) {
      if (level < 0 && is_damage(c->err->msg_code)) leave(c);
    };
  }
  ~Decompressor() { jpeg_destroy_decompress(&c_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /// Calls f(c), in which nothing may need a destructor: the library may jump out of it.
  template <class F>
  void run(F f) {
    if (setjmp(errors_.jump) != 0) fail(format, std::string_view(errors_.text));
    f(c_);
  }
  jpeg_decompress_struct& operator*() { return c_; }
  /// From here on, refuses files with very many scans.
  void limit_scans() {
    progress_.progress_monitor = [](j_common_ptr c) {
      if (reinterpret_cast<j_decompress_ptr>(c)->input_scan_number <= most_scans) return;
      auto* e = reinterpret_cast<Errors*>(c->err);
      std::snprintf(e->text, sizeof e->text, "more than %d scans", most_scans);
      std::longjmp(e->jump, 1);
    };
    c_.progress = &progress_;
  }

 private:
  struct Errors {
    jpeg_error_mgr base;  // first, so that a pointer to it also points to the whole
    std::jmp_buf jump;
    char text[JMSG_LENGTH_MAX];
  };

  static void leave(j_common_ptr c) {
    auto* e = reinterpret_cast<Errors*>(c->err);
    e->base.format_message(c, e->text);
    std::longjmp(e->jump, 1);
  }
  /// Whether a warning means that pixels are lost or made up.
  static bool is_damage(int warning) {
    return warning != JWRN_EXTRANEOUS_DATA && warning != JWRN_JFIF_MAJOR && warning != JWRN_ADOBE_XFORM &&
           warning != JWRN_BOGUS_ICC;
  }

  jpeg_decompress_struct c_{};
  Errors errors_{};
  jpeg_progress_mgr progress_{};
};

}  // namespace

bool is_jpeg(Bytes bytes) { return begins_with(bytes, "\xFF\xD8\xFF"); }

Picture decode_jpeg(Bytes bytes, Allocator& allocator) {
  Decompressor d;
  d.run([&](jpeg_decompress_struct& c) {
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, bytes.data(), bytes.size());
    jpeg_read_header(&c, TRUE);
    const bool ink = c.jpeg_color_space == JCS_CMYK || c.jpeg_color_space == JCS_YCCK;
    const bool gray = c.jpeg_color_space == JCS_GRAYSCALE;
    c.out_color_space = ink ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
  });
  const jpeg_decompress_struct& c = *d;
  const bool ink = c.out_color_space == JCS_CMYK;
  const int64_t width = c.image_width, channels = c.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  // Files with several scans are held as coefficients of two bytes.
  const int64_t working = jpeg_has_multiple_scans(&*d) ? 2 * c.num_components : 0;
  Picture p = new_picture(format, width, c.image_height, channels, working, allocator);
  std::vector<uint8_t> inks(ink ? static_cast<std::size_t>(width) * 4 : 0);
  uint8_t *const pixels = p.data(), *const inks_of_row = inks.data();
  d.limit_scans();
  d.run([&](jpeg_decompress_struct& c) {
    jpeg_start_decompress(&c);
    while (c.output_scanline < c.output_height) {
      uint8_t* row = pixels + c.output_scanline * (width * channels);
      JSAMPROW to = ink ? inks_of_row : row;
      jpeg_read_scanlines(&c, &to, 1);
      if (!ink) continue;
      // Files with Adobe's marker store inverted inks: 255 is none.
      const int flip = c.saw_Adobe_marker ? 0 : 255;
      for (int64_t x = 0; x < width; ++x)
        for (int64_t k = 0; k < 3; ++k) row[3 * x + k] = multiply(to[4 * x + k] ^ flip, to[4 * x + 3] ^ flip);
    }
    jpeg_finish_decompress(&c);
  });
  return p;
}

}  // namespace tenon::TENON_ABI::image
