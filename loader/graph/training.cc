// Training: each stage is a session over the main graph and its algorithm, with the variables as inputs.
#include "tenon/training.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "loader/check/findings.hpp"
#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/graph/import.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "tenon/base/thread_pool.hpp"

namespace tenon::TENON_ABI {
namespace training {

constexpr int of_main_graph = -1;

struct Variable {
  std::string name;
  int owner = of_main_graph;  // or the stage whose algorithm has the initializer
  bool input = false;         // of the graph as well, so that a step may be given a value
  Value initial{}, value{};
};

// A variable, and the graph output that is assigned to it.
struct Assignment {
  std::size_t variable;
  std::string output;
  std::size_t place = 0;  // index among the graph's outputs
};

struct Stage {
  std::optional<Session> initialization, algorithm;
  std::vector<Assignment> initialize, update;
  std::vector<std::size_t> variables;  // that a step reads
  Outputs outputs;                     // of the last step; new values reuse the memory of older ones
};

}  // namespace training

namespace {

using training::Assignment, training::of_main_graph, training::Stage, training::Variable;
using BindingList = google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>;

constexpr int64_t stage_bytes = 64 << 10;  // for a stage's two sessions, without nodes and constants

std::string place_of(int stage) { return str_cat("training ", stage); }

/// Error if the variable cannot take a value of this type and these extents.
void check_fit(const Variable& v, Type type, const Dims& dims, std::string_view value) {
  const AnyTensor& own = v.initial.tensor();
  const auto refuse = [&](ErrorCode code, const std::string& what) {
    throw Error(code, str_cat("variable '", v.name, "'"), str_cat(value, what));
  };
  if (type && type.kind != Kind::unknown && !(type == v.initial.type()))
    refuse(ErrorCode::invalid_type, str_cat(" is ", to_string(type), ", not ", to_string(v.initial.type())));
  if (dims.ranked() && !dims.fits(own.extents())) {
    op::Message shape;
    shape.add(dims);
    refuse(ErrorCode::invalid_shape,
           str_cat(" has extents ", shape.view(), ", not ", to_string(own.extents())));
  }
}
void check_fit(const Variable& v, const Value& value, std::string_view name) {
  if (!value)
    throw Error(ErrorCode::invalid_type, str_cat("variable '", v.name, "'"), str_cat(name, " is nothing"));
  check_fit(v, value.type(), value.is_tensor() ? Dims(value.tensor().extents()) : Dims(), name);
}

// Calls f, and prefixes the places of errors with the stage.
template <class F>
auto in_stage(int stage, F f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.code(), str_cat(place_of(stage), e.where().empty() ? "" : ", ", e.where()), e.message());
  }
}

// A model for one graph, with the operators and functions of another model.
onnx::ModelProto with_operators_of(const onnx::ModelProto& m) {
  onnx::ModelProto result;
  result.set_ir_version(m.ir_version());
  *result.mutable_opset_import() = m.opset_import();
  *result.mutable_functions() = m.functions();
  return result;
}

// Checks that the main graph does not depend on the algorithm.
void check_independence(const onnx::GraphProto& main, const onnx::GraphProto& algorithm) {
  std::set<std::string_view> made;
  for (const auto& v : algorithm.input()) made.insert(v.name());
  for (const auto& t : algorithm.initializer()) made.insert(t.name());
  for (const auto& t : algorithm.sparse_initializer()) made.insert(t.values().name());
  for (const auto& n : algorithm.node()) made.insert(n.output().begin(), n.output().end());
  made.erase("");
  for (const auto& n : main.node())
    for (std::string_view name : loader::names_read(n))
      if (made.contains(name))
        throw Error(ErrorCode::invalid_model, loader::node_place(n),
                    str_cat("the main graph reads '", name, "' of the algorithm"));
}

void write_bindings(const Bindings& bindings, BindingList& list) {
  for (const auto& [key, value] : bindings) {
    auto& entry = *list.Add();
    entry.set_key(key);
    entry.set_value(value);
  }
}

}  // namespace

