// `tenon test` on small cases: values that are handed through, against files that say the same or something
// else.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loader/format/tensor.hpp"
#include "tenon/base/types.hpp"
#include "tenon/loader.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

void write_message(const fs::path& file, const google::protobuf::MessageLite& message) {
  std::ofstream(file, std::ios::binary) << message.SerializeAsString();
}

void write_value(const fs::path& file, const Value& v) {
  if (v.is_map()) {
    onnx::MapProto p;
    const auto keys = v.map().keys.view().as<int64_t>();
    p.set_key_type(static_cast<int>(DType::int64));
    p.mutable_keys()->Add(keys.begin(), keys.end());
    const auto values = v.map().values.view().as<float>();
    for (float x : values)
      loader::write_tensor(Tensor<float>({}, {x}), *p.mutable_values()->add_tensor_values());
    write_message(file, p);
  } else if (v.is_sparse_tensor()) {
    onnx::SparseTensorProto p;
    loader::write_tensor(v.sparse_tensor().values, *p.mutable_values());
    loader::write_tensor(v.sparse_tensor().indices, *p.mutable_indices());
    for (int64_t e : v.sparse_tensor().extents) p.add_dims(e);
    write_message(file, p);
  } else {
    write_pb(file, v);
  }
}

void set_type(onnx::TypeProto& p, Type t) {
  const auto element = static_cast<int>(t.element);
  switch (t.kind) {
    case Kind::tensor: return p.mutable_tensor_type()->set_elem_type(element);
    case Kind::sparse_tensor: return p.mutable_sparse_tensor_type()->set_elem_type(element);
    case Kind::sequence: return set_type(*p.mutable_sequence_type()->mutable_elem_type(), t.element);
    case Kind::optional: return set_type(*p.mutable_optional_type()->mutable_elem_type(), t.element);
    case Kind::map:
      p.mutable_map_type()->set_key_type(static_cast<int>(t.key));
      return set_type(*p.mutable_map_type()->mutable_value_type(), t.element);
    default: FAIL("no type for ", to_string(t));
  }
}

/// What the tool says of a case whose model gives its inputs back.
std::string outcome(const std::vector<Value>& actual, const std::vector<Value>& expected,
                    const std::string& data_json = "") {
  const char* scratch = std::getenv("TEST_TMPDIR");
  const fs::path folder = fs::path(scratch ? scratch : "/tmp") / "tenon_test_case",
                 set = folder / "test_data_set_0";
  fs::remove_all(folder);
  fs::create_directories(set);
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  model.mutable_graph()->set_name("through");
  for (std::size_t k = 0; k < actual.size(); ++k) {
    auto* x = model.mutable_graph()->add_input();
    x->set_name(str_cat("x", k));
    set_type(*x->mutable_type(), actual[k].type());
    *model.mutable_graph()->add_output() = *x;
    write_value(set / str_cat("input_", k, ".pb"), actual[k]);
    write_value(set / str_cat("output_", k, ".pb"), expected[k]);
  }
  write_message(folder / "model.onnx", model);
  if (!data_json.empty()) std::ofstream(folder / "data.json") << data_json;
  std::FILE* tool = popen(str_cat("loader/tenon test ", folder.string()).c_str(), "r");
  REQUIRE(tool != nullptr);
  std::string said;
  for (int c; (c = std::fgetc(tool)) != EOF;) said += static_cast<char>(c);
  const int code = pclose(tool);
  CHECK((code == 0) == (said == "1 passed, 0 failed\n"));
  return said;
}

void check_passes(const Value& actual, const Value& expected) {
  CHECK(outcome({actual}, {expected}) == "1 passed, 0 failed\n");
}
void check_fails(const Value& actual, const Value& expected, std::string_view difference) {
  const std::string said = outcome({actual}, {expected});
  CHECK_MESSAGE(
      said.find(str_cat(": output 'x0': ", difference, "\n0 passed, 1 failed\n")) != std::string::npos, said);
}

Value real(float x) { return Tensor<float>({}, {x}); }

}  // namespace

