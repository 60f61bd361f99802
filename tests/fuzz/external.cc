// External data: first a text with a tensor's reference, as a model may state it, then the bytes of the
// data file.
//
//   type 1
//   dims 2 3
//   location w.bin
//   offset 0
//   length 24
//   -- the file's bytes
#include <cstring>

#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

constexpr std::string_view mark = "\n--";

onnx::ModelProto model_of(std::string_view text) {
  onnx::ModelProto m;
  m.set_ir_version(10);
  m.add_opset_import()->set_version(21);
  auto* g = m.mutable_graph();
  g->set_name("g");
  auto* n = g->add_node();
  n->set_op_type("Identity");
  n->add_input("w");
  n->add_output("y");
  g->add_output()->set_name("y");
  onnx::TensorProto* t = g->add_initializer();
  t->set_name("w");
  t->set_data_type(onnx::TensorProto::FLOAT);
  t->set_data_location(onnx::TensorProto::EXTERNAL);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view key = line.substr(0, line.find(' '));
    const std::string value(line.substr(std::min(line.size(), key.size() + 1)));
    if (key == "type") {
      t->set_data_type(std::atoi(value.c_str()));
    } else if (key == "dims") {
      char* end = nullptr;
      for (const char* p = value.c_str(); *p != 0 && t->dims_size() < 40; p = end) {
        t->add_dims(std::strtoll(p, &end, 10));
        if (end == p) break;
      }
    } else {
      auto* e = t->add_external_data();
      e->set_key(std::string(key));
      e->set_value(value);
    }
  }
  return m;
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  using namespace tenon::fuzz;
  static const Folder folder;
  const std::string_view all = Input(data, size).text();
  const size_t end = std::min(all.find(mark), all.size());
  folder.write("w.bin", all.substr(std::min(all.size(), end + mark.size())));
  const auto file = folder.write("model.onnx", model_of(all.substr(0, end)).SerializeAsString());
  accepted([&] {
    const Session session = load(file);
    Outputs out = session.run({});
    // Reading the bytes shows whether all of them lie in the file.
    const AnyTensor& y = out[0].tensor();
    uint64_t sum = 0;
    if (y.dtype() != DType::string)
      for (int64_t k = 0; k < y.bytes(); ++k) sum += static_cast<const uint8_t*>(y.data())[k];
    require(sum <= 255 * static_cast<uint64_t>(all.size()), "a tensor's bytes come from its file");
  });
  return 0;
}
