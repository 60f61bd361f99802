// Values of all kinds: in and out of graphs, as files, as text.
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>

#include "loader/message.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/framework/call.hpp"
#include "tenon/tensor/difference.hpp"
#include "tenon/tensor/print.hpp"

namespace tenon {
namespace {

Tensor<float> floats(std::initializer_list<float> v) {
  return Tensor<float>(Extents{static_cast<int64_t>(v.size())}, v);
}
Tensor<int64_t> integers(std::initializer_list<int64_t> v) {
  return Tensor<int64_t>(Extents{static_cast<int64_t>(v.size())}, v);
}
Map scores() { return {Tensor<std::string>(Extents{2}, {"a", "b"}), floats({1, 2})}; }
Map counts() { return {integers({7, -3}), integers({1, 2})}; }
Value some(Value v) {
  const Type type = v.type();
  return OptionalValue{type, std::make_shared<const Value>(std::move(v))};
}

TEST_CASE("a value written and read is the same") {
  const Sequence tensors{DType::float32, {floats({1}), floats({2, 3})}};
  const Sequence maps{{Kind::map, DType::float32, DType::string}, {scores(), scores()}};
  const SparseTensor offsets{floats({5, 6}), integers({1, 4}), {2, 3}};
  const SparseTensor coordinates{floats({5, 6}), Tensor<int64_t>(Extents{2, 2}, {0, 1, 1, 1}), {2, 3}};
  const Value values[] = {floats({1, 2}),
                          tensors,
                          Sequence{DType::float32, {}},
                          maps,
                          scores(),
                          counts(),
                          Map{integers({}), floats({})},
                          some(floats({4})),
                          some(tensors),
                          OptionalValue{DType::float32, nullptr},
                          offsets,
                          coordinates};
  const auto file = std::filesystem::temp_directory_path() / str_cat("tenon_value_", getpid(), ".pb");
  for (const Value& v : values) {
    INFO(to_string(v));
    write_pb(file, v, "v");
    CHECK(difference(read_pb(file, v.type()), v, {}) == "");
  }
  std::filesystem::remove(file);
  CHECK_THROWS_WITH_AS(write_pb(file, Opaque{"local", "Box", nullptr}), doctest::Contains("opaque"), Error);
}

// An operator of one's own that takes what ONNX's take not: a sparse tensor, and a value of its own type.
template <bool Dense>
struct Count {
  static constexpr op::Spec spec{
      .name = Dense ? "CountStored" : "CountSparse",
      .domain = "local",
      .since = {1},
      .inputs = {{"x", "T"}},
      .outputs = {{"n", "I"}},
      .types = {{"T", Dense ? sparse(types::float32) | types::float32 : sparse(types::float32)},
                {"I", types::int64}}};
  static constexpr op::Attributes<> attributes{};
  constexpr void infer(op::Infer& i) const { i.out(0, DType::int64, {}); }
  Value compute(const Value& x) const {
    Tensor<int64_t> n(Extents{});
    n[0] = x.is_sparse_tensor() ? x.sparse_tensor().values.size() : -1;
    return n;
  }
};
using CountStored = Count<true>;
using CountSparse = Count<false>;
struct Pack {
  static constexpr op::Spec spec{.name = "Pack",
                                 .domain = "local",
                                 .since = {1},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"box", "B"}},
                                 .types = {{"T", types::float32}, {"B", opaque()}}};
  static constexpr op::Attributes<> attributes{};
  constexpr void infer(op::Infer& i) const { i.out(0).type = Type(Kind::opaque, DType::undefined); }
  Value compute(TensorView<const float> x) const {
    return Opaque{"local", "Box", std::make_shared<const AnyTensor>(AnyTensor::copy_of(x))};
  }
};
struct Unpack {
  static constexpr op::Spec spec{.name = "Unpack",
                                 .domain = "local",
                                 .since = {1},
                                 .inputs = {{"box", "B"}},
                                 .outputs = {{"x", "T"}},
                                 .types = {{"T", types::float32}, {"B", opaque()}}};
  static constexpr op::Attributes<> attributes{};
  constexpr void infer(op::Infer& i) const { i.out(0).type = DType::float32; }
  Value compute(const Value& box) const { return *static_cast<const AnyTensor*>(box.opaque().value.get()); }
};

Registry own_registry() {
  Registry r = standard_registry();
  r.add<CountStored>();
  r.add<CountSparse>();
  r.add<Pack>();
  r.add<Unpack>();
  return r;
}

