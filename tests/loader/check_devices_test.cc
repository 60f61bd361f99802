// The checker: devices and sharding.
#include "loader/check/check.hpp"

#include "tests/loader/check_models.hpp"

namespace tenon {
namespace {

using namespace check_models;

TEST_CASE("Check: devices and sharding") {
  onnx::ModelProto sound = model();
  auto* c = sound.add_configuration();
  c->set_name("two");
  c->set_num_devices(2);
  auto* placed = first(sound).add_device_configurations();
  placed->set_configuration_id("two");
  auto* s = placed->add_sharding_spec();
  s->set_tensor_name("x");
  s->add_device(0), s->add_device(1);
  s->add_sharded_dim()->set_axis(0);
  s->mutable_sharded_dim(0)->add_simple_sharding()->set_num_shards(2);
  const auto spec = [](onnx::ModelProto& m) {
    return first(m).mutable_device_configurations(0)->mutable_sharding_spec(0);
  };
  check_all(
      sound,
      {{"a configuration without a name", "device device",
        [](auto& m) { m.mutable_configuration(0)->clear_name(); }},
       {"a configuration twice", "device", [](auto& m) { *m.add_configuration() = m.configuration(0); }},
       {"no devices", "device sharding sharding",
        [](auto& m) { m.mutable_configuration(0)->clear_num_devices(); }},
       {"another number of names", "device", [](auto& m) { m.mutable_configuration(0)->add_device("gpu"); }},
       {"an unknown configuration", "device",
        [](auto& m) { first(m).mutable_device_configurations(0)->set_configuration_id("three"); }},
       {"no configuration", "device",
        [](auto& m) { first(m).mutable_device_configurations(0)->clear_configuration_id(); }},
       {"a tensor of another node", "sharding", [&](auto& m) { spec(m)->set_tensor_name("z"); }},
       {"a device that is not there", "sharding", [&](auto& m) { spec(m)->set_device(1, 2); }},
       {"a negative device", "sharding", [&](auto& m) { spec(m)->set_device(1, -1); }},
       {"a group of devices", "",
        [&](auto& m) {
          spec(m)->set_device(1, -1);
          auto* g = spec(m)->add_index_to_device_group_map();
          g->set_key(-1), g->add_value(1);
        }},
       {"a device in two groups", "sharding",
        [&](auto& m) {
          spec(m)->set_device(0, -2), spec(m)->set_device(1, -1);
          for (int64_t key : {-1, -2}) {
            auto* g = spec(m)->add_index_to_device_group_map();
            g->set_key(key), g->add_value(1);
          }
        }},
       {"a device twice", "sharding", [&](auto& m) { spec(m)->set_device(1, 0); }},
       {"a group twice", "sharding",
        [&](auto& m) {
          spec(m)->set_device(0, -1), spec(m)->set_device(1, -1);
          auto* g = spec(m)->add_index_to_device_group_map();
          g->set_key(-1), g->add_value(0), g->add_value(1);
        }},
       {"two devices of one name", "device",
        [](auto& m) {
          m.mutable_configuration(0)->add_device("cpu");
          m.mutable_configuration(0)->add_device("cpu");
        }},
       {"a group with a device that is not there", "sharding",
        [&](auto& m) {
          spec(m)->set_device(1, -1);
          auto* g = spec(m)->add_index_to_device_group_map();
          g->set_key(-1), g->add_value(7);
        }},
       {"an axis beyond the rank", "sharding",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->set_axis(1); }},
       {"a negative axis", "", [&](auto& m) { spec(m)->mutable_sharded_dim(0)->set_axis(-1); }},
       {"no axis", "sharding", [&](auto& m) { spec(m)->mutable_sharded_dim(0)->clear_axis(); }},
       {"no number of pieces", "sharding sharding",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->clear_num_shards(); }},
       {"more pieces than devices", "(sharding) sharding",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->set_num_shards(3); }},
       {"an extent that the axis has", "",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->set_dim_value(2); }},
       {"an extent that the axis has not", "sharding",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->set_dim_value(4); }},
       {"a fold of the axis", "",
        [&](auto& m) {
          auto* dim = spec(m)->mutable_sharded_dim(0);
          dim->mutable_simple_sharding(0)->set_dim_value(2);
          dim->add_simple_sharding()->set_num_shards(1);
          dim->mutable_simple_sharding(1)->set_dim_value(1);
        }},
       {"a fold that leaves elements out", "sharding",
        [&](auto& m) {
          auto* dim = spec(m)->mutable_sharded_dim(0);
          dim->mutable_simple_sharding(0)->set_dim_value(2);
          dim->add_simple_sharding()->set_num_shards(1);
          dim->mutable_simple_sharding(1)->set_dim_value(3);
        }},
       {"a fold whose product overflows", "sharding",
        [&](auto& m) {
          auto* dim = spec(m)->mutable_sharded_dim(0);
          dim->mutable_simple_sharding(0)->set_dim_value(INT64_MAX);
          dim->add_simple_sharding()->set_num_shards(1);
          dim->mutable_simple_sharding(1)->set_dim_value(INT64_MAX);
        }},
       {"more pieces than elements", "(sharding)",
        [&](auto& m) {
          m.mutable_configuration(0)->set_num_devices(3);
          spec(m)->add_device(2);
          spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->set_num_shards(3);
        }},
       {"a stage", "", [](auto& m) { first(m).mutable_device_configurations(0)->set_pipeline_stage(7); }},
       {"a negative stage", "stage",
        [](auto& m) { first(m).mutable_device_configurations(0)->set_pipeline_stage(-1); }},
       {"before IR 11", "(ir-version) (ir-version)", [](auto& m) { m.set_ir_version(10); }}});
}

