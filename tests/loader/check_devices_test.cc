// The checker: devices and sharding.
#include "loader/check/check.hpp"

#include "loader/message.hpp"

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
  CHECK(found.at(0).message ==
        "pipeline stage 0 of 'two' reads 'b', which needs stage 1, of node 'a' (Relu)");
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

// What is found in a model of this text, whose nodes s0, s1 and so on are in the stages of these numbers.
std::string stages_found(const std::string& text) {
  onnx::ModelProto m = parse_text(R"(<ir_version: 11, opset_import: ["": 21, "local": 1]>)" + text).proto();
  m.add_configuration()->set_name("two");
  m.mutable_configuration(0)->set_num_devices(3);
  const auto place = [](const auto& self, auto& nodes) -> void {
    for (auto& n : nodes) {
      if (n.name().size() == 2 && n.name()[0] == 's') {
        auto* c = n.add_device_configurations();
        c->set_configuration_id("two");
        c->set_pipeline_stage(n.name().at(1) - '0');
      }
      for (auto& a : *n.mutable_attribute())
        if (a.has_g()) self(self, *a.mutable_g()->mutable_node());
    }
  };
  place(place, *m.mutable_graph()->mutable_node());
  for (auto& f : *m.mutable_functions()) place(place, *f.mutable_node());
  std::string all;
  for (const Diagnostic& d : check(m)) all += str_cat(all.empty() ? "" : "; ", to_string(d));
  return all;
}

TEST_CASE("Check: stages that wait for each other through branches") {
  const auto model = [](const char* condition, const char* inner, const char* after) {
    return stages_found(
        str_cat("g (float[2] x, bool a) => (float[2] y) { [", condition, "] c = Not (a) [if] b = If (c) <",
                "then_branch = t () => (float[2] z) { [", inner, "] z = Relu (x) }, ",
                "else_branch = e () => (float[2] w) { w = Neg (x) }> [", after, "] y = Relu (b) }"));
  };
  CHECK(model("s0", "s1", "s1") == "");
  CHECK(model("s0", "none", "s0") == "");
  CHECK(model("none", "s1", "s0") ==
        "error [stage] main, node 's0' (Relu): pipeline stage 0 of 'two' reads 'b', which needs stage 1, of "
        "node "
        "'s1' (Relu)");
  CHECK(model("s2", "s1", "s2") ==
        "error [stage] main/'if' (If).then_branch, node 's1' (Relu): pipeline stage 1 of 'two' waits for "
        "'c', which "
        "needs stage 2, of node 's2' (Not)");
}

TEST_CASE("Check: stages that wait for each other through loops") {
  const auto loop = [](const char* condition, const char* first, const char* second, const char* next) {
    return stages_found(
        str_cat("g (int64 n, bool go, float[2] x) => (float[2] y, float[n, 2] all) { [loop] y, all = ",
                "Loop (n, go, x) <body = b (int64 i, bool before, float[2] v) => (bool after, float[2] w, ",
                "float[2] q) { [", condition, "] after = Not (before) [", first, "] p = Relu (v) [", second,
                "] q = Neg (p) w = Add (", next, ", ", next, ") }> }"));
  };
  CHECK(loop("none", "s0", "s1", "p") == "");
  CHECK(loop("none", "s0", "s1", "q") ==
        "error [stage] main/'loop' (Loop).body, node 's0' (Relu): pipeline stage 0 of 'two' reads 'v', which "
        "needs "
        "stage 1, of node 's1' (Neg)");
  CHECK(loop("s1", "s0", "s1", "p") ==
        "error [stage] main/'loop' (Loop).body, node 's0' (Relu): pipeline stage 0 of 'two' waits for "
        "'before', which "
        "needs stage 1, of node 's1' (Not)");

  // A state that reaches another one in the next run.
  const auto scan = [](const char* first, const char* second) {
    return stages_found(
        str_cat("g (float[2] x, float[3, 2] xs) => (float[2] y, float[2] z, float[3, 2] ys) { [scan] y, z, ",
                "ys = Scan (x, x, xs) <num_scan_inputs = 1, body = b (float[2] v, float[2] w, float[2] e) ",
                "=> (float[2] v2, float[2] w2, float[2] q) { v2 = Identity (w) [", first,
                "] q = Add (v, e) [", second, "] w2 = Neg (e) }> }"));
  };
  CHECK(scan("s1", "s1") == "");
  CHECK(scan("s2", "s1") == "");
  CHECK(scan("s0", "s1") ==
        "error [stage] main/'scan' (Scan).body, node 's0' (Add): pipeline stage 0 of 'two' reads 'v', which "
        "needs "
        "stage 1, of node 's1' (Neg)");
}