TEST_CASE("a sparse constant stays sparse for operators that take it") {
  const Registry registry = own_registry();
  Model m = parse_text(R"(
    <ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    main (bool c) => (int64 n, float[2, 3] y, int64 inner, int64 stored, sparse_tensor(float[2, 3]) w)
    {
      n = local.CountStored (w)
      stored = local.CountSparse (w)
      y = Neg (w)
      inner = If (c) <then_branch = t () => (int64 a) { a = local.CountStored (w) },
                      else_branch = e () => (int64 b) { v = ReduceSum <keepdims = 0> (w)  b = Cast <to = 7> (v) }>
    })");
  auto& s = *m.proto().mutable_graph()->add_sparse_initializer();
  auto& values = *s.mutable_values();
  values.set_name("w");
  values.set_data_type(1);
  values.add_dims(2);
  values.add_float_data(5);
  values.add_float_data(6);
  s.mutable_indices()->set_data_type(7);
  s.mutable_indices()->add_dims(2);
  s.mutable_indices()->add_int64_data(1);
  s.mutable_indices()->add_int64_data(4);
  s.add_dims(2);
  s.add_dims(3);
  for (const Diagnostic& d : check(m, {.registry = &registry, .full = true})) FAIL_CHECK(to_string(d));
  const Session session(m.graph({.registry = &registry}));
  Tensor<bool> c(Extents{});
  for (bool which : {true, false}) {
    c[0] = which;
    Outputs out = session.run({{"c", c}});
    CHECK(out["n"].view<int64_t>()[0] == 2);
    CHECK(out["stored"].view<int64_t>()[0] == 2);
    CHECK(out["y"].view<float>()[4] == -6);
    CHECK(out["inner"].view<int64_t>()[0] == (which ? 2 : 11));
    CHECK(out["w"].is_sparse_tensor());
  }
}

TEST_CASE("a sparse initializer is the value that an input has of its own") {
  const Registry registry = own_registry();
  const auto model = [](const std::string& inputs, int32_t type = 1) {
    Model m = parse_text(str_cat(R"(<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
      main ()",
                                 inputs,
                                 R"() => (int64 n, float[2] y) { n = local.CountStored (w)  y = Neg (x) })"));
    for (const char* name : {"w", "x"}) {
      auto& s = *m.proto().mutable_graph()->add_sparse_initializer();
      auto& values = *s.mutable_values();
      values.set_name(name);
      values.set_data_type(type);
      values.add_dims(1);
      if (type == 1) values.add_float_data(5);
      else values.add_double_data(5);
      s.mutable_indices()->set_data_type(7);
      s.mutable_indices()->add_dims(1);
      s.mutable_indices()->add_int64_data(1);
      s.add_dims(2);
    }
    return m;
  };
  const auto check_runs = [&](Graph g) {
    const Session session(std::move(g));
    Outputs out = session.run({});
    CHECK(out["n"].view<int64_t>()[0] == 1);
    CHECK(out["y"].view<float>()[0] == 0);
    CHECK(out["y"].view<float>()[1] == -5);
    CHECK(session.run({{"x", floats({1, 2})}})["y"].view<float>()[1] == -2);
  };
  const Model m = model("sparse_tensor(float[2]) w, float[N] x");
  CHECK_FALSE(has_errors(check(m)));
  check_runs(m.graph({.registry = &registry}));

  for (const auto& [bad, said] :
       {std::pair{model("sparse_tensor(float[3]) w, float[2] x"), "extents are (2), not the declared ones"},
        {model("sparse_tensor(float[2]) w, float[3] x"), "extents are (2), not the declared ones"},
        {model("sparse_tensor(float[2]) w, float[2] x", 11),
         "sparse_tensor(double), not sparse_tensor(float)"}})
    CHECK_THROWS_WITH_AS(bad.graph({.registry = &registry}), doctest::Contains(said), Error);
  Model twice = m;
  auto& t = *twice.proto().mutable_graph()->add_initializer();
  t.set_name("x");
  t.set_data_type(1);
  CHECK_THROWS_WITH_AS(twice.graph({.registry = &registry}), doctest::Contains("'x' is defined twice"),
                       Error);
}

TEST_CASE("opaque values pass through a graph") {
  const Registry registry = own_registry();
  const Model m = parse_text(R"(
    <ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    main (float[3] x, opaque(local, Box) given) => (float[3] y, opaque(local, Box) box, float[3] z)
    {
      box = local.Pack (x)
      h = local.Unpack (box)
      y = Neg (h)
      z = local.Unpack (given)
    })");
  CHECK_FALSE(has_errors(check(m)));
  const Session session(m.graph({.registry = &registry}));
  const Value given = Opaque{"local", "Box", std::make_shared<const AnyTensor>(floats({7, 8, 9}))};
  Outputs out = session.run({{"x", floats({1, 2, 3})}, {"given", given}});
  CHECK(out["y"].view<float>()[2] == -3);
  CHECK(out["z"].view<float>()[0] == 7);
  CHECK(to_string(out["box"]) == "opaque(local,Box)");
  CHECK_THROWS_AS(session.run({{"x", floats({1, 2, 3})}, {"given", floats({1})}}), Error);
}

}  // namespace
}  // namespace tenon
