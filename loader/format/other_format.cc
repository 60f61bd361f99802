#include "loader/format/other_format.hpp"

#include <algorithm>
#include <cstdint>

namespace tenon::TENON_ABI::loader {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t at;
  std::string_view bytes, advice;
};

constexpr Signature signatures[] = {
    {4, "ORTM"sv,
     "a model in ONNX Runtime's own format (.ort), which depends on its version; use the .onnx file that it "
     "was "
     "converted from"},
    {0, "version https://git-lfs"sv,
     "a pointer of Git LFS, not the file itself; fetch the file with `git lfs pull`"},
    {0, "GGUF"sv, "a GGUF file, as llama.cpp uses it; export the original model to ONNX"},
    {4, "TFL3"sv, "a TensorFlow Lite model; convert it with tf2onnx (python -m tf2onnx.convert --tflite)"},
    {0, "PK\x03\x04"sv,
     "a zip archive, as PyTorch's .pt and .pth files are; extract the .onnx file, or export the model with "
     "torch.onnx.export"},
    {0, "\x80\x02"sv,
     "a Python pickle, as PyTorch's older .pt files are; export the model with torch.onnx.export"},
    {0, "\x80\x04"sv, "a Python pickle, which holds no graph; export the model to ONNX"},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file, as Keras uses it; convert the model with tf2onnx"},
    {0, "\x93NUMPY"sv, "an array of NumPy (.npy), not a model"},
    {0, "\x1f\x8b"sv, "compressed by gzip; unpack it first"},
    {0, "\x28\xb5\x2f\xfd"sv, "compressed by zstd; unpack it first"},
    {257, "ustar"sv, "a tar archive; unpack it first"},
    {0, "<?xml"sv, "an XML file, such as OpenVINO's; export the original model to ONNX"},
    {0, "<!DOCTYPE"sv, "a page of HTML, which a server sends in place of a file; download the model again"},
    {0, "<!doctype"sv, "a page of HTML, which a server sends in place of a file; download the model again"},
    {0, "<html"sv, "a page of HTML, which a server sends in place of a file; download the model again"},
    {0, "<HTML"sv, "a page of HTML, which a server sends in place of a file; download the model again"},
    {0, "<ir_version"sv, "a model in ONNX's textual form; give the file the extension .onnxtxt"},
    {0, "< ir_version"sv, "a model in ONNX's textual form; give the file the extension .onnxtxt"},
    {0, "{"sv, "JSON, not the binary form of ONNX"},
};

// safetensors: the length of a header of JSON as 64 bits, little-endian, and the header.
bool is_safetensors(std::string_view text) {
  if (text.size() < 9 || text[8] != '{') return false;
  uint64_t length = 0;
  for (int k = 7; k >= 0; --k)
    length = length << 8 | static_cast<unsigned char>(text[static_cast<std::size_t>(k)]);
  return length >= 2 && length <= text.size() - 8;
}

// Markup, without the byte order mark and the white space that may precede it.
std::string_view markup(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// Whether a file begins as text does.
bool is_text(std::string_view text) {
  return std::ranges::all_of(text.substr(0, 64), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n';
  });
}

}  // namespace

std::string_view other_format(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view trimmed = markup(text);
  for (const Signature& s : signatures) {
    const std::string_view from = s.bytes.starts_with('<') ? trimmed : text;
    if (from.size() >= s.at && from.substr(s.at).starts_with(s.bytes)) return s.advice;
  }
  if (is_safetensors(text)) return "weights without a graph (safetensors); export the model to ONNX";
  if (is_text(text))
    return "text, such as a server sends in place of a file that it does not have; models in ONNX's textual "
           "form have the extension .onnxtxt";
  return {};
}

}  // namespace tenon::TENON_ABI::loader
