// Drawings of any model: its names are text in them, and nothing else.
#include "loader/message.hpp"
#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

int count(std::string_view text, std::string_view part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  tenon::Model model;
  if (!input.read(model.proto())) return 0;
  static const std::string empty = html(tenon::Model());
  std::string drawn, page;
  if (accepted([&] { drawn = dot(model); })) {
    require(drawn.starts_with("digraph") && drawn.ends_with("}\n"), "a drawing is one graph");
    require(count(drawn, "{") - count(drawn, "\\{") >= 1, "a drawing has a body");
  }
  if (!accepted([&] { page = html(model); })) return 0;
  for (const char* tag : {"<script", "</script", "<style", "<iframe", "<body", "</body>", "<meta"})
    require(count(page, tag) == count(empty, tag), "names are text in a page", tag);
  return 0;
}
