// Inlining, prefixes, merging, cutting out and comparing any models.
#include "loader/edit/compose.hpp"

#include "loader/edit/diff.hpp"
#include "loader/function/inline.hpp"
#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

using Names = std::vector<std::string>;

/// Names of values, of which each byte takes one.
Names choose(const Names& all, std::string_view bytes) {
  Names chosen;
  if (!all.empty())
    for (const char b : bytes) chosen.push_back(all[static_cast<uint8_t>(b) % all.size()]);
  return chosen;
}

void cut_out(const onnx::ModelProto& model, const Input& input) {
  Names in, out;
  for (const auto& v : model.graph().input()) in.push_back(v.name());
  for (const auto& v : model.graph().output()) out.push_back(v.name());
  accepted([&] { loader::extract(model, in, out); });
  const Names all = value_names(model.graph());
  const std::string_view last = input.last(3);
  accepted([&] {
    loader::extract(model, choose(all, last.substr(0, 1)), choose(all, last.substr(last.empty() ? 0 : 1)));
  });
}

void put_together(const onnx::ModelProto& model) {
  MergeOptions options{.prefix_a = "a/", .prefix_b = "b/"};
  for (int k = 0; k < std::min(model.graph().input_size(), model.graph().output_size()); ++k)
    options.connect.emplace_back(model.graph().output(k).name(), model.graph().input(k).name());
  accepted([&] { loader::merge(model, model, options); });
  accepted([&] { loader::merge(model, model); });
}

void compare(const onnx::ModelProto& model, const Input& input) {
  require(loader::differences(model, model).empty(), "a model does not differ from itself");
  onnx::ModelProto other;
  std::string bytes(input.text());
  if (!bytes.empty()) bytes[bytes.size() / 2] ^= 1;
  if (!other.ParseFromString(bytes)) return;
  require(loader::differences(model, other).empty() == loader::differences(other, model).empty(),
          "two models differ, or do not");
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  tenon::onnx::ModelProto model;
  if (!input.read(model)) return 0;
  switch (input.choice % 8) {
    case 0: accepted([&] { tenon::loader::add_prefix(model, "p/"); }); break;
    case 1: put_together(model); break;
    case 2: cut_out(model, input); break;
    case 3: compare(model, input); break;
    default:
      accepted([&] {
        tenon::loader::inline_functions(model, {.registry = &tenon::fuzz::registry(),
                                                .schema_functions = (input.choice & 16) != 0,
                                                .keep_incompatible = (input.choice & 8) != 0,
                                                .max_nodes = 10'000,
                                                .max_bytes = 1 << 22});
      });
  }
  return 0;
}
