#include "tenon/op/image/image_decoder.hpp"

#include "tests/op/check.hpp"
#include "tests/op/image/encoded.hpp"

namespace tenon {
using namespace test;

namespace {

Value encoded(const bytes& file) {
  return Tensor<uint8_t>(Extents{std::ssize(file)}, std::span<const uint8_t>(file));
}
Value picture(int64_t height, int64_t width, int64_t channels, const bytes& samples) {
  return Tensor<uint8_t>(Extents{height, width, channels}, std::span<const uint8_t>(samples));
}
op::ImageDecoder to(const char* format) { return {.pixel_format = format}; }

/// The file decodes to these colors, which may be off by `atol`, in every order of channels.
void check_file(const bytes& file, int height, int width, const bytes& rgb, double atol = 0) {
  check(to("RGB"), {encoded(file)}, {picture(height, width, 3, rgb)}, 0, atol);
  bytes bgr = rgb, gray;
  for (std::size_t k = 0; k < rgb.size(); k += 3) {
    std::swap(bgr[k], bgr[k + 2]);
    gray.push_back(
        static_cast<uint8_t>((19595 * rgb[k] + 38470 * rgb[k + 1] + 7471 * rgb[k + 2] + 0x8000) >> 16));
  }
  check(to("BGR"), {encoded(file)}, {picture(height, width, 3, bgr)}, 0, atol);
  check(to("Grayscale"), {encoded(file)}, {picture(height, width, 1, gray)}, 0, atol);
}
void check_gray(const bytes& file, int height, int width, const bytes& gray, double atol = 0) {
  bytes rgb;
  for (uint8_t g : gray) rgb.insert(rgb.end(), 3, g);
  check_file(file, height, width, rgb, atol);
}

const bytes colors{255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 250, 240, 230, 128, 128, 127};  // 2 x 3
const Pixels rgb{3, 2, 3, colors};
const bytes grays{0, 50, 100, 150, 200, 255};
const Pixels gray{3, 2, 1, grays};
/// With an alpha of every degree.
const Pixels rgba = [] {
  Pixels p{3, 2, 4, {}};
  for (std::size_t k = 0; k < 6; ++k) {
    p.samples.insert(p.samples.end(), colors.begin() + static_cast<std::ptrdiff_t>(3 * k),
                     colors.begin() + static_cast<std::ptrdiff_t>(3 * k + 3));
    p.samples.push_back(static_cast<uint8_t>(51 * k));
  }
  return p;
}();
/// An even surface, which lossy formats keep.
Pixels even(std::initializer_list<uint8_t> samples) {
  Pixels p{16, 16, static_cast<int>(samples.size()), {}};
  for (int k = 0; k < 256; ++k) p.samples.insert(p.samples.end(), samples);
  return p;
}
bytes repeated(std::initializer_list<uint8_t> color, int times) {
  bytes b;
  for (int k = 0; k < times; ++k) b.insert(b.end(), color);
  return b;
}

/// One file of each format.
std::vector<bytes> files() {
  const auto plain = [](TIFF*) {};
  bytes pnm;
  put(pnm, "P6 3 2 255\n");
  pnm.insert(pnm.end(), colors.begin(), colors.end());
  return {
      png(rgb, PNG_COLOR_TYPE_RGB),
      png(gray, PNG_COLOR_TYPE_GRAY, 8, PNG_INTERLACE_ADAM7),
      jpeg(even({200, 100, 50}), JCS_RGB),
      jpeg(even({200, 100, 50}), JCS_RGB, true),
      jpeg(even({90}), JCS_GRAYSCALE),
      tiff(rgb, 8, PHOTOMETRIC_RGB, plain),
      tiff(rgb, 8, PHOTOMETRIC_RGB, [](TIFF* t) { TIFFSetField(t, TIFFTAG_COMPRESSION, COMPRESSION_LZW); }),
      webp(rgb),
      animation({rgb, {3, 2, 3, bytes(18, 9)}}),
      jpeg2000(rgb, OPJ_CLRSPC_SRGB, OPJ_CODEC_JP2),
      jpeg2000(gray, OPJ_CLRSPC_GRAY, OPJ_CODEC_J2K),
      bmp(2, 1, 24, 0, {}, {1, 2, 3, 4, 5, 6, 0, 0}),
      bmp(4, 2, 8, 1, {0, 0, 0, 0, 9, 9, 9, 0}, {3, 1, 0, 0, 0, 3, 1, 0, 1, 0, 0, 1}),
      pnm};
}

}  // namespace

TEST_CASE("ImageDecoder: BMP") {
  // Rows lie from the bottom to the top, in multiples of four bytes, blue before red.
  const bytes two_rows{30, 20, 10, 60, 50, 40, 0, 0, 3, 2, 1, 6, 5, 4, 0, 0};
  check_file(bmp(2, 2, 24, 0, {}, two_rows), 2, 2, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60});
  check_file(bmp(2, -2, 24, 0, {}, two_rows), 2, 2, {10, 20, 30, 40, 50, 60, 1, 2, 3, 4, 5, 6});
  check_file(bmp(1, 1, 32, 0, {}, {3, 2, 1, 99}), 1, 1, {1, 2, 3});
  const bytes swapped{255, 0, 0, 0, 0, 255, 0, 0, 0, 0, 255, 0};
  check_file(bmp(1, 1, 32, 3, swapped, {3, 2, 1, 99}), 1, 1, {3, 2, 1});
  check_file(bmp(1, 1, 32, 3, swapped, {3, 2, 1, 99}, 52), 1, 1, {3, 2, 1});
  // 16 bits: 5, 5, 5, or 5, 6, 5 by masks.
  check_file(bmp(2, 1, 16, 0, {}, {0x00, 0x7C, 0xE1, 0x03}), 1, 2, {255, 0, 0, 0, 255, 8});
  check_file(bmp(2, 1, 16, 3, {0, 0xF8, 0, 0, 0xE0, 7, 0, 0, 0x1F, 0, 0, 0}, {0x00, 0xF8, 0xE0, 0x07}), 1, 2,
             {255, 0, 0, 0, 255, 0});
  // Palettes: blue, green, red, nothing. Colors that are missing are black.
  const bytes palette{1, 2, 3, 0, 4, 5, 6, 0};
  check_file(bmp(3, 1, 1, 0, palette, {0b01000000, 0, 0, 0}), 1, 3, {3, 2, 1, 6, 5, 4, 3, 2, 1});
  check_file(bmp(2, 1, 4, 0, palette, {0x1F, 0, 0, 0}), 1, 2, {6, 5, 4, 0, 0, 0});
  check_file(bmp(2, 1, 8, 0, palette, {1, 0, 0, 0}), 1, 2, {6, 5, 4, 3, 2, 1});
  // RLE8: runs, literal bytes, a jump to the right and up, and an end before the last row.
  check_file(bmp(3, 2, 8, 1, palette, {2, 1, 1, 0, 0, 0, 0, 3, 1, 0, 1, 0, 0, 1}), 2, 3,
             {6, 5, 4, 3, 2, 1, 6, 5, 4, 6, 5, 4, 6, 5, 4, 3, 2, 1});
  check_file(bmp(2, 2, 8, 1, palette, {0, 2, 1, 1, 1, 1, 0, 1}), 2, 2, {3, 2, 1, 6, 5, 4, 3, 2, 1, 3, 2, 1});
  check_file(bmp(4, 1, 4, 2, palette, {3, 0x10, 9, 0x11, 0, 1}), 1, 4, {6, 5, 4, 3, 2, 1, 6, 5, 4, 6, 5, 4});
  check_file(bmp(3, 1, 4, 2, palette, {0, 3, 0x10, 0x10, 0, 1}), 1, 3, {6, 5, 4, 3, 2, 1, 6, 5, 4});
  // OS/2 1.x: a header of 12 bytes, colors of three.
  bytes core;
  put(core, "BM");
  put(core, 0, 8);
  put(core, 32, 4);
  for (auto [n, size] : {std::pair{12u, 4}, {2u, 2}, {1u, 2}, {1u, 2}, {1u, 2}}) put(core, n, size);
  core.insert(core.end(), {1, 2, 3, 4, 5, 6, 0b01000000, 0, 0, 0});
  check_file(core, 1, 2, {3, 2, 1, 6, 5, 4});
}

