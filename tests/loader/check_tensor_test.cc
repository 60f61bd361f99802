// The checker: rules of tensors and of their data.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/loader/check_models.hpp"

namespace tenon {
namespace {

using namespace check_models;

TEST_CASE("Check: tensors") {
  const auto found = [](const std::function<void(TensorProto&)>& change, int64_t ir = 13) {
    TensorProto t = floats("t", {1, 2, 3});
    change(t);
    return rules(check(t, {}, {.ir_version = ir}));
  };
  const auto stored = [&](TensorProto::DataType type, int64_t count, std::size_t bytes, int numbers) {
    return found([&](TensorProto& t) {
      t.Clear();
      t.set_data_type(type);
      t.add_dims(count);
      if (bytes > 0) t.set_raw_data(std::string(bytes, '\0'));
      for (int k = 0; k < numbers; ++k) t.add_int32_data(0);
    });
  };
  CHECK(found([](auto&) {}) == "");
  CHECK(found([](auto& t) { t.clear_data_type(); }) == "element-type");
  CHECK(found([](auto& t) { t.set_data_type(40); }) == "element-type");
  CHECK(found([](auto& t) { t.set_dims(0, -3); }) == "extents");
  CHECK(found([](auto& t) { t.add_dims(int64_t{1} << 62), t.add_dims(int64_t{1} << 62); }) == "extents");
  CHECK(found([](auto& t) { t.add_dims(int64_t{1} << 62), t.add_dims(0); }) ==
        "tensor-data");  // none, but data
  CHECK(found([](auto& t) { t.set_dims(0, 0); }) == "tensor-data");
  CHECK(found([](auto& t) { t.set_dims(0, 0), t.clear_float_data(); }) == "");
  CHECK(found([](auto& t) { t.clear_float_data(); }) == "tensor-data");
  CHECK(found([](auto& t) { t.add_int32_data(1); }) == "tensor-data");
  CHECK(found([](auto& t) { t.set_data_type(TensorProto::INT64); }) == "tensor-data");
  CHECK(found([](auto& t) { t.set_dims(0, 4); }) == "tensor-data");
  CHECK(found([](auto& t) { t.set_dims(0, 2); }) == "(tensor-data)");
  CHECK(found([](auto& t) { t.set_data_type(TensorProto::COMPLEX64); }) == "tensor-data");
  CHECK(found([](auto& t) {
          t.set_data_type(TensorProto::COMPLEX64), t.set_dims(0, 1), t.mutable_float_data()->RemoveLast();
        }) == "");
  CHECK(found([](auto& t) { t.Clear(), t.set_data_type(TensorProto::STRING), t.set_raw_data("abc"); }) ==
        "tensor-data");
  CHECK(stored(TensorProto::DOUBLE, 3, 24, 0) == "");
  CHECK(stored(TensorProto::DOUBLE, 3, 23, 0) == "tensor-data");
  CHECK(stored(TensorProto::DOUBLE, int64_t{1} << 61, 24, 0) == "extents");
  CHECK(stored(TensorProto::INT4, 3, 2, 0) == "");
  CHECK(stored(TensorProto::INT4, 3, 1, 0) == "tensor-data");
  const auto packed = [&](TensorProto::DataType type, int64_t count, const char* raw) {
    return found(
        [&](TensorProto& t) { t.Clear(), t.set_data_type(type), t.add_dims(count), t.set_raw_data(raw); });
  };
  CHECK(packed(TensorProto::INT4, 3, "\x21\x0f") == "");
  CHECK(packed(TensorProto::INT4, 3, "\x21\x1f") == "(tensor-data)");
  CHECK(packed(TensorProto::UINT2, 3, "\x3f") == "");
  CHECK(packed(TensorProto::UINT2, 3, "\x7f") == "(tensor-data)");
  CHECK(stored(TensorProto::UINT2, 5, 2, 0) == "");
  CHECK(stored(TensorProto::UINT2, 5, 1, 0) == "tensor-data");
  CHECK(stored(TensorProto::INT4, 9, 0, 5) == "");               // a byte in each number
  CHECK(stored(TensorProto::INT4, 9, 0, 2) == "(tensor-data)");  // four of them
  CHECK(stored(TensorProto::INT4, 9, 0, 1) == "tensor-data");
  CHECK(stored(TensorProto::FLOAT8E5M2, 2, 0, 2) == "");
  CHECK(stored(TensorProto::FLOAT8E5M2, 2, 0, 1) == "tensor-data");
  CHECK(stored(TensorProto::INT4, 0, 0, 0) == "");
  CHECK(stored(TensorProto::UINT2, 0, 0, 0) == "");
  CHECK(stored(TensorProto::UINT8, 0, 0, 0) == "");
  // Each field of fewer numbers than the extents want, and of as many.
  const auto numbers = [&](TensorProto::DataType type, int64_t extent, int count) {
    return found([&](TensorProto& t) {
      t.Clear();
      t.set_data_type(type);
      t.add_dims(extent);
      for (int k = 0; k < count; ++k) switch (type) {
          case TensorProto::DOUBLE:
          case TensorProto::COMPLEX128: t.add_double_data(0); break;
          case TensorProto::COMPLEX64: t.add_float_data(0); break;
          case TensorProto::INT64: t.add_int64_data(0); break;
          case TensorProto::STRING: t.add_string_data("s"); break;
          case TensorProto::UINT32:
          case TensorProto::UINT64: t.add_uint64_data(0); break;
          default: t.add_int32_data(0);
        }
    });
  };
  for (const auto& [type, each] : {std::pair(TensorProto::DOUBLE, 1),
                                   {TensorProto::COMPLEX64, 2},
                                   {TensorProto::COMPLEX128, 2},
                                   {TensorProto::INT64, 1},
                                   {TensorProto::UINT32, 1},
                                   {TensorProto::UINT64, 1},
                                   {TensorProto::STRING, 1},
                                   {TensorProto::INT8, 1},
                                   {TensorProto::BOOL, 1},
                                   {TensorProto::FLOAT16, 1}}) {
    CAPTURE(type);
    CHECK(numbers(type, 3, 3 * each) == "");
    CHECK(numbers(type, 3, 3 * each - 1) == "tensor-data");
  }
  CHECK(found(
            [](auto& t) {
              t.set_data_type(TensorProto::BFLOAT16), t.clear_float_data(), t.set_raw_data("123456");
            },
            3) == "element-type");
}

TEST_CASE("Check: external data") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / str_cat("tenon_check_", ::getpid());
  std::filesystem::create_directories(folder / "sub");
  std::ofstream(folder / "sub/w.bin") << std::string(16, 'w');
  std::filesystem::create_symlink("sub/w.bin", folder / "link");
  const auto found = [&](std::initializer_list<std::pair<const char*, const char*>> entries,
                         bool known = true) {
    TensorProto t;
    t.set_name("w");
    t.set_data_type(TensorProto::FLOAT);
    t.add_dims(3);
    t.set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, text] : entries) {
      auto* e = t.add_external_data();
      e->set_key(key);
      e->set_value(text);
    }
    CheckOptions options;
    if (known) options.folder = folder;
    return rules(check(t, options));
  };
  const std::string refused = "external-data";
  CHECK(found({{"location", "sub/w.bin"}}) == "");
  CHECK(found({{"location", "sub/w.bin"}, {"offset", "4"}, {"length", "12"}}) == "");
  CHECK(found({{"location", "sub/w.bin"}, {"offset", "8"}}) == refused);
  CHECK(found({{"location", "sub/w.bin"}, {"length", "8"}}) == refused);
  CHECK(found({{"location", "sub/w.bin"}, {"offset", "-4"}}) == refused);
  CHECK(found({{"location", "sub/w.bin"}, {"offset", "four"}}) == refused);
  CHECK(found({{"location", "sub/w.bin"}, {"color", "red"}}) == refused);
  CHECK(found({{"location", "none"}}) == refused);
  CHECK(found({{"location", "none"}}, false) == "");
  CHECK(found({{"location", "sub"}}) == refused);
  CHECK(found({{"location", "link"}}) == refused);
  for (const bool known : {false, true}) {
    CHECK(found({}, known) == refused);
    CHECK(found({{"location", ""}}, known) == refused);
    CHECK(found({{"location", "/etc/passwd"}}, known) == refused);
    CHECK(found({{"location", "sub/../../w.bin"}}, known) == refused);
  }
  std::filesystem::remove_all(folder);

  TensorProto both = floats("w", {1});
  both.set_data_location(TensorProto::EXTERNAL);
  both.add_external_data()->set_key("location");
  both.mutable_external_data(0)->set_value("w.bin");
  CHECK(rules(check(both)) == refused);

  // Inference goes by the type of data that it does not read.
  onnx::ModelProto m = model();
  both.clear_float_data();
  both.set_dims(0, 2);
  *graph(m).add_initializer() = both;
  first(m) = node("Add", {"x", "w"}, {"y"});
  CHECK(rules(check(m, {.full = true})) == "");
  m.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  CHECK(rules(check(m, {.full = true})) == "inference");
  *graph(m).add_node() = first(m);
  first(m) = node("Constant", {}, {"w"});
  *first(m).add_attribute() = attribute("value", AttributeProto::TENSOR);
  *first(m).mutable_attribute(0)->mutable_t() = both;
  graph(m).clear_initializer();
  CHECK(rules(check(m, {.full = true})) == "");
}