TEST_CASE("Check: stages that wait for each other through functions") {
  // f has a node of stage 0 and one of stage 1, each with a result.
  const auto calls = [](const char* nodes) {
    return stages_found(str_cat("g (float[2] x, bool c) => (float[2] y) {", nodes, R"(}
      <domain: "local", opset_import: ["": 21]> f (a) => (b, d) { [s0] b = Relu (a) [s1] d = Neg (b) }
      <domain: "local", opset_import: ["": 21]> h (a) => (b) { b = Identity (a) }
      <domain: "local", opset_import: ["": 21, "local": 1]> twice (a) => (b) {
        k, l = local.f (a) b = local.h (l) })"));
  };
  CHECK(calls("p, q = local.f (x) [s0] r = Relu (p) [s1] y = Add (q, r)") == "");
  CHECK(calls("p, q = local.f (x) [s0] y = Relu (q)") ==
        "error [stage] main, node 's0' (Relu): pipeline stage 0 of 'two' reads 'q', which needs stage 1, of "
        "node 's1' "
        "(Neg)");
  CHECK(calls("[s1] p = Relu (x) [call] y, q = local.f (p)") ==
        "error [stage] main/'call' (f).function local.f, node 's0' (Relu): pipeline stage 0 of 'two' reads "
        "'a', which "
        "needs stage 1, of node 's1' (Relu)");
  // Said once for any number of calls.
  CHECK(calls("[call] p, q = local.f (x) [again] r, s = local.f (q) [more] y, t = local.f (s)") ==
        "error [stage] main/'again' (f).function local.f, node 's0' (Relu): pipeline stage 0 of 'two' reads "
        "'a', which "
        "needs stage 1, of node 's1' (Neg)");
  CHECK(calls("p = local.twice (x) [s0] y = Relu (p)")
            .ends_with("reads 'p', which needs stage 1, of node 's1' (Neg)"));
  CHECK(calls("y = If (c) <then_branch = t () => (float[2] z) { p, q = local.f (x) [s0] z = Relu (q) }, "
              "else_branch = e () => (float[2] w) { w = Neg (x) }>")
            .ends_with("reads 'q', which needs stage 1, of node 's1' (Neg)"));
  CHECK(stages_found(R"(g (float[2] x) => (float[2] y) { y = local.f (x) }
          <domain: "local", opset_import: ["": 21]> f (a) => (b) { [s1] k = Relu (a) [s0] b = Neg (k) })") ==
        "error [stage] function local.f, node 's0' (Neg): pipeline stage 0 of 'two' reads 'k', which needs "
        "stage 1, of "
        "node 's1' (Relu)");
}

TEST_CASE("Check: stages in calls that double at each level") {
  constexpr int levels = 40;
  const auto found = [](const std::string& last) {
    std::string text = R"(g (float[2] x) => (float[2] y) { y = local.f0 (x) })";
    for (int k = 0; k < levels; ++k)
      text += str_cat(
          R"( <domain: "local", opset_import: ["": 21, "local": 1]> f)", k,
          " (a) => (b) { [s0] c = Relu (a) ",
          k + 1 == levels ? last : str_cat("d = local.f", k + 1, " (c) b = local.f", k + 1, " (d)"), " }");
    return stages_found(text);
  };
  const std::string too_many =
      "warning [stage]: pipeline stages are not followed into all calls and loops: there are too many";
  CHECK(found("b = Neg (c)") == too_many);
  // Nodes count by what they read, too, and by the length of names.
  std::string operands = "c";
  for (int k = 0; k < 20'000; ++k) operands += ", c";
  CHECK(found(str_cat("b = Sum (", operands, ")")) == too_many);
  const std::string name(1'000'000, 'd');
  CHECK(found(str_cat(name, " = Neg (c) b = Neg (", name, ")")) == too_many);
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
