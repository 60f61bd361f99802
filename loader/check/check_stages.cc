// Pipeline stages: no node reads what a later stage computes. Stages that wait for each other contain such a
// node.
#include <set>
#include <utility>

#include "loader/check/findings.hpp"
#include "loader/edit/names.hpp"
#include "loader/opsets.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr std::string_view rule = "stage";

// The stages of the first configurations are followed.
constexpr std::size_t most_configurations = 8;

// The configurations for which nodes, and those of bodies, have stages.
template <class List>
void add_configurations(const List& nodes, Names& ids, int depth = 0) {
  if (depth > max_nesting) return;
  for (const onnx::NodeProto& n : nodes) {
    for (const auto& c : n.device_configurations())
      if (c.has_pipeline_stage() && ids.size() < most_configurations) ids.insert(c.configuration_id());
    for (const auto& a : n.attribute()) {
      if (a.has_g()) add_configurations(a.g().node(), ids, depth + 1);
      for (const auto& g : a.graphs()) add_configurations(g.node(), ids, depth + 1);
    }
  }
}

// Follows the stages of one configuration in the order of the nodes, into bodies and, at each call, into
// functions. A node without a stage has that of the node around it, if any.
class StageWalk {
 public:
  // The latest stage that something needs, and the node that runs in it; -1: none.
  struct Need {
    int32_t stage = -1;
    const onnx::NodeProto* by = nullptr;
    std::string_view value{};  // that needs it
  };
  struct Scope {
    const Scope* outer = nullptr;
    int64_t depth = 1;                                   // of the scopes that a search may pass
    std::unordered_map<std::string_view, Need> needs{};  // of the values that are defined here

    const Need* here(std::string_view name) const {
      const auto it = needs.find(name);
      return it == needs.end() ? nullptr : &it->second;
    }
    Need find(std::string_view name) const {
      for (const Scope* s = this; s != nullptr; s = s->outer)
        if (const Need* const need = s->here(name)) return {need->stage, need->by, name};
      return {};
    }
  };

  // `steps`: how much more may be visited, in nodes, names and attributes.
  StageWalk(std::string_view configuration, const Functions& functions, Findings& findings, int64_t& steps)
      : configuration_(configuration), functions_(functions), findings_(findings), steps_(steps) {}

  void graph(std::string_view what, const onnx::GraphProto& g, Scope& scope) {
    const Within within(findings_, {.what = what});
    nodes(g.node(), scope, {});
  }
  void function(const onnx::FunctionProto& f) {
    Scope scope;
    enter(f, scope, {});
  }

 private:
  // What a body or a function has of the node that it belongs to: its stage, and what it waits for.
  struct Around {
    Need own{}, start{};
  };
  static Need later(const Need& a, const Need& b) { return a.stage < b.stage ? b : a; }

  Need own_stage(const onnx::NodeProto& n, const Need& around) const {
    for (const auto& c : n.device_configurations())
      if (c.has_pipeline_stage() && c.configuration_id() == configuration_) return {c.pipeline_stage(), &n};
    return around;
  }
  // Reports a node of stage `own` that needs a later one, once for each node that runs in that: bodies and
  // functions may be entered again.
  Need expect(const Need& own, const Need& need, std::string_view verb) {
    if (own.stage < 0 || need.stage <= own.stage) return need;
    if (reported_.emplace(findings_.place->node, need.by).second)
      findings_.error(rule, "pipeline stage ", own.stage, " of ", shown(configuration_), verb,
                      shown(need.value), ", which needs stage ", need.stage, ", of ", node_place(*need.by));
    return own;
  }

  static int64_t cost(const onnx::NodeProto& n) {
    int64_t sum = n.attribute_size();
    const auto add = [&](const std::string& name) { sum += 1 + std::ssize(name) / 64; };
    add(n.op_type()), add(n.domain());
    for (const auto& name : n.input()) add(name);
    for (const auto& name : n.output()) add(name);
    for (const auto& c : n.device_configurations()) add(c.configuration_id());
    return sum;
  }

  template <class List>
  void nodes(const List& list, Scope& scope, const Around& around) {
    Place& place = *findings_.place;
    const Place before = place;
    for (int k = 0; k < list.size() && steps_ > 0; ++k) {
      place.node = &list[k];
      place.index = k;
      steps_ -= cost(list[k]) * scope.depth;
      node(list[k], scope, around);
    }
    place.node = before.node;
    place.index = before.index;
  }
  void node(const onnx::NodeProto& n, Scope& scope, const Around& around) {
    const Need own = own_stage(n, around.own);
    // An inherited stage has been compared with what the node around waits for.
    Need latest = own.by == &n ? expect(own, around.start, " waits for ") : around.start;
    std::vector<Need> read;
    for (const auto& name : n.input()) {
      read.push_back(expect(own, scope.find(name), " reads "));
      latest = later(latest, read.back());
    }
    if (names_values(n))
      for (const auto& a : n.attribute()) {
        steps_ -= a.strings_size() * scope.depth;
        latest = later(latest, expect(own, scope.find(a.s()), " reads "));
        for (const auto& name : a.strings()) latest = later(latest, expect(own, scope.find(name), " reads "));
      }
    std::vector<Need> results(static_cast<std::size_t>(n.output_size()));
    const auto callee = functions_.find(key_of(n));
    if (callee != functions_.end() && depth_ < max_nesting) {
      const onnx::FunctionProto& f = *callee->second;
      Scope inside;
      steps_ -= f.input_size();
      for (int k = 0; k < f.input_size(); ++k)
        inside.needs[f.input(k)] = k < n.input_size() ? read[static_cast<std::size_t>(k)] : Need{};
      enter(f, inside, {own, around.start});
      for (int k = 0; k < std::min(n.output_size(), f.output_size()); ++k)
        results[static_cast<std::size_t>(k)] = inside.find(f.output(k));
    } else {
      Need done = later(latest, own);
      each_body(n, [&](const onnx::AttributeProto& a, const onnx::GraphProto& g) {
        if (depth_ == max_nesting) return;
        const Within within(findings_, {.what = a.name()});
        done = later(done, body(n, g, scope, {own, latest}));
      });
      std::ranges::fill(results, done);
    }
    for (int k = 0; k < n.output_size(); ++k)
      if (!n.output(k).empty()) scope.needs[n.output(k)] = results[static_cast<std::size_t>(k)];
  }

