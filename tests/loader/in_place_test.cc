// Constants that are read, packed or copied where they lie in a model's file, at any address.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

void add_floats(onnx::GraphProto& g, const std::string& name, std::initializer_list<int64_t> extents) {
  std::mt19937 random(static_cast<unsigned>(name.size() + name[0]));
  std::uniform_real_distribution<float> draw(0.01f, 0.1f);
  auto* t = g.add_initializer();
  t->set_name(name);
  t->set_data_type(onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (int64_t e : extents) t->add_dims(e), count *= e;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = draw(random);
  t->set_raw_data(numbers.data(), numbers.size() * sizeof(float));
}
onnx::NodeProto* add_node(onnx::GraphProto& g, const char* op, std::initializer_list<const char*> inputs,
                          const char* output) {
  auto* n = g.add_node();
  n->set_op_type(op);
  for (const char* i : inputs) n->add_input(i);
  n->add_output(output);
  return n;
}
void add_input(onnx::GraphProto& g, const char* name, onnx::TensorProto::DataType type, int rank) {
  auto* i = g.add_input();
  i->set_name(name);
  auto* t = i->mutable_type()->mutable_tensor_type();
  t->set_elem_type(type);
  for (int k = 0; k < rank; ++k) t->mutable_shape()->add_dim();
}

/// Rows of a table times three matrices, and two convolutions. `shift` moves the constants in the file.
onnx::ModelProto model(std::size_t shift) {
  onnx::ModelProto m;
  m.set_ir_version(10);
  m.add_opset_import()->set_version(21);
  auto& g = *m.mutable_graph();
  g.set_name(std::string(shift + 1, 'g'));
  add_floats(g, "table", {200, 128});
  add_floats(g, "w1", {128, 640});
  add_floats(g, "bias", {640});
  add_floats(g, "w2", {160, 640});
  add_floats(g, "w3", {160, 128});
  add_floats(g, "w4", {130, 160});
  add_floats(g, "k1", {64, 32, 3, 3});
  add_floats(g, "k2", {256, 64, 1, 1});
  for (const char* name : {"s", "b", "m", "v"}) add_floats(g, name, {64});
  add_input(g, "rows", onnx::TensorProto::INT64, 1);
  add_input(g, "image", onnx::TensorProto::FLOAT, 4);
  g.mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(
      32);
  add_node(g, "Gather", {"table", "rows"}, "e");
  add_node(g, "MatMul", {"e", "w1"}, "h0");
  add_node(g, "Add", {"h0", "bias"}, "h");
  auto* a = add_node(g, "Gemm", {"h", "w2"}, "p")->add_attribute();
  a->set_name("transB"), a->set_type(onnx::AttributeProto::INT), a->set_i(1);
  add_node(g, "MatMul", {"p", "w3"}, "y");
  add_node(g, "Mul", {"w4", "w4"}, "z");  // computed when the session is made
  add_node(g, "Conv", {"image", "k1"}, "c0");
  add_node(g, "BatchNormalization", {"c0", "s", "b", "m", "v"}, "c1");
  add_node(g, "Relu", {"c1"}, "c2");
  add_node(g, "Conv", {"c2", "k2"}, "c");
  for (const char* name : {"y", "z", "c"}) g.add_output()->set_name(name);
  return m;
}

void check_near(const Value& a, const Value& b) {
  const auto x = a.view<float>(), y = b.view<float>();
  REQUIRE(x.size() == y.size());
  double worst = 0;
  for (int64_t k = 0; k < x.size(); ++k)
    worst =
        std::max(worst, std::abs(double{x.data()[k]} - y.data()[k]) / (1 + std::abs(double{y.data()[k]})));
  CHECK(worst < 1e-5);
}
bool same_bytes(const Value& a, const Value& b) {
  const AnyTensor &x = a.tensor(), &y = b.tensor();
  return x.bytes() == y.bytes() && std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0;
}

TEST_CASE("constants at any address of a file") {
  char name[] = "/tmp/tenon_in_place_XXXXXX";
  const fs::path folder = ::mkdtemp(name);
  Tensor<float> image(Extents{1, 32, 12, 12});
  for (int64_t k = 0; k < image.size(); ++k) image[k] = static_cast<float>(k % 17) / 8 - 1;
  const Tensor<int64_t> one(Extents{1}, {5}), some(Extents{7}, {0, 199, 7, 7, 3, 100, -1});
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::string bytes = model(shift).SerializeAsString();
    std::ofstream(folder / "m.onnx", std::ios::binary) << bytes;
    const Session plain(
        parse_model({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}).graph());
    for (const int threads : {1, 2}) {
      const Session session = load(folder / "m.onnx", {.threads = threads});
      const auto run = [&](const Session& s, const Tensor<int64_t>& rows) {
        return s.run({{"rows", rows}, {"image", image}});
      };
      Outputs few = run(session, one), many = run(session, some);
      Outputs few_plain = run(plain, one), many_plain = run(plain, some);
      for (const char* output : {"y", "z", "c"}) {
        check_near(few[output], few_plain[output]);
        check_near(many[output], many_plain[output]);
      }
      // Matrices are copied and packed on the way; the results keep their bits.
      for (int k = 0; k < 12; ++k) {
        CHECK(same_bytes(run(session, one)["y"], few["y"]));
        CHECK(same_bytes(run(session, some)["y"], many["y"]));
      }
    }
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tenon
