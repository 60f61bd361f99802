// Copies of models without the data of large tensors: what they hold, and how little memory rewriting takes.
#include "loader/format/large_data.hpp"

#include <doctest/doctest.h>
#include <malloc.h>

#include <atomic>

#include "loader/check/check.hpp"
#include "loader/convert/convert.hpp"
#include "loader/function/inline.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "tenon/loader.hpp"
#include "tests/heap.hpp"
#include "tests/loader/refusal.hpp"

namespace {

std::atomic<int64_t> in_use{0}, most_in_use{0};

}  // namespace

void* tenon::heap::take(std::size_t bytes, std::size_t alignment) noexcept {
  void* const p = allocate(bytes, alignment);
  if (p == nullptr) return p;
  const int64_t now = in_use += static_cast<int64_t>(::malloc_usable_size(p));
  if (now > most_in_use) most_in_use = now;
  return p;
}
void tenon::heap::give(void* p) noexcept {
  in_use -= static_cast<int64_t>(::malloc_usable_size(p));
  std::free(p);
}

namespace tenon {
namespace {

using loader::LargeData;

void set_raw(onnx::TensorProto& t, DType type, int64_t elements, char byte) {
  t.set_data_type(static_cast<int32_t>(type));
  t.clear_dims(), t.clear_float_data(), t.clear_int64_data();
  t.add_dims(elements);
  t.set_raw_data(std::string(static_cast<std::size_t>(packed_bytes(elements, type)), byte));
}

// Weights in raw data and in float_data, and in a Constant of a body.
onnx::ModelProto model_with(int64_t elements) {
  auto m = loader::parse_text<onnx::ModelProto>(R"(
    <ir_version: 10, opset_import: ["" : 20]>
    g (float[N] x, bool c) => (float[N] y, float[N] s) <float[1] w = {1}, float[1] v = {2}, float[1] small = {3}> {
      a = Mul (x, small)
      b = If (c) <then_branch = t () => (float[N] r) { k = Constant <value = float[1] {4}> () r = Add (a, k) },
                  else_branch = e () => (float[N] r) { r = Add (a, w) }>
      y = Add (b, v)
      s = Softsign (y)
    })");
  auto& g = *m.mutable_graph();
  set_raw(*g.mutable_initializer(0), DType::float32, elements, 1);
  onnx::TensorProto& v = *g.mutable_initializer(1);
  v.clear_raw_data();
  v.clear_float_data();
  v.set_dims(0, elements);
  for (int64_t k = 0; k < elements; ++k) v.add_float_data(static_cast<float>(k));
  set_raw(*g.mutable_node(1)
               ->mutable_attribute(0)
               ->mutable_g()
               ->mutable_node(0)
               ->mutable_attribute(0)
               ->mutable_t(),
          DType::float32, elements, 2);
  return m;
}

TEST_CASE("large tensors have much data, of the size that their extents want") {
  onnx::TensorProto t;
  CHECK_FALSE(loader::is_large(t));
  set_raw(t, DType::float32, 16 << 10, 0);
  CHECK(loader::is_large(t));
  set_raw(t, DType::float32, (16 << 10) - 1, 0);
  CHECK_FALSE(loader::is_large(t));
  set_raw(t, DType::int4, 128 << 10, 0);
  CHECK(loader::is_large(t));
  t.set_dims(0, (128 << 10) + 2);
  CHECK_FALSE(loader::is_large(t));
  set_raw(t, DType::float32, 16 << 10, 0);
  t.add_int32_data(1);
  CHECK_FALSE(loader::is_large(t));
}

TEST_CASE("large tensors leave a message and come back as they were") {
  onnx::ModelProto m = model_with(32 << 10);
  const std::string before = m.SerializeAsString();
  {
    const LargeData data(m);
    CHECK(m.ByteSizeLong() < 2048);
    CHECK(data.whole(m.graph().initializer(0)).raw_data().size() == 128 << 10);
    CHECK(data.whole(m.graph().initializer(2)).name() == "small");
    CHECK_FALSE(has_errors(loader::check(m)));
  }
  CHECK(m.SerializeAsString() == before);

  LargeData data(m);
  onnx::ModelProto copy = m;
  auto& list = *copy.mutable_graph()->mutable_initializer();
  *list.Add() = list[0];
  list[0].set_name("other");
  list[1].clear_name();
  data.put_into(copy);
  CHECK(list[0].name() == "other");
  CHECK_FALSE(list[1].has_name());
  CHECK(list[1].float_data_size() == 32 << 10);
  CHECK(list[3].name() == "w");
  CHECK(list[3].raw_data() == list[0].raw_data());
  CHECK(list[0].raw_data() == std::string(128 << 10, 1));

  // Another's data may be out as well, and files may have such entries.
  auto& entry = *copy.mutable_graph()->mutable_initializer(2)->add_external_data();
  entry.set_key(std::string("\0mapped", 7));
  entry.set_value("0:0");
  const std::string whole = copy.SerializeAsString();
  {
    const LargeData outer(copy, LargeData::Of::initializers);
    const std::string part = copy.SerializeAsString();
    {
      const LargeData inner(copy);
      CHECK(copy.ByteSizeLong() < 2048);
    }
    CHECK(copy.SerializeAsString() == part);
  }
  CHECK(copy.SerializeAsString() == whole);
}

TEST_CASE("initializers alone") {
  onnx::ModelProto m = model_with(32 << 10);
  const LargeData data(m, LargeData::Of::initializers);
  CHECK(m.graph().ByteSizeLong() > 128 << 10);
  CHECK(m.graph().ByteSizeLong() < 256 << 10);
}

// The memory that a call takes at most, in bytes.
template <class Call>
int64_t memory_of(Call call) {
  const int64_t before = in_use;
  most_in_use = before;
  call();
  return most_in_use - before;
}

TEST_CASE("rewriting takes no memory for weights") {
  constexpr int64_t elements = 2 << 20;  // 8 MiB in each of three tensors
  const auto check_all = [](int64_t size) {
    Model m(model_with(size));
    const std::string bytes = m.proto().SerializeAsString();
    const int64_t conversion = memory_of([&] {
      convert_opset(m, 21);
      convert_opset(m, 20);
    });
    CHECK(m.proto().SerializeAsString() == bytes);
    const int64_t version = memory_of([&] { convert_ir_version(m, 8); });
    const int64_t checks = memory_of([&] { CHECK_FALSE(has_errors(check(m, {.full = true}))); });
    const int64_t inlining =
        memory_of([&] { loader::inline_functions(m.proto(), {.schema_functions = true}); });
    const int64_t inference = memory_of([&] { infer_shapes(m); });
    CHECK(m.proto().graph().node_size() > 4);
    return std::max({conversion, version, checks, inlining, inference});
  };
  check_all(1);  // tables that are made once
  CHECK(check_all(elements) < 4 << 20);
}

TEST_CASE("a refused conversion leaves the model as it was") {
  onnx::ModelProto m = model_with(32 << 10);
  m.mutable_graph()->mutable_node(3)->set_op_type("Gelu");
  const std::string before = m.SerializeAsString();
  CHECK(holds(refusal([&] { loader::convert_opset(m, 19); }), "(Gelu)"));
  CHECK(m.SerializeAsString() == before);
}

TEST_CASE("large constants are read where a conversion needs their values") {
  // Before opset 11 an index below 0 sets nothing, so that indices below 0 become more nodes.
  for (const char byte : {0, -1}) {
    auto m = loader::parse_text<onnx::ModelProto>(R"(
      <ir_version: 8, opset_import: ["" : 11]>
      g (float[2] values) => (float[N, 3] y) <int64[1] i = {0}, int64[1] d = {3}> { y = OneHot (i, d, values) })");
    set_raw(*m.mutable_graph()->mutable_initializer(0), DType::int64, 16 << 10, byte);
    loader::convert_opset(m, 10);
    CHECK((m.graph().node_size() == 1) == (byte == 0));
    CHECK(m.graph().initializer(0).raw_data().size() == 128 << 10);
  }
}

}  // namespace
}  // namespace tenon
