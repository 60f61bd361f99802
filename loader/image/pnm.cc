// PNM: PBM, PGM and PPM, as text (P1 to P3) and as bytes (P4 to P6).
#include "loader/image/picture.hpp"

namespace tenon::TENON_ABI::image {
namespace {

constexpr std::string_view format = "PNM";

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}
  int64_t left() const { return static_cast<int64_t>(bytes_.size() - at_); }
  uint8_t byte() {
    if (at_ == bytes_.size()) fail(format, "ends at byte ", at_);
    return bytes_[at_++];
  }
  /// The next character that is neither white space nor in a comment.
  uint8_t character() {
    for (;;) {
      const uint8_t c = byte();
      if (c == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n' && bytes_[at_] != '\r') ++at_;
      } else if (!is_space(c)) {
        return c;
      }
    }
  }
  int64_t number(int64_t greatest) {
    int64_t n = 0;
    for (uint8_t c = character();; c = byte()) {
      if (c < '0' || c > '9') fail(format, "a character that is no digit before byte ", at_);
      n = n * 10 + (c - '0');
      if (n > greatest) fail(format, "a number above ", greatest);
      if (at_ == bytes_.size() || is_space(bytes_[at_]) || bytes_[at_] == '#') return n;
    }
  }

 private:
  Bytes bytes_;
  std::size_t at_ = 2;
};

}  // namespace

bool is_pnm(Bytes bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
         (is_space(bytes[2]) || bytes[2] == '#');
}

Picture decode_pnm(Bytes bytes, Allocator& allocator) {
  const int kind = (bytes[1] - '1') % 3;  // bits, gray, colors
  const bool text = bytes[1] <= '3';
  Reader in(bytes);
  const int64_t width = in.number(INT32_MAX), height = in.number(INT32_MAX);
  const int64_t greatest = kind == 0 ? 1 : in.number(65535), channels = kind == 2 ? 3 : 1;
  if (greatest == 0) fail(format, "a greatest value of 0");
  if (!text && !is_space(in.byte())) fail(format, "no white space before the samples");
  check_extents(format, width, height, channels);
  const int64_t in_row = width * channels, bytes_in_row = text        ? in_row
                                                          : kind == 0 ? (width + 7) / 8
                                                                      : in_row * (greatest > 255 ? 2 : 1);
  if (bytes_in_row * height > in.left()) fail(format, "ends before the last of ", height, " rows");
  Picture p = new_picture(format, width, height, channels, 0, allocator);
  uint8_t* to = p.data();
  for (int64_t y = 0; y < height; ++y) {
    unsigned bits = 0;
    for (int64_t x = 0; x < in_row; ++x) {
      if (kind == 0) {  // 1 is black
        if (text) {
          const uint8_t c = in.character();
          if (c != '0' && c != '1') fail(format, "a bit that is neither 0 nor 1");
          *to++ = c == '0' ? 255 : 0;
        } else {
          bits = x % 8 == 0 ? in.byte() : bits << 1;
          *to++ = bits & 0x80 ? 0 : 255;
        }
        continue;
      }
      int64_t sample = text ? in.number(greatest) : in.byte();
      if (!text && greatest > 255) sample = sample << 8 | in.byte();
      sample = std::min(sample, greatest);
      *to++ = static_cast<uint8_t>(greatest == 255 ? sample : (sample * 510 + greatest) / (2 * greatest));
    }
  }
  return p;
}

}  // namespace tenon::TENON_ABI::image
