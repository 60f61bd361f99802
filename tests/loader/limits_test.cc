// Bounds of loading.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "loader/message.hpp"
#include "tenon/loader.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

/// What a load says that has to end at a bound; "" for one that does not.
template <class Call>
std::string past_a_bound(Call call) {
  return refusal(ErrorCode::limit, call);
}

constexpr const char* nested = R"(
  <ir_version: 10, opset_import: ["" : 21, "own" : 1]>
  main (float[3] x, bool c) => (float[3] y)
  <float[3] w = {1, 2, 3}>
  {
    h = own.f (x)
    y = If (c) <
      then_branch = then () => (float[3] t) { t = own.f (h) },
      else_branch = else () => (float[3] e) { e = Add (h, w) }>
  }
  <domain: "own", opset_import: ["" : 21]>
  f (a) => (b) {
    k = Constant <value = float[3] {4, 5, 6}> ()
    b = Add (a, k)
  })";

}  // namespace

TEST_CASE("bounds of loading: nodes, nesting, and constants of functions") {
  const Model m = parse_text(nested);
  // Each of two calls reads the function, and its constant k.
  const int64_t needed = 2 * (12 + static_cast<int64_t>(m.proto().functions(0).ByteSizeLong()));
  struct Row {
    LoadOptions options;
    std::string_view said;  // "": it loads
  } rows[] = {{{}, ""},
              {{.max_nodes = 8}, ""},  // calls count too
              {{.max_nodes = 7}, "model: more than 7 nodes"},
              {{.max_nodes = no_bound}, ""},
              {{.max_depth = 2}, ""},  // a call in a branch
              {{.max_depth = 1}, "within each other are too many"},
              {{.max_depth = 0}, "within each other are too many"},
              {{.max_bytes = needed}, ""},
              {{.max_bytes = needed - 1}, "take more than"},
              {{.max_bytes = -1}, "take more than -1 bytes"}};
  for (const Row& row : rows) {
    const std::string said = past_a_bound([&] { return m.graph(row.options); });
    CHECK_MESSAGE((row.said.empty() ? said.empty() : holds(said, row.said)), "'", said, "' and not '",
                  std::string(row.said), "'");
  }
}

TEST_CASE("bounds of loading: sparse tensors are counted as dense ones, before they are made") {
  Model m = parse_text(nested);
  for (int k = 0; k < 3; ++k) {
    auto* s = m.proto().mutable_graph()->add_sparse_initializer();
    s->add_dims(1 << 28);
    auto& values = *s->mutable_values();
    values.set_name(str_cat("sparse", k));
    values.set_data_type(onnx::TensorProto::FLOAT);
    values.add_dims(1);
    values.add_float_data(1);
    auto& indices = *s->mutable_indices();
    indices.set_data_type(onnx::TensorProto::INT64);
    indices.add_dims(1);
    indices.add_int64_data(k);
    auto& n = *m.proto().mutable_graph()->add_node();
    n.set_op_type("Neg");
    n.add_input(values.name());
    n.add_output(str_cat("dense", k));
  }
  CHECK(holds(past_a_bound([&] { return m.graph({.max_bytes = 1 << 20}); }), "more than 1048576 bytes"));
}

TEST_CASE("bounds of loading: functions that double their calls are refused before they are read") {
  std::string text = R"(<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
      g (float[N] x) => (float[N] y) { y = own.f0 (x) })";
  constexpr int doublings = 30;
  for (int k = 0; k < doublings; ++k)
    text += str_cat("<domain: \"own\", opset_import: [\"\" : 21, \"own\" : 1]> f", k,
                    " (a) => (b) { c = own.f", k + 1, " (a) b = own.f", k + 1, " (c) }");
  text += str_cat("<domain: \"own\", opset_import: [\"\" : 21]> f", doublings, " (a) => (b) { b = Neg (a) }");
  const Model m = parse_text(text);
  CHECK(holds(past_a_bound([&] { return m.graph(); }),
              "model: more than 1000000 nodes; a function's nodes count once per call"));
}

TEST_CASE("bounds of loading: the file") {
  const Model m = parse_text(nested);
  const std::string bytes = m.proto().SerializeAsString();
  const auto file = std::filesystem::temp_directory_path() / "tenon_limits_test.onnx";
  std::ofstream(file, std::ios::binary) << bytes;
  const auto size = static_cast<int64_t>(bytes.size());
  CHECK(past_a_bound([&] { return load_graph(file, {.max_file_bytes = size}); }).empty());
  const std::string said = past_a_bound([&] { return load(file, {}, {.max_file_bytes = size - 1}); });
  CHECK(holds(said, str_cat("tenon_limits_test.onnx: has more than ", size - 1, " bytes")));
  std::filesystem::remove(file);
}

}  // namespace tenon
