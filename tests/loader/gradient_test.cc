// Gradient nodes of files: what their attributes name, and where they stand.
#include <doctest/doctest.h>

#include "loader/message.hpp"
#include "tenon/loader.hpp"

namespace tenon {
namespace {

using Names = std::vector<std::string>;

/// A model over float scalars.
struct Net {
  onnx::ModelProto model;

  explicit Net(const Names& inputs) {
    model.set_ir_version(10);
    import(model.add_opset_import(), "", 21);
    import(model.add_opset_import(), "ai.onnx.preview.training", 1);
    import(model.add_opset_import(), "mine", 1);
    model.mutable_graph()->set_name("g");
    for (const std::string& name : inputs) {
      auto* x = model.mutable_graph()->add_input();
      x->set_name(name);
      x->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
      x->mutable_type()->mutable_tensor_type()->mutable_shape();
    }
  }
  static void import(onnx::OperatorSetIdProto* opset, const char* domain, int version) {
    opset->set_domain(domain);
    opset->set_version(version);
  }
  template <class Place>
  static onnx::NodeProto* node(Place* place, const char* type, const Names& in, const Names& out) {
    auto* n = place->add_node();
    n->set_op_type(type);
    for (const std::string& name : in) n->add_input(name);
    for (const std::string& name : out) n->add_output(name);
    return n;
  }
  onnx::NodeProto* node(const char* type, const Names& in, const Names& out) {
    return node(model.mutable_graph(), type, in, out);
  }
  static void names(onnx::NodeProto* n, const char* attribute, const Names& list) {
    auto* a = n->add_attribute();
    a->set_name(attribute);
    a->set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& name : list) a->add_strings(name);
  }
  template <class Place>
  static void gradient(Place* place, const Names& in, const Names& out, const Names& xs, const char* y,
                       const Names& zs = {}) {
    auto* n = node(place, "Gradient", in, out);
    n->set_domain("ai.onnx.preview.training");
    names(n, "xs", xs);
    if (!zs.empty()) names(n, "zs", zs);
    auto* a = n->add_attribute();
    a->set_name("y");
    a->set_type(onnx::AttributeProto::STRING);
    a->set_s(y);
  }
  void gradient(const Names& in, const Names& out, const Names& xs, const char* y, const Names& zs = {}) {
    gradient(model.mutable_graph(), in, out, xs, y, zs);
  }
  void output(const char* name) { model.mutable_graph()->add_output()->set_name(name); }

  Graph load() const { return Model(model).graph(); }
  float run(const std::vector<std::pair<std::string, float>>& given) const {
    std::vector<Tensor<float>> scalars;
    Feeds feeds;
    for (const auto& [name, number] : given) feeds.emplace_back(name, Tensor<float>(Extents{}, {number}));
    return Session(load()).run(feeds)[std::size_t{0}].view<float>().item();
  }
  void check_refused(std::string_view text) const {
    try {
      load();
      FAIL_CHECK("no error, expected one with '", text, "'");
    } catch (const Error& e) {
      CHECK_MESSAGE(std::string_view(e.what()).find(text) != std::string_view::npos, "'",
                    std::string(e.what()), "' lacks '", text, "'");
    }
  }
};

TEST_CASE("A Gradient stands before the node that makes y; other values take the place of xs and zs") {
  Net net({"a", "b", "p"});
  net.gradient({"p", "b"}, {"d"}, {"a"}, "y", {"b"});
  net.node("Mul", {"square", "b"}, {"y"});
  net.node("Mul", {"a", "a"}, {"square"});
  net.output("d");
  CHECK(net.run({{"a", 2}, {"b", 3}, {"p", 5}}) == 30);
}

TEST_CASE("A Gradient of a Gradient's result; an output without a name is left out") {
  Net net({"a", "b"});
  net.node("Mul", {"a", "a"}, {"square"});
  net.node("Mul", {"square", "b"}, {"y"});
  net.gradient({"b", "a"}, {"", "dy"}, {"b", "a"}, "y");
  net.gradient({"a", "b"}, {"dda"}, {"a"}, "dy", {"b"});
  net.output("dda");
  CHECK(net.run({{"a", 2}, {"b", 3}}) == 6);
}

TEST_CASE("In a function, the attributes name the function's values") {
  Net net({"y"});
  auto* f = net.model.add_functions();
  f->set_domain("mine");
  f->set_name("Slope");
  Net::import(f->add_opset_import(), "", 21);
  Net::import(f->add_opset_import(), "ai.onnx.preview.training", 1);
  f->add_input("a");
  f->add_output("d");
  Net::node(f, "Exp", {"a"}, {"y"});
  Net::gradient(f, {"a"}, {"d"}, {"a"}, "y");
  net.node("Slope", {"y"}, {"d"})->set_domain("mine");
  net.output("d");
  CHECK(net.run({{"y", 1}}) == doctest::Approx(2.718282f));
}

// then: y = h * w, where h = w * w is of the graph around.
Net branches(const Names& xs, const Names& zs) {
  Net net({"w"});
  auto* yes = net.model.mutable_graph()->add_initializer();
  yes->set_name("yes");
  yes->set_data_type(onnx::TensorProto::BOOL);
  yes->add_int32_data(1);
  net.node("Mul", {"w", "w"}, {"h"});
  auto* choice = net.node("If", {"yes"}, {"d"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* a = choice->add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::GRAPH);
    auto* g = a->mutable_g();
    g->set_name(name);
    Net::node(g, "Mul", {"h", "w"}, {"y"});
    Names all = xs;
    all.insert(all.end(), zs.begin(), zs.end());
    Net::gradient(g, all, {"d"}, xs, "y", zs);
    g->add_output()->set_name("d");
  }
  net.output("d");
  return net;
}
TEST_CASE("In a branch, values of the graph around have to be named") {
  CHECK(branches({"w"}, {"h"}).run({{"w", 3}}) == 9);
  branches({"w"}, {}).check_refused("a value of the graph around that neither xs nor zs names");
}

TEST_CASE("What a Gradient may not be") {
  const auto check = [](const Names& in, const Names& out, const Names& xs, const char* y, const char* text) {
    Net net({"a", "b"});
    net.node("Exp", {"a"}, {"y"});
    net.node("Det", {"matrix"}, {"det"});
    net.node("Expand", {"a", "extents"}, {"matrix"});
    auto* extents = net.model.mutable_graph()->add_initializer();
    extents->set_name("extents");
    extents->set_data_type(onnx::TensorProto::INT64);
    extents->add_dims(2);
    for (int k = 0; k < 2; ++k) extents->add_int64_data(2);
    net.gradient(in, out, xs, y);
    net.output("d");
    net.check_refused(text);
  };
  check({"a"}, {"d"}, {"a"}, "", "y names no value");
  check({"a"}, {"d"}, {"a"}, "nowhere", "value 'nowhere' is not defined");
  check({"a"}, {"d"}, {"nowhere"}, "y", "value 'nowhere' is not defined");
  check({"a"}, {"d"}, {"a"}, "d", "is not defined, or depends on the node");
  check({"a", "b"}, {"d"}, {"a"}, "y", "has 2 inputs for 1 xs and 0 zs");
  check({"a"}, {"d", "e"}, {"a"}, "y", "has 2 outputs for 1 xs");
  check({"a"}, {"d"}, {"a"}, "det", "Gradient: no derivative of Det");
}

}  // namespace
}  // namespace tenon