TEST_CASE("ImageDecoder: PNM") {
  const auto of = [](std::string_view text, const bytes& data = {}) {
    bytes b;
    put(b, text);
    b.insert(b.end(), data.begin(), data.end());
    return b;
  };
  check_file(of("P6 3 2 255\n", colors), 2, 3, colors);
  check_file(of("P3\n# words\n2 1\n255 1 2 3\t4 5 6"), 1, 2, {1, 2, 3, 4, 5, 6});
  check_gray(of("P5\n3 2\n255\n", grays), 2, 3, grays);
  check_gray(of("P2 3 1 15 0 7 15#end"), 1, 3, {0, 119, 255});
  check_gray(of("P5 2 1 65535\n", {0, 255, 255, 255}), 1, 2, {1, 255});
  check_gray(of("P5 2 1 100\n", {50, 200}), 1, 2, {128, 255});
  check_gray(of("P1 3 2 1 0 1\n010"), 2, 3, {0, 255, 0, 255, 0, 255});
  check_gray(of("P4 9 2\n", {0x80, 0x80, 0x7F, 0}), 2, 9,
             {0, 255, 255, 255, 255, 255, 255, 255, 0, 255, 0, 0, 0, 0, 0, 0, 0, 255});
}

TEST_CASE("ImageDecoder: PNG") {
  for (int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    check_file(png(rgb, PNG_COLOR_TYPE_RGB, 8, interlace), 2, 3, colors);
    check_file(png(rgba, PNG_COLOR_TYPE_RGB_ALPHA, 8, interlace), 2, 3, colors);
    check_gray(png(gray, PNG_COLOR_TYPE_GRAY, 8, interlace), 2, 3, grays);
  }
  check_gray(png({2, 1, 2, {7, 0, 9, 255}}, PNG_COLOR_TYPE_GRAY_ALPHA), 1, 2, {7, 9});
  check_gray(png({2, 1, 1, {7, 200, 9, 100}}, PNG_COLOR_TYPE_GRAY, 16), 1, 2, {7, 9});
  check_file(png({1, 1, 3, {7, 200, 9, 100, 5, 0}}, PNG_COLOR_TYPE_RGB, 16), 1, 1, {7, 9, 5});
  check_gray(png({4, 1, 1, {0b00011011}}, PNG_COLOR_TYPE_GRAY, 2), 1, 4, {0, 85, 170, 255});
  check_file(
      png({2, 1, 1, {0b01000000}}, PNG_COLOR_TYPE_PALETTE, 1, PNG_INTERLACE_NONE, {{1, 2, 3}, {4, 5, 6}}), 1,
      2, {1, 2, 3, 4, 5, 6});
}