void add_training(Model& model, const TrainingStage& stage) {
  onnx::TrainingInfoProto t;
  const auto read = [](std::string_view text) { return loader::parse_text<onnx::GraphProto>(text); };
  if (!stage.algorithm.empty()) *t.mutable_algorithm() = read(stage.algorithm);
  if (!stage.initialization.empty()) *t.mutable_initialization() = read(stage.initialization);
  for (const auto& [name, value] : stage.initializers) {
    auto& initializer = *t.mutable_algorithm()->add_initializer();
    initializer.set_name(name);
    loader::write_tensor(value.tensor(), initializer);
  }
  write_bindings(stage.update, *t.mutable_update_binding());
  write_bindings(stage.initialize, *t.mutable_initialization_binding());
  *model.proto().add_training_info() = std::move(t);
}

struct Training::State {
  std::unique_ptr<ThreadPool> pool;
  std::vector<Variable> variables;
  std::map<std::string, std::size_t, std::less<>> numbers;  // of variables
  std::vector<Stage> stages;

  State(const Model& model, SessionOptions session, const LoadOptions& load) {
    session = loader::with_standard_passes(std::move(session));
    session.source = nullptr;
    if (session.executor == nullptr && session.threads > 1) {
      pool = std::make_unique<ThreadPool>(session.threads);
      session.executor = pool.get();
    }
    const int count = model.proto().training_info_size();
    check_size(model.proto(), load);
    for (int k = 0; k < count; ++k) in_stage(k, [&] { check_bindings(model.proto(), k); });
    const auto graph = [&](onnx::ModelProto m) { return Model(std::move(m), model.folder()).graph(load); };
    find_variables(model.proto(), graph);
    for (int k = 0; k < count; ++k)
      in_stage(k, [&] { stages.push_back(make_stage(model.proto(), k, graph, session)); });
  }

  Stage& at(std::size_t stage) {
    if (stage >= stages.size())
      throw Error(ErrorCode::invalid_argument, "training", str_cat("there is no stage ", stage));
    return stages[stage];
  }
  Variable& find(std::string_view name) {
    const auto it = numbers.find(name);
    if (it == numbers.end())
      throw Error(ErrorCode::invalid_argument, "training", str_cat("there is no variable '", name, "'"));
    return variables[it->second];
  }

 private:
  // Each stage has the main graph's nodes and constants, so that a small file may request a lot.
  static void check_size(const onnx::ModelProto& model, const LoadOptions& load) {
    const auto main = static_cast<int64_t>(model.graph().ByteSizeLong());
    int64_t nodes = 0, bytes = -stage_bytes - main;  // the file bounds one stage
    for (int k = 0; k < model.training_info_size(); ++k) {
      const onnx::TrainingInfoProto& t = model.training_info(k);
      nodes += model.graph().node_size() + t.algorithm().node_size() + t.initialization().node_size();
      bytes += stage_bytes + main;
      if (nodes > load.max_nodes || bytes > load.max_bytes)
        throw Error(ErrorCode::limit, place_of(k),
                    str_cat("the stages so far, each with the main graph, have more than ", load.max_nodes,
                            " nodes or ", load.max_bytes, " bytes"));
    }
  }
  static void check_bindings(const onnx::ModelProto& model, int stage) {
    const CheckOptions options;
    loader::Findings findings(options);
    loader::check_bindings(model.training_info(stage), model.graph(), findings);
    if (findings.errors() > 0) throw Error(ErrorCode::invalid_model, {}, findings.take().front().message);
  }

  // `graph` makes a Graph from a message.
  template <class F>
  void find_variables(const onnx::ModelProto& model, F graph) {
    onnx::ModelProto values = with_operators_of(model);
    const int count = model.training_info_size();
    for (int owner = of_main_graph; owner < count; ++owner) {
      const bool main = owner == of_main_graph;
      const onnx::GraphProto& g = main ? model.graph() : model.training_info(owner).algorithm();
      std::set<std::string_view> bound, inputs;
      for (int k = main ? 0 : owner; k < (main ? count : owner + 1); ++k) {
        for (const auto& b : model.training_info(k).initialization_binding()) bound.insert(b.key());
        for (const auto& b : model.training_info(k).update_binding()) bound.insert(b.key());
      }
      for (const auto& v : g.input()) inputs.insert(v.name());
      for (const auto& t : g.initializer()) {
        if (!bound.contains(t.name())) continue;
        if (!numbers.emplace(t.name(), variables.size()).second)
          throw Error(ErrorCode::invalid_model, main ? "main graph" : place_of(owner),
                      str_cat("there is another variable '", t.name(), "'"));
        *values.mutable_graph()->add_initializer() = t;
        variables.push_back({.name = t.name(), .owner = owner, .input = inputs.contains(t.name())});
      }
    }
    if (variables.empty()) return;
    const Graph constants = graph(std::move(values));
    for (Variable& v : variables) v.value = v.initial = constants.entry(constants.find(v.name)).content;
  }