TEST_CASE("Check: sparse tensors") {
  onnx::SparseTensorProto sound;
  *sound.mutable_values() = floats("s", {1, 2});
  auto* indices = sound.mutable_indices();
  indices->set_data_type(TensorProto::INT64);
  indices->add_dims(2);
  indices->add_int64_data(1);
  indices->add_int64_data(5);
  sound.add_dims(2);
  sound.add_dims(3);
  const auto found = [&](const std::function<void(onnx::SparseTensorProto&)>& change) {
    onnx::SparseTensorProto s = sound;
    change(s);
    return rules(check(s));
  };
  const std::string refused = "sparse-tensor";
  CHECK(found([](auto&) {}) == "");
  CHECK(found([](auto& s) { s.clear_values(); }) == refused);
  CHECK(found([](auto& s) { s.clear_dims(); }) == refused);
  CHECK(found([](auto& s) { s.set_dims(0, 0); }) == refused);
  CHECK(found([](auto& s) { s.clear_indices(); }) == refused);
  CHECK(found([](auto& s) { s.mutable_values()->add_dims(1); }) == refused);
  CHECK(found([](auto& s) { s.mutable_indices()->set_int64_data(1, 6); }) == refused);
  CHECK(found([](auto& s) { s.mutable_indices()->set_int64_data(0, 5); }) == refused);
  CHECK(found([](auto& s) { s.mutable_indices()->set_int64_data(0, -1); }) == refused);
  CHECK(found([](auto& s) { s.mutable_indices()->set_dims(0, 3); }).starts_with("tensor-data"));
  CHECK(found([](auto& s) { s.mutable_indices()->add_int64_data(5); }).ends_with(refused));
  CHECK(found([](auto& s) { s.mutable_indices()->set_data_type(TensorProto::INT32); }).ends_with(refused));
  const auto pairs = [&](std::initializer_list<int64_t> numbers, int64_t each = 2) {
    return found([&](auto& s) {
      s.mutable_indices()->clear_int64_data();
      s.mutable_indices()->add_dims(each);
      for (int64_t i : numbers) s.mutable_indices()->add_int64_data(i);
    });
  };
  CHECK(pairs({0, 1, 1, 2}) == "");
  CHECK(pairs({0, 1, 0, 3}) == refused);
  CHECK(pairs({1, 0, 0, 1}) == refused);
  CHECK(pairs({0, 1, 2, 0, 1, 2}, 3) == refused);
  CHECK(found([](auto& s) { s.set_dims(0, int64_t{1} << 62), s.set_dims(1, int64_t{1} << 62); }) ==
        "extents");

  onnx::ModelProto m = model();
  *graph(m).add_sparse_initializer() = sound;
  CHECK(rules(check(m)) == "");
  *graph(m).add_initializer() = floats("s", {1});
  CHECK(rules(check(m)) == "initializer");
  m.mutable_graph()->clear_initializer();
  m.mutable_graph()->mutable_sparse_initializer(0)->mutable_values()->clear_name();
  CHECK(rules(check(m)) == "required");

  // An operand of an unknown operator.
  m = model();
  import(m, "own", 1);
  *graph(m).add_node() = node("Product", {"x"}, {"z"}, "own");
  AttributeProto& a = *graph(m).mutable_node(1)->add_attribute();
  a = attribute("w", AttributeProto::SPARSE_TENSOR);
  *a.mutable_sparse_tensor() = sound;
  CHECK(rules(check(m)) == "");
  a.mutable_sparse_tensor()->mutable_indices()->set_int64_data(1, 6);
  CHECK(rules(check(m)) == refused);
}

}  // namespace
}  // namespace tenon