TEST_CASE("ImageDecoder: JPEG") {
  for (bool progressive : {false, true}) {
    check_file(jpeg(even({200, 100, 50}), JCS_RGB, progressive), 16, 16, repeated({200, 100, 50}, 256), 2);
    check_gray(jpeg(even({90}), JCS_GRAYSCALE, progressive), 16, 16, bytes(256, 90), 1);
  }
  // Files with Adobe's marker, as libjpeg writes them, state inks inverted.
  check_file(jpeg(even({255, 128, 0, 255}), JCS_CMYK), 16, 16, repeated({255, 128, 0}, 256), 2);
  check_file(jpeg(even({255, 255, 255, 100}), JCS_CMYK), 16, 16, repeated({100, 100, 100}, 256), 2);
}

TEST_CASE("ImageDecoder: TIFF") {
  const auto plain = [](TIFF*) {};
  check_file(tiff(rgb, 8, PHOTOMETRIC_RGB, plain), 2, 3, colors);
  check_file(tiff(rgb, 8, PHOTOMETRIC_RGB, plain, "wb"), 2, 3, colors);
  check_file(tiff(rgb, 8, PHOTOMETRIC_RGB, plain, "w8"), 2, 3, colors);
  for (int method : {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS})
    check_file(
        tiff(rgb, 8, PHOTOMETRIC_RGB, [method](TIFF* t) { TIFFSetField(t, TIFFTAG_COMPRESSION, method); }), 2,
        3, colors);
  const auto tiled = [](TIFF* t) {
    TIFFSetField(t, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(t, TIFFTAG_TILELENGTH, 16);
  };
  check_file(tiff(rgb, 8, PHOTOMETRIC_RGB, tiled), 2, 3, colors);
  for (uint16_t kind : {EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_ASSOCALPHA, EXTRASAMPLE_UNASSALPHA})
    check_file(
        tiff(rgba, 8, PHOTOMETRIC_RGB, [kind](TIFF* t) { TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &kind); }),
        2, 3, colors);
  check_gray(tiff(gray, 8, PHOTOMETRIC_MINISBLACK, plain), 2, 3, grays);
  check_gray(tiff({2, 1, 1, {0, 255}}, 8, PHOTOMETRIC_MINISWHITE, plain), 1, 2, {255, 0});
  check_gray(tiff({2, 1, 1, {0, 0, 255, 255}}, 16, PHOTOMETRIC_MINISBLACK, plain), 1, 2, {0, 255});
  check_gray(tiff({3, 1, 1, {0b01000000}}, 1, PHOTOMETRIC_MINISBLACK, plain), 1, 3, {0, 255, 0});
  check_file(tiff({2, 1, 1, {1, 0}}, 8, PHOTOMETRIC_PALETTE,
                  [](TIFF* t) {
                    uint16_t r[256] = {0x0100, 0x0400}, g[256] = {0x0200, 0x0500}, b[256] = {0x0300, 0x0600};
                    TIFFSetField(t, TIFFTAG_COLORMAP, r, g, b);
                  }),
             1, 2, {4, 5, 6, 1, 2, 3});
}

