#include "loader/tool/embedded_headers.hpp"

#include <zlib.h>

#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::tool {

EmbeddedTexts::EmbeddedTexts(std::span<const EmbeddedHeader> headers, std::string_view deflated) {
  size_t size = 0;
  for (const EmbeddedHeader& h : headers) size += h.size;
  texts_.resize(size);
  uLongf inflated = size;
  const int status = uncompress(reinterpret_cast<Bytef*>(texts_.data()), &inflated,
                                reinterpret_cast<const Bytef*>(deflated.data()), deflated.size());
  if (status != Z_OK || inflated != size)
    throw Error(status == Z_MEM_ERROR ? ErrorCode::out_of_memory : ErrorCode::io, "embedded headers",
                "zlib cannot inflate them");
  std::string_view rest = texts_;
  headers_.reserve(headers.size());
  for (const EmbeddedHeader& h : headers) {
    headers_.push_back({h.path, rest.substr(0, h.size)});
    rest.remove_prefix(h.size);
  }
}

}  // namespace tenon::TENON_ABI::tool
