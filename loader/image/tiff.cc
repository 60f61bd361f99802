// TIFF, with libtiff: the first image of the file, in any layout that the library turns into RGB.
#include <tiffio.h>

#include <cstdarg>
#include <cstdio>

#include "loader/image/picture.hpp"

namespace tenon::TENON_ABI::image {
namespace {

constexpr std::string_view format = "TIFF";

/// A file in memory for the library to read, and the library's first error message.
struct File {
  Bytes bytes;
  uint64_t at = 0;
  char text[120] = {};
};
File* file_of(thandle_t handle) { return static_cast<File*>(handle); }

int keep_message(TIFF*, void* file, const char*, const char* message, va_list list) {
  auto* f = static_cast<File*>(file);
  if (f->text[0] == '\0') std::vsnprintf(f->text, sizeof f->text, message, list);
  return 1;
}

struct Closer {
  void operator()(TIFF* t) const { TIFFClose(t); }
};
using Handle = std::unique_ptr<TIFF, Closer>;

Handle open(File& file) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, tmsize_t{1} << 28);
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, &file);
  TIFFOpenOptionsSetWarningHandlerExtR(
      options, [](TIFF*, void*, const char*, const char*, va_list) { return 1; }, nullptr);
  Handle handle(TIFFClientOpenExt(
      "image", "r", &file,
      [](thandle_t h, void* to, tmsize_t count) -> tmsize_t {
        File& f = *file_of(h);
        if (f.at >= f.bytes.size() || count <= 0) return 0;
        const auto n = std::min<uint64_t>(static_cast<uint64_t>(count), f.bytes.size() - f.at);
        std::memcpy(to, f.bytes.data() + f.at, n);
        f.at += n;
        return static_cast<tmsize_t>(n);
      },
      [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; },
      [](thandle_t h, toff_t offset, int whence) -> toff_t {
        File& f = *file_of(h);
        f.at = offset + (whence == SEEK_CUR ? f.at : whence == SEEK_END ? f.bytes.size() : 0);
        return f.at;
      },
      [](thandle_t) { return 0; }, [](thandle_t h) -> toff_t { return file_of(h)->bytes.size(); },
      // The library only reads the mapped bytes.
      [](thandle_t h, void** begin, toff_t* size) {
        *begin = const_cast<uint8_t*>(file_of(h)->bytes.data());
        *size = file_of(h)->bytes.size();
        return 1;
      },
      [](thandle_t, void*, toff_t) {}, options));
  TIFFOpenOptionsFree(options);
  return handle;
}

}  // namespace

bool is_tiff(Bytes bytes) {
  for (const std::string_view magic : {"II*\0", "MM\0*", "II+\0", "MM\0+"})
    if (begins_with(bytes, std::string_view(magic.data(), 4))) return true;
  return false;
}

Picture decode_tiff(Bytes bytes, Allocator& allocator) {
  File file{.bytes = bytes};
  const Handle tiff = open(file);
  if (!tiff) fail(format, std::string_view(file.text));
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  Picture p = new_picture(format, width, height, 3, 4, allocator);
  // The library would multiply colors by an alpha that has not been applied to them.
  uint16_t extra = 0;
  uint16_t* kinds = nullptr;
  if (TIFFGetField(tiff.get(), TIFFTAG_EXTRASAMPLES, &extra, &kinds) && extra > 0) {
    std::vector<uint16_t> multiplied(kinds, kinds + extra);
    std::replace(multiplied.begin(), multiplied.end(), uint16_t{EXTRASAMPLE_UNASSALPHA},
                 uint16_t{EXTRASAMPLE_ASSOCALPHA});
    TIFFSetField(tiff.get(), TIFFTAG_EXTRASAMPLES, extra, multiplied.data());
  }
  char refusal[1024] = {};
  if (!TIFFRGBAImageOK(tiff.get(), refusal)) fail(format, std::string_view(refusal));
  auto raster = Tensor<uint32_t>::uninitialized(Extents{height, width}, allocator);
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, 1))
    fail(format, std::string_view(file.text));
  uint8_t* to = p.data();
  for (const uint32_t pixel : raster) {
    *to++ = static_cast<uint8_t>(TIFFGetR(pixel));
    *to++ = static_cast<uint8_t>(TIFFGetG(pixel));
    *to++ = static_cast<uint8_t>(TIFFGetB(pixel));
  }
  return p;
}

}  // namespace tenon::TENON_ABI::image