// x -> Relu -> a -> Relu -> b -> Relu -> y, the first and the last in stages of one configuration.
onnx::ModelProto pipeline(int first_stage, int last_stage) {
  onnx::ModelProto m = model();
  m.add_configuration()->set_name("two");
  m.mutable_configuration(0)->set_num_devices(2);
  auto* g = m.mutable_graph();
  *g->mutable_node(0) = node("Relu", {"x"}, {"a"});
  *g->add_node() = node("Relu", {"a"}, {"b"});
  *g->add_node() = node("Relu", {"b"}, {"y"});
  const std::pair<int, int> stages[] = {{0, first_stage}, {2, last_stage}};
  for (const auto& [at, stage] : stages) {
    auto* c = g->mutable_node(at)->add_device_configurations();
    c->set_configuration_id("two");
    c->set_pipeline_stage(stage);
  }
  return m;
}

TEST_CASE("Check: pipeline stages follow the data") {
  CHECK(rules(check(pipeline(3, 3))) == "");
  const auto found = check(pipeline(1, 0));
  CHECK(rules(found) == "stage");
  CHECK(found.at(0).message == "pipeline stage 0 of 'two' reads 'b', which needs stage 1");
  check_all(pipeline(0, 1),
            {{"stages that wait for each other", "stage",
              [](auto& m) {
                auto* n = m.mutable_graph()->add_node();
                *n = node("Relu", {"y"}, {"z"});
                *n->add_device_configurations() = m.graph().node(0).device_configurations(0);
              }},
             {"an input twice", "stage",
              [](auto& m) {
                *m.mutable_graph()->mutable_node(2) = node("Add", {"b", "b"}, {"y"});
                *m.mutable_graph()->mutable_node(2)->add_device_configurations() =
                    m.graph().node(0).device_configurations(0);
                m.mutable_graph()->mutable_node(0)->mutable_device_configurations(0)->set_pipeline_stage(1);
                m.mutable_graph()->mutable_node(2)->mutable_device_configurations(0)->set_pipeline_stage(0);
              }},
             {"another configuration", "", [](auto& m) {
                *m.add_configuration() = m.configuration(0);
                m.mutable_configuration(1)->set_name("others");
                auto* c = m.mutable_graph()->mutable_node(2)->mutable_device_configurations(0);
                c->set_configuration_id("others");
                c->set_pipeline_stage(0);
              }}});
}

TEST_CASE("Check: a branch reads what a later stage computes") {
  onnx::ModelProto m = choice();
  m.add_configuration()->set_name("two");
  m.mutable_configuration(0)->set_num_devices(2);
  auto* g = m.mutable_graph();
  *g->add_node() = node("Relu", {"x"}, {"late"});
  g->mutable_node()->SwapElements(0, 1);
  auto* c = first(m).add_device_configurations();
  c->set_configuration_id("two");
  c->set_pipeline_stage(1);
  auto* inner = g->mutable_node(1)->mutable_attribute(0)->mutable_g()->mutable_node(0);
  *inner->add_device_configurations() = *c;
  inner->set_input(0, "late");
  CHECK(rules(check(m)) == "");
  inner->mutable_device_configurations(0)->set_pipeline_stage(0);
  CHECK(rules(check(m)) == "stage");
  inner->clear_device_configurations();
  CHECK(rules(check(m)) == "");
  auto* own = g->mutable_node(1)->add_device_configurations();
  *own = *c;
  CHECK(rules(check(m)) == "");
  own->set_pipeline_stage(0);
  CHECK(rules(check(m)) == "stage");
}

TEST_CASE("Check: devices of a function's nodes") {
  onnx::ModelProto sound = calling();
  sound.add_configuration()->set_name("two");
  sound.mutable_configuration(0)->set_num_devices(2);
  auto* f = sound.mutable_functions(0);
  auto* v = f->add_value_info();
  *v = value("a", {4});
  auto* placed = f->mutable_node(0)->add_device_configurations();
  placed->set_configuration_id("two");
  auto* s = placed->add_sharding_spec();
  s->set_tensor_name("a");
  s->add_device(0), s->add_device(1);
  s->add_sharded_dim()->set_axis(0);
  s->mutable_sharded_dim(0)->add_simple_sharding()->set_num_shards(2);
  const auto placement = [](onnx::ModelProto& m) {
    return m.mutable_functions(0)->mutable_node(0)->mutable_device_configurations(0);
  };
  check_all(
      sound,
      {{"an unknown configuration", "device", [&](auto& m) { placement(m)->set_configuration_id("three"); }},
       {"an axis beyond the rank", "sharding",
        [&](auto& m) { placement(m)->mutable_sharding_spec(0)->mutable_sharded_dim(0)->set_axis(1); }},
       {"an extent that the axis has not", "sharding",
        [&](auto& m) {
          placement(m)
              ->mutable_sharding_spec(0)
              ->mutable_sharded_dim(0)
              ->mutable_simple_sharding(0)
              ->set_dim_value(5);
        }},
       {"a negative stage", "stage", [&](auto& m) { placement(m)->set_pipeline_stage(-1); }}});
}

}  // namespace
}  // namespace tenon
