// BMP, all headers from OS/2 1.x to Windows' fifth: 1, 2, 4 and 8 bits with a palette, 16, 24 and 32 bits
// with masks, RLE4 and RLE8.
#include <bit>

#include "loader/image/picture.hpp"

namespace tenon::TENON_ABI::image {
namespace {

constexpr std::string_view format = "BMP";

/// Little-endian numbers; Error where they lie past the end.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}
  uint32_t u8(std::size_t at) const {
    if (at >= bytes_.size()) fail(format, "ends at byte ", bytes_.size());
    return bytes_[at];
  }
  uint32_t u16(std::size_t at) const { return u8(at) | u8(at + 1) << 8; }
  uint32_t u32(std::size_t at) const { return u16(at) | u16(at + 2) << 16; }
  std::size_t size() const { return bytes_.size(); }
  const uint8_t* data() const { return bytes_.data(); }

 private:
  Bytes bytes_;
};

enum Compression : uint32_t { rgb = 0, rle8 = 1, rle4 = 2, bit_fields = 3, alpha_bit_fields = 6 };

/// A channel of a pixel of 16 or 32 bits.
struct Channel {
  uint32_t greatest = 0;
  int shift = 0;

  explicit Channel(uint32_t mask) {
    if (mask == 0) return;
    shift = std::countr_zero(mask);
    greatest = mask >> shift;
    if ((greatest & (greatest + 1)) != 0) fail(format, "the bits of a mask are not contiguous");
  }
  uint8_t of(uint32_t pixel) const {
    if (greatest == 0) return 0;
    return static_cast<uint8_t>(uint64_t{pixel >> shift & greatest} * 255 / greatest);
  }
};

struct Header {
  int64_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0, compression = rgb;
  std::size_t pixels = 0;         ///< offset
  std::size_t palette = 0;        ///< offset
  std::size_t palette_entry = 4;  ///< bytes of a color
  uint32_t masks[3] = {};
};

Header read_header(const Reader& in) {
  Header h;
  h.pixels = in.u32(10);
  const uint32_t size = in.u32(14);
  h.palette = std::size_t{14} + size;
  if (size == 12) {
    h.width = in.u16(18);
    h.height = in.u16(20);
    h.bits = in.u16(24);
    h.palette_entry = 3;
  } else if (size >= 40 && size <= 1024) {
    h.width = static_cast<int32_t>(in.u32(18));
    h.height = static_cast<int32_t>(in.u32(22));
    h.bits = in.u16(28);
    h.compression = in.u32(30);
    // Only OS/2 2.x has a header of this size, and it uses these numbers for other methods.
    if (size == 64 && h.compression > rle4) fail(format, "compression ", h.compression, " of OS/2");
  } else {
    fail(format, "a header of ", size, " bytes");
  }
  h.top_down = h.height < 0;
  if (h.top_down) h.height = -h.height;
  const bool masked = h.compression == bit_fields || h.compression == alpha_bit_fields;
  if (h.bits == 16 || h.bits == 32) {
    const bool wide = h.bits == 32;
    const uint32_t usual[] = {wide ? 0xFF0000u : 0x7C00u, wide ? 0xFF00u : 0x3E0u, wide ? 0xFFu : 0x1Fu};
    for (std::size_t k = 0; k < 3; ++k) h.masks[k] = masked ? in.u32(54 + 4 * k) : usual[k];
  }
  const bool fits = h.compression == rgb ? h.bits == 1 || h.bits == 2 || h.bits == 4 || h.bits == 8 ||
                                               h.bits == 16 || h.bits == 24 || h.bits == 32
                    : h.compression == rle8 ? h.bits == 8
                    : h.compression == rle4 ? h.bits == 4
                                            : masked && (h.bits == 16 || h.bits == 32);
  if (!fits) fail(format, h.bits, " bits a pixel under compression ", h.compression);
  if (h.top_down && (h.compression == rle8 || h.compression == rle4)) fail(format, "RLE from the top down");
  if (h.pixels < 14 + std::size_t{size} || h.pixels > in.size())
    fail(format, "pixels at byte ", h.pixels, " of ", in.size());
  return h;
}

/// Up to 256 colors. Colors that the file lacks are black.
struct Palette {
  uint8_t colors[256][3] = {};

