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
          g->set_key(-1), g->add_value(0), g->add_value(1);
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
       {"more pieces than devices", "sharding",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->set_num_shards(3); }},
       {"before IR 11", "(ir-version) (ir-version)", [](auto& m) { m.set_ir_version(10); }}});
}

}  // namespace
}  // namespace tenon