TEST_CASE("ImageDecoder: WebP") {
  check_file(webp(rgb), 2, 3, colors);
  Pixels opaque = rgba;  // the encoder may change colors that cannot be seen
  for (std::size_t k = 3; k < opaque.samples.size(); k += 4)
    opaque.samples[k] = std::max<uint8_t>(opaque.samples[k], 1);
  check_file(webp(opaque), 2, 3, colors);
  check_file(animation({rgb, {3, 2, 3, bytes(18, 9)}}), 2, 3, colors);
}

TEST_CASE("ImageDecoder: JPEG 2000") {
  for (OPJ_CODEC_FORMAT format : {OPJ_CODEC_JP2, OPJ_CODEC_J2K}) {
    check_file(jpeg2000(rgb, OPJ_CLRSPC_SRGB, format), 2, 3, colors);
    check_file(jpeg2000(rgb, OPJ_CLRSPC_SRGB, format, 12), 2, 3, colors);
    check_gray(jpeg2000(gray, OPJ_CLRSPC_GRAY, format), 2, 3, grays);
    check_gray(jpeg2000({2, 1, 1, {0, 1}}, OPJ_CLRSPC_GRAY, format, 1), 1, 2, {0, 255});
  }
  check_file(jpeg2000(rgba, OPJ_CLRSPC_SRGB, OPJ_CODEC_JP2), 2, 3, colors);
  // Y 100, Cb 128, Cr 178.
  const bytes red = repeated({170, 64, 100}, 256);
  check_file(jpeg2000(even({100, 128, 178}), OPJ_CLRSPC_SYCC, OPJ_CODEC_JP2), 16, 16, red, 1);
  check_file(jpeg2000(even({100, 128, 178}), OPJ_CLRSPC_SYCC, OPJ_CODEC_JP2, 8, 2), 16, 16, red, 1);
}