  void enter(const onnx::FunctionProto& f, Scope& scope, const Around& around) {
    std::string& name = names_[&f];
    if (name.empty()) name = str_cat(f.domain(), f.domain().empty() ? "" : ".", f.name());
    const Within within(findings_, {.what = "function", .name = name});
    ++depth_;
    nodes(f.node(), scope, around);
    --depth_;
  }
  static void each_body(const onnx::NodeProto& n, auto visit) {
    for (const auto& a : n.attribute()) {
      if (a.has_g()) visit(a, a.g());
      for (const auto& g : a.graphs()) visit(a, g);
    }
  }

  // What the results of a body need. It starts when its node has all operands. Results that are inputs of its
  // next run are followed until nothing changes.
  Need body(const onnx::NodeProto& n, const onnx::GraphProto& g, const Scope& outer, const Around& around) {
    const bool loop = is_standard(n, "Loop");
    // Output k of the body is its input k + shift in the next run, for the first `carried`.
    const int shift = loop ? 1 : 0, carried = loop ? g.input_size() - 1 : states(n, g);
    std::vector<Need> inputs(static_cast<std::size_t>(g.input_size()), around.start);
    Need all;
    for (bool again = true; again && steps_ > 0;) {
      again = false;
      steps_ -= 1 + g.initializer_size() + g.sparse_initializer_size() + g.input_size() + g.output_size();
      Scope scope{.outer = &outer, .depth = outer.depth + 1};
      for (const auto& t : g.initializer()) scope.needs[t.name()] = {};
      for (const auto& t : g.sparse_initializer()) scope.needs[t.values().name()] = {};
      for (int k = 0; k < g.input_size(); ++k)
        scope.needs[g.input(k).name()] = inputs[static_cast<std::size_t>(k)];
      // Whether there is another run is known when the condition is.
      const bool waits = loop && g.input_size() > 1;
      ++depth_;
      nodes(g.node(), scope,
            {around.own, waits ? later(around.start, scope.find(g.input(1).name())) : around.start});
      --depth_;
      for (int k = 0; k < g.output_size(); ++k) {
        const std::string& name = g.output(k).name();
        Need need = scope.find(name);
        if (scope.here(name) == nullptr) need = expect(around.own, need, " reads ");
        all = later(all, need);
        if (k >= carried) continue;
        Need& next = inputs[static_cast<std::size_t>(k + shift)];
        if (next.stage < need.stage) next = need, again = true;
      }
    }
    return all;
  }
  static int states(const onnx::NodeProto& n, const onnx::GraphProto& g) {
    if (is_standard(n, "Scan"))
      for (const auto& a : n.attribute())
        if (a.name() == "num_scan_inputs" && a.i() >= 0 && a.i() <= g.input_size())
          return g.input_size() - static_cast<int>(a.i());
    return 0;
  }

  std::string_view configuration_;
  const Functions& functions_;
  Findings& findings_;
  int64_t& steps_;
  int depth_ = 0;
  std::unordered_map<const onnx::FunctionProto*, std::string> names_;
  std::set<std::pair<const onnx::NodeProto*, const onnx::NodeProto*>> reported_;
};

// Calls walk(StageWalk&) for each configuration.
void walk_each(const Names& ids, const Functions& functions, Findings& findings, auto walk) {
  int64_t steps = 1 << 23;
  for (const std::string_view id : std::set<std::string_view>(ids.begin(), ids.end())) {
    StageWalk one(id, functions, findings, steps);
    walk(one);
  }
  if (steps <= 0)
    findings.warn(rule, "pipeline stages are not followed into all calls and loops: there are too many");
}

}  // namespace

void check_stages(const onnx::ModelProto& m, const Functions& functions, Findings& findings) {
  Names ids;
  add_configurations(m.graph().node(), ids);
  for (const auto& t : m.training_info()) {
    add_configurations(t.initialization().node(), ids);
    add_configurations(t.algorithm().node(), ids);
  }
  for (const auto& f : m.functions()) add_configurations(f.node(), ids);
  walk_each(ids, functions, findings, [&](StageWalk& walk) {
    // By itself first, so that a finding that depends on no call names none.
    for (const auto& [key, f] : functions) walk.function(*f);
    StageWalk::Scope main;
    walk.graph("main", m.graph(), main);
    for (const auto& t : m.training_info()) {
      StageWalk::Scope first, step{.outer = &main, .depth = 2};
      walk.graph("initialization", t.initialization(), first);
      walk.graph("algorithm", t.algorithm(), step);
    }
  });
}

void check_stages(const onnx::GraphProto& g, Findings& findings) {
  Names ids;
  add_configurations(g.node(), ids);
  walk_each(ids, {}, findings, [&](StageWalk& walk) {
    StageWalk::Scope scope;
    walk.graph("main", g, scope);
  });
}

void check_stages(const onnx::FunctionProto& f, Findings& findings) {
  Names ids;
  add_configurations(f.node(), ids);
  walk_each(ids, {}, findings, [&](StageWalk& walk) { walk.function(f); });
}

}  // namespace tenon::TENON_ABI::loader