  Palette(const Reader& in, const Header& h) {
    const std::size_t count = std::min<std::size_t>((h.pixels - h.palette) / h.palette_entry, 256);
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t c = 0; c < 3; ++c)
        colors[k][c] = static_cast<uint8_t>(in.u8(h.palette + k * h.palette_entry + 2 - c));
  }
};

/// Calls put(x, row from the bottom, index) for each pixel that the codes name; the others have index 0.
template <class F>
void decode_rle(const Reader& in, const Header& h, F put) {
  const bool nibbles = h.compression == rle4;
  std::size_t at = h.pixels;
  int64_t x = 0, row = 0;
  const auto run = [&](int64_t count, auto index) {
    for (int64_t k = 0; k < count; ++k, ++x)
      if (x < h.width) put(x, row, index(k));
  };
  while (row < h.height) {
    const uint32_t count = in.u8(at), code = in.u8(at + 1);
    at += 2;
    if (count > 0) {
      run(count, [&](int64_t k) { return nibbles ? (k % 2 ? code & 15 : code >> 4) : code; });
    } else if (code == 0) {
      x = 0;
      ++row;
    } else if (code == 1) {
      return;
    } else if (code == 2) {
      x += in.u8(at);
      row += in.u8(at + 1);
      at += 2;
    } else {
      const std::size_t bytes = nibbles ? (code + 1) / 2 : code;
      run(code, [&](int64_t k) {
        const auto n = static_cast<std::size_t>(k);
        if (!nibbles) return in.u8(at + n);
        return n % 2 ? in.u8(at + n / 2) & 15 : in.u8(at + n / 2) >> 4;
      });
      at += bytes + bytes % 2;
    }
  }
}

}  // namespace

bool is_bmp(Bytes bytes) { return begins_with(bytes, "BM"); }

Picture decode_bmp(Bytes bytes, Allocator& allocator) {
  const Reader in(bytes);
  const Header h = read_header(in);
  Picture p = new_picture(format, h.width, h.height, 3, 0, allocator);
  const Palette palette(in, h);
  const auto row = [&](int64_t from_bottom) {
    return p.data() + (h.top_down ? from_bottom : h.height - 1 - from_bottom) * h.width * 3;
  };
  if (h.compression == rle8 || h.compression == rle4) {
    for (int64_t k = 0; k < h.width * h.height; ++k) std::copy_n(palette.colors[0], 3, p.data() + 3 * k);
    decode_rle(in, h, [&](int64_t x, int64_t from_bottom, uint32_t index) {
      std::copy_n(palette.colors[index], 3, row(from_bottom) + 3 * x);
    });
    return p;
  }
  const int64_t used = (h.width * h.bits + 7) / 8, stride = (h.width * h.bits + 31) / 32 * 4;
  if (stride * (h.height - 1) + used > static_cast<int64_t>(in.size() - h.pixels))
    fail(format, "ends before the last of ", h.height, " rows");
  const Channel red(h.masks[0]), green(h.masks[1]), blue(h.masks[2]);
  for (int64_t y = 0; y < h.height; ++y) {
    const uint8_t* from = in.data() + h.pixels + y * stride;
    uint8_t* to = row(y);
    for (int64_t x = 0; x < h.width; ++x, to += 3) {
      if (h.bits <= 8) {
        const int64_t bit = x * h.bits;
        const unsigned index = from[bit / 8] >> (8 - h.bits - bit % 8) & ((1u << h.bits) - 1);
        std::copy_n(palette.colors[index], 3, to);
      } else if (h.bits == 24) {
        std::reverse_copy(from + 3 * x, from + 3 * x + 3, to);
      } else {
        uint32_t pixel = 0;
        for (unsigned k = 0; k < h.bits / 8; ++k) pixel |= uint32_t{from[x * h.bits / 8 + k]} << (8 * k);
        to[0] = red.of(pixel);
        to[1] = green.of(pixel);
        to[2] = blue.of(pixel);
      }
    }
  }
  return p;
}

}  // namespace tenon::TENON_ABI::image