  /// The bindings to outputs of a graph. Error if a value does not fit, as far as the graph tells.
  std::vector<Assignment> assignments(const BindingList& bindings, const Graph& g) const {
    std::map<std::string_view, std::size_t> places;
    for (std::size_t k = 0; k < g.outputs().size(); ++k) places.emplace(g.outputs()[k].first, k);
    std::vector<Assignment> result;
    for (const auto& b : bindings) {
      const Assignment& a =
          result.emplace_back(numbers.find(b.key())->second, b.value(), places.at(b.value()));
      const op::Info& i = g.entry(g.outputs()[a.place].second).info;
      check_fit(variables[a.variable], i.type, i.dims, str_cat("'", a.output, "'"));
    }
    return result;
  }

  template <class F>
  Stage make_stage(const onnx::ModelProto& model, int k, F graph, const SessionOptions& session) {
    const onnx::TrainingInfoProto& t = model.training_info(k);
    Stage stage;
    for (std::size_t v = 0; v < variables.size(); ++v)
      if (variables[v].owner == of_main_graph || variables[v].owner == k) stage.variables.push_back(v);

    onnx::ModelProto initialization = with_operators_of(model);
    *initialization.mutable_graph() = t.initialization();
    Graph before = graph(std::move(initialization));
    for (ValueId id : before.inputs())
      if (!before.entry(id).optional)
        throw Error(ErrorCode::invalid_model, str_cat("input '", before.entry(id).name, "'"),
                    "an initialization has no inputs");
    stage.initialize = assignments(t.initialization_binding(), before);
    stage.initialization.emplace(std::move(before), session);

    Graph step = graph(step_model(model, k));
    check_independence(model.graph(), t.algorithm());
    for (ValueId id : step.inputs()) {
      const Graph::ValueEntry& e = step.entry(id);
      if (const auto it = numbers.find(e.name); it != numbers.end())
        check_fit(variables[it->second], e.info.type, e.info.dims, "the input");
    }
    stage.update = assignments(t.update_binding(), step);
    stage.algorithm.emplace(std::move(step), session);
    return stage;
  }

  /// The main graph and a stage's algorithm as one graph, with the variables as inputs.
  onnx::ModelProto step_model(const onnx::ModelProto& model, int k) const {
    const onnx::TrainingInfoProto& t = model.training_info(k);
    onnx::ModelProto result = with_operators_of(model);
    onnx::GraphProto& g = *result.mutable_graph();
    g.set_name(t.algorithm().name());
    const auto add = [&](const onnx::GraphProto& part, int owner) {
      g.mutable_node()->MergeFrom(part.node());
      g.mutable_input()->MergeFrom(part.input());
      g.mutable_sparse_initializer()->MergeFrom(part.sparse_initializer());
      for (const auto& i : part.initializer()) {
        const auto it = numbers.find(i.name());
        if (it == numbers.end() || variables[it->second].owner != owner) *g.add_initializer() = i;
        else if (!variables[it->second].input) *g.add_input() = declaration(variables[it->second]);
      }
    };
    add(model.graph(), of_main_graph);
    add(t.algorithm(), k);
    *g.mutable_output() = t.algorithm().output();
    std::set<std::string_view> wanted;  // of the main graph's outputs
    for (const auto& b : t.update_binding()) wanted.insert(b.value());
    for (const auto& v : t.algorithm().output()) wanted.erase(v.name());
    for (const auto& v : model.graph().output())
      if (wanted.erase(v.name()) > 0) *g.add_output() = v;
    return result;
  }

