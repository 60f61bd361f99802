// Any text: an Error that names the place, or a message, whose text is read as the same message.
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"

#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

template <class Message>
void run(std::string_view text) {
  Message m, again;
  if (!accepted([&] { m = loader::parse_text<Message>(text); })) return;
  const std::string printed = loader::print_text(m);
  require(accepted([&] { again = loader::parse_text<Message>(printed); }), "printed text can be read",
          printed);
  require(loader::print_text(again) == printed, "a message that was read is printed as it was", printed);
}

/// A message from a file, whose text may say less than it does.
template <class Message>
void run(const Input& input) {
  Message m;
  if (input.read(m)) accepted([&] { run<Message>(loader::print_text(m)); });
}

template <class Message>
void run(const Input& input, bool file) {
  if (file) run<Message>(input);
  else run<Message>(input.text());
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  const bool file = (input.choice & 4) != 0;
  switch (input.choice % 4) {
    case 0: run<tenon::onnx::ModelProto>(input, file); break;
    case 1: run<tenon::onnx::GraphProto>(input, file); break;
    case 2: run<tenon::onnx::FunctionProto>(input, file); break;
    default: run<tenon::onnx::NodeProto>(input, file); break;
  }
  return 0;
}
