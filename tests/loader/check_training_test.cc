// The checker: graphs of training.
#include "loader/check/check.hpp"

#include "tests/loader/check_models.hpp"

namespace tenon {
namespace {

using namespace check_models;

TEST_CASE("Check: training") {
  onnx::ModelProto sound = model();
  *graph(sound).add_initializer() = floats("w", {1});
  auto* t = sound.add_training_info();
  auto* i = t->mutable_initialization();
  i->set_name("initialization");
  *i->add_node() = node("RandomNormal", {}, {"r"});
  auto* shape = i->mutable_node(0)->add_attribute();
  *shape = attribute("shape", AttributeProto::INTS);
  shape->add_ints(1);
  *i->add_output() = value("r");
  auto* a = t->mutable_algorithm();
  a->set_name("algorithm");
  *a->add_node() = node("Add", {"w", "y"}, {"w2"});
  *a->add_output() = value("w2");
  auto* b = t->add_initialization_binding();
  b->set_key("w"), b->set_value("r");
  b = t->add_update_binding();
  b->set_key("w"), b->set_value("w2");
  const auto info = [](onnx::ModelProto& m) { return m.mutable_training_info(0); };
  check_all(sound,
            {{"a key twice", "training",
              [&](auto& m) { *info(m)->add_update_binding() = info(m)->update_binding(0); }},
             {"a key that is no initializer", "training",
              [&](auto& m) { info(m)->mutable_update_binding(0)->set_key("x"); }},
             {"a value that is no output", "training",
              [&](auto& m) { info(m)->mutable_initialization_binding(0)->set_value("w2"); }},
             {"a graph that assigns a value of the model", "ssa",
              [&](auto& m) { *info(m)->mutable_algorithm()->add_node() = node("Relu", {"x"}, {"y"}); }},
             {"a graph that reads a missing value", "order",
              [&](auto& m) { *info(m)->mutable_algorithm()->add_node() = node("Relu", {"q"}, {"p"}); }},
             {"a key that is a sparse initializer", "training",
              [&](auto& m) {
                auto* s = graph(m).add_sparse_initializer();
                *s->mutable_values() = floats("s", {1});
                s->mutable_indices()->set_data_type(TensorProto::INT64);
                s->mutable_indices()->add_dims(1);
                s->mutable_indices()->add_int64_data(0);
                s->add_dims(1);
                info(m)->mutable_update_binding(0)->set_key("s");
              }},
             {"a value that is an output of the main graph", "",
              [&](auto& m) { info(m)->mutable_update_binding(0)->set_value("y"); }},
             {"a key in two stages", "training",
              [&](auto& m) {
                *m.add_training_info() = m.training_info(0);
                info(m)->clear_initialization(), info(m)->clear_initialization_binding();
              }},
             {"an initialization with an input", "training",
              [&](auto& m) { *info(m)->mutable_initialization()->add_input() = value("q"); }},
             {"no initialization, but bindings of it", "training",
              [&](auto& m) { info(m)->clear_initialization(); }},
             {"neither", "",
              [&](auto& m) { info(m)->clear_initialization(), info(m)->clear_initialization_binding(); }}});
}

}  // namespace
}  // namespace tenon
