// Annotations for several devices, read as a placement.
#include "loader/devices/read_placement.hpp"

#include "tests/loader/check_models.hpp"

namespace tenon {
namespace {

using namespace check_models;

onnx::ShardingSpecProto* spec(onnx::ModelProto& m) {
  return first(m).mutable_device_configurations(0)->mutable_sharding_spec(0);
}

// x -> Relu -> y, x of (2) in two pieces on devices 1 and 0, in stage 3.
onnx::ModelProto annotated() {
  onnx::ModelProto m = model();
  m.add_configuration()->set_name("two");
  m.mutable_configuration(0)->set_num_devices(2);
  auto* placed = first(m).add_device_configurations();
  placed->set_configuration_id("two");
  placed->set_pipeline_stage(3);
  auto* s = placed->add_sharding_spec();
  s->set_tensor_name("x");
  s->add_device(1), s->add_device(0);
  s->add_sharded_dim()->set_axis(-1);
  s->mutable_sharded_dim(0)->add_simple_sharding()->set_num_shards(2);
  return m;
}

std::string refusal(const Change& change, std::string_view configuration = "", bool gather = false) {
  onnx::ModelProto m = annotated();
  change(m);
  try {
    static_cast<void>(loader::read_placement(m, configuration, gather));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("A placement has devices, stages and pieces; groups are expanded") {
  onnx::ModelProto m = annotated();
  const auto unchanged = [](auto&) {};
  for (const char* name : {"", "two"}) {
    const devices::Placement p = loader::read_placement(m, name);
    CHECK(p.devices == 2);
    REQUIRE(p.nodes.size() == 1);
    const devices::NodePlacement& n = p.nodes.at("y");
    CHECK(n.stage == 3);
    REQUIRE(n.tensors.size() == 1);
    const devices::Sharding& s = n.tensors.at("x");
    CHECK(s.holders == std::vector<devices::Ranks>{{1}, {0}});
    REQUIRE(s.cuts.size() == 1);
    CHECK(s.cuts[0].axis == -1);
    CHECK(s.cuts[0].shards == 2);
    CHECK(s.cuts[0].blocks == 0);
  }
  auto* dim = spec(m)->mutable_sharded_dim(0);
  dim->mutable_simple_sharding(0)->set_dim_value(12);
  dim->add_simple_sharding()->set_num_shards(1);
  dim->mutable_simple_sharding(1)->set_dim_value(64);
  m.mutable_configuration(0)->set_num_devices(4);
  spec(m)->set_device(0, -5);
  auto* g = spec(m)->add_index_to_device_group_map();
  g->set_key(-5), g->add_value(3), g->add_value(1);
  const devices::Placement p = loader::read_placement(m);
  const devices::Sharding& s = p.nodes.at("y").tensors.at("x");
  CHECK(s.cuts[0].blocks == 12);
  CHECK(s.cuts[0].stretches == 1);
  CHECK(s.holders == std::vector<devices::Ranks>{{3, 1}, {0}});
  CHECK(refusal(unchanged) == "");
}

// Folds the axis that is cut: extents, none where below 0, and into how many pieces each is cut.
void fold(onnx::ModelProto& m, const std::vector<std::pair<int64_t, int64_t>>& parts) {
  auto* dim = spec(m)->mutable_sharded_dim(0);
  dim->clear_simple_sharding();
  for (const auto& [extent, shards] : parts) {
    auto* part = dim->add_simple_sharding();
    if (extent >= 0) part->set_dim_value(extent);
    part->set_num_shards(shards);
  }
}

TEST_CASE("Extents before the one that is cut count stretches") {
  const auto read = [](const std::vector<std::pair<int64_t, int64_t>>& parts) {
    onnx::ModelProto m = annotated();
    fold(m, parts);
    const auto cut = loader::read_placement(m).nodes.at("y").tensors.at("x").cuts.at(0);
    return std::vector{cut.shards, cut.blocks, cut.stretches};
  };
  CHECK(read({{3, 1}, {12, 2}, {64, 1}}) == std::vector<int64_t>{2, 12, 3});
  CHECK(read({{3, 1}, {12, 2}}) == std::vector<int64_t>{2, 0, 3});
  CHECK(read({{3, 1}, {-1, 2}}) == std::vector<int64_t>{2, 0, 3});
  CHECK(read({{3, 1}, {2, 1}, {1, 1}, {5, 2}, {-1, 1}, {-1, 1}}) == std::vector<int64_t>{2, 5, 6});
  CHECK(read({{12, 2}, {64, 1}}) == std::vector<int64_t>{2, 12, 1});
}

TEST_CASE("Annotations that are refused") {
  const auto says = [](const Change& change, std::string_view text, std::string_view configuration = "") {
    const std::string e = refusal(change, configuration);
    CAPTURE(e);
    CHECK(e.find(text) != std::string::npos);
  };
  const auto unchanged = [](auto&) {};
  says(unchanged, "has no device configuration 'three'", "three");
  says([](auto& m) { m.clear_configuration(); }, "has 0 device configurations");
  says([](auto& m) { *m.add_configuration() = m.configuration(0); }, "has 2 device configurations");
  says([](auto& m) { m.mutable_configuration(0)->set_num_devices(0); }, "has 0 devices");
  says([](auto& m) { m.mutable_configuration(0)->set_num_devices(INT32_MAX); }, "has 2147483647 devices");
  says([](auto& m) { *first(m).add_device_configurations() = first(m).device_configurations(0); },
       "is there twice");
  says([](auto& m) { first(m).mutable_device_configurations(0)->set_pipeline_stage(-2); }, "stage is -2");
  says([](auto& m) { spec(m)->set_tensor_name("z"); }, "'z' is no input or output");
  says([](auto& m) { *first(m).mutable_device_configurations(0)->add_sharding_spec() = *spec(m); },
       "two shardings of 'x'");
  says([](auto& m) { spec(m)->set_device(1, 2); }, "has the device 2, which is none");
  says([](auto& m) { spec(m)->set_device(1, -1); }, "has the device -1, which is none");
  says([](auto& m) { spec(m)->set_device(1, 1); }, "has the device 1 twice");
  says([](auto& m) { spec(m)->add_index_to_device_group_map()->set_key(-1); }, "group -1 twice, or without");
  says([](auto& m) { spec(m)->mutable_sharded_dim(0)->clear_axis(); }, "does not say which axis");
  says([](auto& m) { spec(m)->mutable_sharded_dim(0)->clear_simple_sharding(); }, "into how many pieces");
  for (const int64_t shards : {int64_t{-1}, int64_t{0}})
    says(
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->set_num_shards(shards); },
        "pieces");
  for (const int64_t shards : {int64_t{1}, int64_t{3}, INT64_MAX})
    says(
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->set_num_shards(shards); },
        "another number of pieces");
  says(
      [](auto& m) {
        *spec(m)->add_sharded_dim() = spec(m)->sharded_dim(0);
        for (auto& dim : *spec(m)->mutable_sharded_dim())
          dim.mutable_simple_sharding(0)->set_num_shards(int64_t{1} << 33);
      },
      "another number of pieces");
  for (const int64_t extent : {-1, 0}) {
    says([&](auto& m) { fold(m, {{extent, 2}, {-1, 1}}); }, "does not state extent 0 of those");
    says([&](auto& m) { fold(m, {{extent, 1}, {-1, 2}}); }, "does not state extent 0 of those");
    says([&](auto& m) { fold(m, {{3, 1}, {extent, 2}, {-1, 1}}); }, "does not state extent 1 of those");
  }
  says([](auto& m) { fold(m, {{INT64_MAX, 1}, {2, 1}, {-1, 2}}); }, "that overflow");
  const Change scattered = [](auto& m) { fold(m, {{2, 2}, {-1, 2}}); };
  const Change in_body = [](auto& m) {
    const auto placed = first(m).device_configurations(0);
    m.mutable_graph()->CopyFrom(choice().graph());
    *then_branch(m)->mutable_node(0)->add_device_configurations() = placed;
  };
  const Change in_function = [](auto& m) {
    *m.add_functions() = function("f");
    *m.mutable_functions(0)->mutable_node(0)->add_device_configurations() = first(m).device_configurations(0);
  };
  says(scattered, "cuts several of the extents of which axis -1 is a fold");
  says(in_body, "nodes of bodies run where the node around them does");
  says(in_function, "nodes of functions run where");
  // Left out on request.
  for (const Change& change : {scattered, in_body, in_function}) CHECK(refusal(change, "", true) == "");
  CHECK(refusal([](auto& m) { spec(m)->set_device(1, 1); }, "", true) != "");
}

}  // namespace
}  // namespace tenon