TEST_CASE("ImageDecoder: bytes that are no image") {
  const auto text = [](std::string_view s) {
    bytes b;
    put(b, s);
    return b;
  };
  const auto check_undecodable = [](const bytes& file, std::string_view reason) {
    check(to("BGR"), {encoded(file)}, {picture(0, 0, 3, {})});
    check(to("Grayscale"), {encoded(file)}, {picture(0, 0, 1, {})});
    check_throws([&] { return decode_image(file, PixelFormat::rgb); }, reason);
  };
  check_undecodable({}, "the bytes are none of BMP, JPEG");
  check_undecodable(text("no image"), "the bytes are none of BMP, JPEG");
  check_fails(to("HSV"), {encoded({})}, "pixel_format: 'HSV', expected RGB, BGR or Grayscale");
  check_fails(to("RGB"), {t<uint8_t>({1, 1}, {0})}, "encoded_stream: rank 2, expected 1");
  check_fails(to("RGB"), {t<float>({1}, {0})}, "encoded_stream cannot be tensor(float)");

  check_undecodable(text("P6 2 1 255 12345"), "ends before the last of 1 rows");
  check_undecodable(text("P6 0 1 255 "), "0 x 1 pixels");
  check_undecodable(text("P6 2000000000 2000000000 255 x"), "take more than");
  check_undecodable(text("P6 99999999999999999999 1 255 x"), "a number above");
  check_undecodable(text("P5 1 1 0 x"), "a greatest value of 0");
  check_undecodable(text("P2 1 1 9 x"), "no digit");
  check_undecodable(text("P2 1 1 9 10"), "a number above 9");
  check_undecodable(text("P1 1 1 2"), "a bit that is neither 0 nor 1");
  check_undecodable(text("P6 #"), "ends at byte");

  const auto bad_bmp = [](int width, int height, int bits, int compression, const bytes& pixels) {
    return bmp(width, height, bits, compression, {}, pixels);
  };
  check_undecodable(bad_bmp(2, 2, 24, 0, {1, 2, 3, 4, 5, 6, 7, 8}), "ends before the last of 2 rows");
  check_undecodable(bad_bmp(INT32_MAX, INT32_MAX, 32, 0, {0}), "take more than");
  check_undecodable(bad_bmp(INT32_MIN, INT32_MIN, 32, 0, {0}), "pixels");
  check_undecodable(bad_bmp(1, 1, 7, 0, {0}), "7 bits a pixel");
  check_undecodable(bad_bmp(1, 1, 24, 5, {0}), "under compression 5");
  check_undecodable(bad_bmp(1, -1, 8, 1, {0}), "RLE from the top down");
  check_undecodable(bad_bmp(3, 1, 8, 1, {2, 1}), "ends at byte");
  check_undecodable(bmp(1, 1, 32, 3, {5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, {0, 0, 0, 0}),
                    "the bits of a mask");
  check_undecodable({'B', 'M', 0}, "ends at byte 3");

  // A PNG of 1000000 x 1000000 pixels, by its header.
  bytes lying = png(rgb, PNG_COLOR_TYPE_RGB);
  for (std::size_t k : {17u, 21u}) lying[k] = 0x0F, lying[k + 1] = 0x42, lying[k + 2] = 0x40;
  check_undecodable(lying, "PNG: ");
  check_undecodable({'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, 9}, "TIFF: ");
  check_undecodable({0xFF, 0xD8, 0xFF, 0xD9}, "JPEG: ");
}

// A truncated or changed file gives no picture or another one, and nothing else.
TEST_CASE("ImageDecoder: damage") {
  const auto decode = [](const bytes& file) {
    return run(to("RGB"), {encoded(file)})[0].tensor().size() > 0;
  };
  uint64_t state = 1;
  const auto below = [&state](std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  int which = 0;
  for (const bytes& file : files()) {
    CAPTURE(which++);
    REQUIRE(decode(file));
    for (std::size_t n = 0; n < file.size() / 2; n += 1 + file.size() / 200) {
      CAPTURE(n);
      CHECK_FALSE(decode(bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n))));
    }
    for (std::size_t n = file.size() / 2; n < file.size(); n += 1 + file.size() / 200)
      decode(bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)));
    for (int k = 0; k < 300; ++k) {
      bytes changed = file;
      for (std::size_t times = 1 + below(3); times > 0; --times)
        changed[below(2) ? below(changed.size()) : below(std::min<std::size_t>(64, changed.size()))] =
            static_cast<uint8_t>(below(3) ? below(256) : 255 * below(2));
      decode(changed);
    }
  }
}

TEST_CASE("ImageDecoder: extents, called") {
  const auto out = infer(to("Grayscale"), {info(DType::uint8, {Dim::unknown()})});
  CHECK(out[0].dims == Dims{Dim::unknown(), Dim::unknown(), 1});
  CHECK(out[0].type == Type(DType::uint8));
  CHECK(infer(to("BGR"), {info(DType::uint8, {})})[0].dims == Dims{Dim::unknown(), Dim::unknown(), 3});
  const bytes file = bmp(1, 1, 24, 0, {}, {3, 2, 1, 0});
  const Tensor<uint8_t> image(Extents{std::ssize(file)}, std::span<const uint8_t>(file));
  check_equal(op::ImageDecoder{}(image), picture(1, 1, 3, {1, 2, 3}));
}
}  // namespace tenon
