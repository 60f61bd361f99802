// Images of every format in memory, for the tests of ImageDecoder: written by the formats' own libraries, or
// byte by byte where there is none.
#pragma once

#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

// jpeglib.h wants <cstdio>.
#include <jpeglib.h>

namespace tenon::test {

using bytes = std::vector<uint8_t>;

/// Pixels to encode: width, height, channels, and their samples.
struct Pixels {
  int width, height, channels;
  bytes samples;
};

inline void put(bytes& to, std::string_view text) { to.insert(to.end(), text.begin(), text.end()); }
/// A little-endian number of `size` bytes.
inline void put(bytes& to, uint64_t n, int size) {
  for (int k = 0; k < size; ++k) to.push_back(static_cast<uint8_t>(n >> (8 * k)));
}

inline bytes png(const Pixels& p, int color, int bits = 8, int interlace = PNG_INTERLACE_NONE,
                 const std::vector<png_color>& palette = {}) {
  bytes to;
  png_structp w = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(w);
  png_set_write_fn(
      w, &to,
      [](png_structp s, png_bytep data, std::size_t n) {
        auto* b = static_cast<bytes*>(png_get_io_ptr(s));
        b->insert(b->end(), data, data + n);
      },
      [](png_structp) {});
  png_set_IHDR(w, info, static_cast<unsigned>(p.width), static_cast<unsigned>(p.height), bits, color,
               interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!palette.empty()) png_set_PLTE(w, info, palette.data(), static_cast<int>(palette.size()));
  png_write_info(w, info);
  const std::size_t row = p.samples.size() / static_cast<std::size_t>(p.height);
  std::vector<png_bytep> rows;
  for (int y = 0; y < p.height; ++y)
    rows.push_back(const_cast<png_bytep>(p.samples.data() + static_cast<std::size_t>(y) * row));
  png_write_image(w, rows.data());
  png_write_end(w, info);
  png_destroy_write_struct(&w, &info);
  return to;
}

/// At quality 100, without subsampled colors.
inline bytes jpeg(const Pixels& p, J_COLOR_SPACE space, bool progressive = false) {
  jpeg_compress_struct c;
  jpeg_error_mgr errors;
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&c, &memory, &size);
  c.image_width = static_cast<unsigned>(p.width);
  c.image_height = static_cast<unsigned>(p.height);
  c.input_components = p.channels;
  c.in_color_space = space;
  jpeg_set_defaults(&c);
  jpeg_set_quality(&c, 100, TRUE);
  c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = 1;
  if (progressive) jpeg_simple_progression(&c);
  jpeg_start_compress(&c, TRUE);
  while (c.next_scanline < c.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(p.samples.data()) +
                   c.next_scanline * static_cast<unsigned>(p.width * p.channels);
    jpeg_write_scanlines(&c, &row, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  bytes to(memory, memory + size);
  free(memory);
  return to;
}

namespace tiff_memory {
struct File {
  bytes data;
  std::size_t at = 0;
};
inline File& of(thandle_t h) { return *static_cast<File*>(h); }
}  // namespace tiff_memory

/// `set` states further fields, in tiles of 16 x 16 where it says so.
template <class F>
bytes tiff(const Pixels& p, int bits, int photometric, F set, const char* mode = "w") {
  using namespace tiff_memory;
  File file;
  TIFF* t = TIFFClientOpen(
      "memory", mode, &file,
      [](thandle_t h, void* to, tmsize_t n) -> tmsize_t {
        File& f = of(h);
        const std::size_t count = std::min(static_cast<std::size_t>(n), f.data.size() - f.at);
        std::memcpy(to, f.data.data() + f.at, count);
        f.at += count;
        return static_cast<tmsize_t>(count);
      },
      [](thandle_t h, void* from, tmsize_t n) -> tmsize_t {
        File& f = of(h);
        f.data.resize(std::max(f.data.size(), f.at + static_cast<std::size_t>(n)));
        std::memcpy(f.data.data() + f.at, from, static_cast<std::size_t>(n));
        f.at += static_cast<std::size_t>(n);
        return n;
      },
      [](thandle_t h, toff_t at, int whence) -> toff_t {
        File& f = of(h);
        return f.at = at + (whence == SEEK_CUR ? f.at : whence == SEEK_END ? f.data.size() : 0);
      },
      [](thandle_t) { return 0; }, [](thandle_t h) -> toff_t { return of(h).data.size(); },
      [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {});
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, p.width);
  TIFFSetField(t, TIFFTAG_IMAGELENGTH, p.height);
  TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, p.channels);
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, photometric);
  TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  set(t);
  if (!TIFFIsTiled(t)) TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 1);
  if (TIFFIsTiled(t)) {
    bytes tile(static_cast<std::size_t>(TIFFTileSize(t)));
    const std::size_t row = p.samples.size() / static_cast<std::size_t>(p.height),
                      tile_row = tile.size() / 16;
    for (std::size_t y = 0; y < static_cast<std::size_t>(p.height); ++y)
      std::memcpy(tile.data() + y * tile_row, p.samples.data() + y * row, row);
    TIFFWriteEncodedTile(t, 0, tile.data(), static_cast<tmsize_t>(tile.size()));
  } else {
    const std::size_t row = p.samples.size() / static_cast<std::size_t>(p.height);
    for (int y = 0; y < p.height; ++y)
      TIFFWriteScanline(t, const_cast<uint8_t*>(p.samples.data()) + static_cast<std::size_t>(y) * row,
                        static_cast<uint32_t>(y));
  }
  TIFFClose(t);
  return file.data;
}