TEST_CASE("tenon test sees a wrong element") {
  const auto words = [](auto one, auto other) {
    return str_cat("1 of 2 elements differ, first at (1): ", one, " instead of ", other);
  };
  const Tensor<int32_t> a({2}, {1, 2147483647}), b({2}, {1, 2147483000});
  check_passes(a, a);
  check_fails(a, b, words("2147483647", "2147483000"));
  check_fails(Tensor<uint8_t>({2}, {0, 254}), Tensor<uint8_t>({2}, {0, 255}), words("254", "255"));
  check_fails(Tensor<bool>({2}, {true, false}), Tensor<bool>({2}, {true, true}), words("False", "True"));
  check_fails(Tensor<std::string>({2}, {"a", "b"}), Tensor<std::string>({2}, {"a", "c"}),
              words("\"b\"", "\"c\""));
  const Tensor<complex64> c({2}, {{1, 2}, {3, 4}});
  check_passes(c, c);
  check_fails(Tensor<complex64>({2}, {{1, 2}, {4, 4}}), c, words("(4+4j)", "(3+4j)"));
  check_fails(Tensor<complex64>({2}, {{1, 2}, {3, 5}}), c, words("(3+5j)", "(3+4j)"));
  check_fails(Tensor<float>({2}, {1, 3e38f}), Tensor<float>({2}, {1, INFINITY}), words("3e+38", "inf"));
  check_fails(a, Tensor<int32_t>({2, 1}, {1, 2147483647}), "extents (2) instead of (2,1)");
  check_fails(a, Tensor<uint32_t>({2}, {1, 2147483647}), "tensor(int32) instead of tensor(uint32)");
}

TEST_CASE("tenon test sees what differs in other values than tensors") {
  const Value s = Sequence{DType::float32, {real(1), real(2)}}, none = Sequence{DType::float32, {}};
  check_passes(s, s);
  check_passes(none, none);
  check_fails(s, Sequence{DType::float32, {real(1), real(3)}},
              "item 1: 1 of 1 elements differ, first at (): 2.0 instead of 3.0");
  check_fails(s, none, "2 items instead of 0");

  const auto optional = [](std::shared_ptr<const Value> v) {
    return Value(OptionalValue{DType::float32, v});
  };
  const Value some = optional(std::make_shared<const Value>(real(1)));
  check_passes(some, some);
  check_passes(optional(nullptr), optional(nullptr));
  check_fails(some, optional(nullptr), "a value instead of none");
  check_fails(some, optional(std::make_shared<const Value>(real(2))),
              "1 of 1 elements differ, first at (): 1.0 instead of 2.0");

  const auto map = [](int64_t key, float value) {
    return Value(Map{Tensor<int64_t>({2}, {1, key}), Tensor<float>({2}, {10, value})});
  };
  check_passes(map(2, 20), map(2, 20));
  check_fails(map(2, 20), map(2, 21), "entry for 2: 20.0 instead of 21.0");
  check_fails(map(2, 20), map(3, 20), "no entry for 3");

  const auto sparse = [](int64_t index, float value) {
    return Value(SparseTensor{Tensor<float>({1}, {value}), Tensor<int64_t>({1}, {index}), {2, 3}});
  };
  check_passes(sparse(4, 1), sparse(4, 1));
  check_fails(sparse(4, 1), sparse(5, 1), "offsets: 1 of 1 elements differ, first at (0): 4 instead of 5");
  check_fails(sparse(4, 1), sparse(4, 2), "values: 1 of 1 elements differ, first at (0): 1.0 instead of 2.0");
}

TEST_CASE("tenon test holds each output to the tolerance of data.json") {
  struct Row {
    std::string data_json;
    float first, second;  // instead of 1
    std::string wrong;    // the output that differs
  } rows[] = {
      {"", 1.0009f, 1.0009f, ""},
      {"", 1.0011f, 1, "x0"},
      {R"({"rtol": 0.01})", 1.009f, 1.009f, ""},
      {R"({"rtol": 0, "atol": 0})", 1, 1.0000002f, "x1"},
      {R"({"atol":0.5, "model_name": "m"})", 1.4f, 1.6f, "x1"},
      {R"({"rtol": 0, "atol": 0, "outputs": [{"rtol": 1e-2, "atol": 0}, {"rtol": 0, "atol": 0.25}]})", 1.009f,
       1.2f, ""},
      {R"({"rtol": 9, "outputs": [{"rtol": 0.1}, {"rtol": 0, "atol": 0}]})", 1.05f, 1.05f, "x1"},
      {R"({"outputs": [{"rtol": 0.1}], "rtol": 0.3})", 1.05f, 1.25f, ""},
      {R"({"outputs": [{"rtol": 0.1}], "rtol": 0.3})", 1.2f, 1, "x0"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.data_json);
    const std::string said = outcome({real(row.first), real(row.second)}, {real(1), real(1)}, row.data_json);
    if (row.wrong.empty()) CHECK(said == "1 passed, 0 failed\n");
    else CHECK_MESSAGE(said.find(str_cat("output '", row.wrong, "': ")) != std::string::npos, said);
  }
  CHECK(outcome({real(1)}, {real(1)}, R"({"rtol": "x"})").find("\"rtol\" is no number") != std::string::npos);
}
}  // namespace tenon