  static onnx::ValueInfoProto declaration(const Variable& v) {
    onnx::ValueInfoProto info;
    info.set_name(v.name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(static_cast<int32_t>(v.value.tensor().dtype()));
    type.mutable_shape();
    for (int64_t extent : v.value.tensor().extents()) type.mutable_shape()->add_dim()->set_dim_value(extent);
    return info;
  }
};

Training::Training(const Model& model, const SessionOptions& session, const LoadOptions& load)
    : state_(std::make_unique<State>(model, session, load)) {}
Training::Training(Training&&) noexcept = default;
Training& Training::operator=(Training&&) noexcept = default;
Training::~Training() = default;

std::size_t Training::stages() const { return state_->stages.size(); }
const Graph& Training::graph(std::size_t stage) const { return state_->at(stage).algorithm->graph(); }

void Training::initialize(const RunOptions& options) {
  RunOptions run = options;
  run.outputs.clear();
  std::vector<Value> values;
  for (const Variable& v : state_->variables) values.push_back(v.initial);
  for (std::size_t k = 0; k < stages(); ++k) {
    const Stage& stage = state_->stages[k];
    if (stage.initialize.empty()) continue;
    in_stage(static_cast<int>(k), [&] {
      Outputs outputs = stage.initialization->run({}, run);
      for (const Assignment& a : stage.initialize) {
        check_fit(state_->variables[a.variable], outputs[a.place], str_cat("'", a.output, "'"));
        values[a.variable] = outputs[a.place];
      }
    });
  }
  for (std::size_t v = 0; v < values.size(); ++v) state_->variables[v].value = std::move(values[v]);
}

Outputs Training::step(const Feeds& feeds, std::size_t number, const RunOptions& options) {
  Stage& stage = state_->at(number);
  return in_stage(static_cast<int>(number), [&] {
    RunOptions run = options;
    std::vector<std::size_t> places;  // of the new values among the outputs
    for (const Assignment& a : stage.update) {
      places.push_back(a.place);
      if (options.outputs.empty()) continue;
      const auto at = std::ranges::find(run.outputs, a.output) - run.outputs.begin();
      places.back() = static_cast<std::size_t>(at);
      if (places.back() == run.outputs.size()) run.outputs.push_back(a.output);
    }
    Feeds all;
    for (std::size_t v : stage.variables) {
      const Variable& variable = state_->variables[v];
      all.emplace_back(variable.name, variable.value);
      if (!variable.input &&
          std::ranges::find(feeds, variable.name, &Feeds::value_type::first) != feeds.end())
        throw Error(ErrorCode::invalid_argument, str_cat("variable '", variable.name, "'"),
                    "it is no input that a step can be given");
    }
    all.insert(all.end(), feeds.begin(), feeds.end());
    stage.algorithm->run(all, stage.outputs, run);
    for (std::size_t k = 0; k < places.size(); ++k)
      check_fit(state_->variables[stage.update[k].variable], stage.outputs[places[k]],
                str_cat("'", stage.update[k].output, "'"));
    Outputs result = stage.outputs;
    // The next step may write to the memory of a value that is no longer used.
    for (std::size_t k = 0; k < places.size(); ++k)
      stage.outputs[places[k]] =
          std::exchange(state_->variables[stage.update[k].variable].value, result[places[k]]);
    return result;
  });
}

std::vector<std::string> Training::variables() const {
  std::vector<std::string> names;
  for (const Variable& v : state_->variables) names.push_back(v.name);
  return names;
}
const Value& Training::operator[](std::string_view variable) const { return state_->find(variable).value; }
void Training::assign(std::string_view variable, Value value) {
  Variable& v = state_->find(variable);
  check_fit(v, value, "the value");
  v.value = std::move(value);
}

void Training::store(Model& into) const {
  onnx::ModelProto& model = into.proto();
  std::vector<onnx::TensorProto*> places(state_->variables.size());
  for (int owner = of_main_graph; owner < model.training_info_size(); ++owner) {
    if (owner != of_main_graph && !model.training_info(owner).has_algorithm()) continue;
    auto& g = owner == of_main_graph ? *model.mutable_graph()
                                     : *model.mutable_training_info(owner)->mutable_algorithm();
    for (auto& t : *g.mutable_initializer())
      if (const auto it = state_->numbers.find(t.name());
          it != state_->numbers.end() && state_->variables[it->second].owner == owner)
        places[it->second] = &t;
  }
  for (std::size_t k = 0; k < places.size(); ++k)
    if (places[k] == nullptr)
      throw Error(ErrorCode::invalid_argument, "training",
                  str_cat("the model has no variable '", state_->variables[k].name, "'"));
  for (std::size_t k = 0; k < places.size(); ++k) {
    onnx::TensorProto t;
    t.set_name(places[k]->name());
    if (places[k]->has_doc_string()) t.set_doc_string(places[k]->doc_string());
    *t.mutable_metadata_props() = places[k]->metadata_props();
    loader::write_tensor(state_->variables[k].value.tensor(), t);
    places[k]->Swap(&t);
  }
}

}  // namespace tenon::TENON_ABI