inline bytes webp(const Pixels& p) {
  uint8_t* memory = nullptr;
  const std::size_t size =
      p.channels == 4 ? WebPEncodeLosslessRGBA(p.samples.data(), p.width, p.height, p.width * 4, &memory)
                      : WebPEncodeLosslessRGB(p.samples.data(), p.width, p.height, p.width * 3, &memory);
  bytes to(memory, memory + size);
  WebPFree(memory);
  return to;
}

/// An animation of one frame for each picture.
inline bytes animation(const std::vector<Pixels>& frames) {
  WebPAnimEncoderOptions options;
  WebPAnimEncoderOptionsInit(&options);
  WebPAnimEncoder* e = WebPAnimEncoderNew(frames[0].width, frames[0].height, &options);
  WebPConfig config;
  WebPConfigInit(&config);
  config.lossless = 1;
  int time = 0;
  for (const Pixels& f : frames) {
    WebPPicture picture;
    WebPPictureInit(&picture);
    picture.use_argb = 1;
    picture.width = f.width;
    picture.height = f.height;
    WebPPictureImportRGB(&picture, f.samples.data(), f.width * 3);
    WebPAnimEncoderAdd(e, &picture, time, &config);
    WebPPictureFree(&picture);
    time += 100;
  }
  WebPAnimEncoderAdd(e, nullptr, time, nullptr);
  WebPData data;
  WebPDataInit(&data);
  WebPAnimEncoderAssemble(e, &data);
  bytes to(data.bytes, data.bytes + data.size);
  WebPDataClear(&data);
  WebPAnimEncoderDelete(e);
  return to;
}

/// Lossless, with samples of `bits` bits. The second and third component have a sample for `coarse` pixels a
/// side.
inline bytes jpeg2000(const Pixels& p, OPJ_COLOR_SPACE space, OPJ_CODEC_FORMAT format, unsigned bits = 8,
                      unsigned coarse = 1) {
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.numresolution = 1;
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  std::vector<opj_image_cmptparm_t> components(static_cast<std::size_t>(p.channels));
  for (std::size_t k = 0; k < components.size(); ++k) {
    components[k] = {};
    components[k].dx = components[k].dy = k == 1 || k == 2 ? coarse : 1;
    components[k].w = (static_cast<unsigned>(p.width) + components[k].dx - 1) / components[k].dx;
    components[k].h = (static_cast<unsigned>(p.height) + components[k].dy - 1) / components[k].dy;
    components[k].prec = bits;
  }
  opj_image_t* image = opj_image_create(static_cast<unsigned>(p.channels), components.data(), space);
  image->x1 = static_cast<unsigned>(p.width);
  image->y1 = static_cast<unsigned>(p.height);
  const auto channels = static_cast<unsigned>(p.channels), width = static_cast<unsigned>(p.width);
  for (unsigned k = 0; k < channels; ++k)
    for (unsigned y = 0; y < image->comps[k].h; ++y)
      for (unsigned x = 0; x < image->comps[k].w; ++x) {
        const unsigned step = image->comps[k].dx;
        int sample = p.samples[(y * step * width + x * step) * channels + k];
        if (bits > 8) sample <<= bits - 8;
        image->comps[k].data[y * image->comps[k].w + x] = sample;
      }
  bytes to;
  opj_codec_t* codec = opj_create_compress(format);
  opj_setup_encoder(codec, &parameters, image);
  opj_stream_t* stream = opj_stream_create(1 << 16, OPJ_FALSE);
  struct Out {
    bytes data;
    std::size_t at = 0;
  } out;
  opj_stream_set_user_data(stream, &out, nullptr);
  opj_stream_set_write_function(stream, [](void* from, OPJ_SIZE_T n, void* user) -> OPJ_SIZE_T {
    auto& o = *static_cast<Out*>(user);
    o.data.resize(std::max(o.data.size(), o.at + n));
    std::memcpy(o.data.data() + o.at, from, n);
    o.at += n;
    return n;
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T n, void* user) -> OPJ_OFF_T {
    static_cast<Out*>(user)->at += static_cast<std::size_t>(n);
    return n;
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T at, void* user) -> OPJ_BOOL {
    static_cast<Out*>(user)->at = static_cast<std::size_t>(at);
    return OPJ_TRUE;
  });
  opj_start_compress(codec, image, stream);
  opj_encode(codec, stream);
  opj_end_compress(codec, stream);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return out.data;
}

/// A file header, a header of 40 bytes and `extra` bytes of it and its masks and palette, then pixels.
inline bytes bmp(int width, int height, int bits, int compression, const bytes& extra, const bytes& pixels,
                 int header = 40) {
  bytes to;
  put(to, "BM");
  put(to, 54 + extra.size() + pixels.size(), 4);
  put(to, 0, 4);
  put(to, 54 + extra.size(), 4);
  put(to, static_cast<unsigned>(header), 4);
  put(to, static_cast<uint32_t>(width), 4);
  put(to, static_cast<uint32_t>(height), 4);
  put(to, 1, 2);
  put(to, static_cast<unsigned>(bits), 2);
  put(to, static_cast<unsigned>(compression), 4);
  for (int k = 0; k < 5; ++k) put(to, 0, 4);
  to.insert(to.end(), extra.begin(), extra.end());
  to.insert(to.end(), pixels.begin(), pixels.end());
  return to;
}

}  // namespace tenon::test
