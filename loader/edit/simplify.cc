#include "loader/edit/simplify.hpp"

#include <set>

#include "loader/convert/convert.hpp"
#include "loader/depth.hpp"
#include "loader/edit/branches.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/attribute.hpp"
#include "loader/format/large_data.hpp"
#include "loader/infer/infer.hpp"
#include "loader/message.hpp"
#include "loader/opsets.hpp"
#include "tenon/graph/limits.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/graph/text.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr int max_rounds = 16;                           // each of which folded something
constexpr int max_depth = 200;                           // of nested bodies
constexpr int64_t max_added_bytes = int64_t{256} << 20;  // for all constants

// The constants of a graph by name. Tensors of the file are read when a node requests them.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string, const onnx::TensorProto*, std::less<>> stated{};
  std::map<std::string, AnyTensor, std::less<>> computed{};
  std::set<std::string_view> others{};  // values of the graph that are no constants
  std::set<std::string_view> outputs{};

  std::optional<AnyTensor> find(const std::string& name) const {
    if (const auto it = computed.find(name); it != computed.end()) return it->second;
    if (const auto it = stated.find(name); it != stated.end()) return read_tensor(*it->second);
    if (outer == nullptr || others.contains(name)) return std::nullopt;
    return outer->find(name);
  }
};

class Simplifier {
 public:
  Simplifier(onnx::ModelProto& model, const SimplifyOptions& options)
      : model_(model),
        options_(options),
        registry_(registry_of(options.registry)),
        deadline_(options.time_limit),
        opsets_(read_opsets(model.opset_import(), "model")) {
    if (opsets_.empty()) opsets_.emplace("", 1);
    for (const auto& f : model.functions()) functions_.insert(key_of(f));
    for (const auto& t : model.training_info())
      for (const auto* bindings : {&t.initialization_binding(), &t.update_binding()})
        for (const auto& b : *bindings) bound_.insert(b.key());
    may_add_ = max_added_bytes + 2 * static_cast<int64_t>(model.ByteSizeLong());
  }

  void run() {
    sort_nodes(model_);
    for (int round = 0; round < max_rounds; ++round) {
      folded_ = false;
      infer();
      Scope scope;
      fold(*model_.mutable_graph(), scope, true);
      std::set<std::string_view> kept(bound_.begin(), bound_.end());
      for (const auto& t : model_.training_info()) {
        for (const auto* g : {&t.initialization(), &t.algorithm()})
          for (const auto& n : g->node()) kept.merge(names_read(n));
        for (const auto& v : t.algorithm().output()) kept.insert(v.name());
      }
      remove_unread(*model_.mutable_graph(), scope, kept);
      folded_ |= take_branches(model_, bound_);
      if (!folded_) return;
    }
  }

 private:
  // --- inference ---

  // The values of the main graph whose elements follow from extents.
  void infer() {
    inferred_.clear();
    onnx::ModelProto m = copy_for_inference(model_);
    onnx::GraphProto& g = *m.mutable_graph();
    std::set<std::string> inputs, results;
    for (const auto& v : g.input()) inputs.insert(v.name());
    for (const auto& n : g.node()) results.insert(n.output().begin(), n.output().end());
    // Runs may pass other values for these, and inference does not read external data.
    for (auto& t : *g.mutable_initializer())
      if (bound_.contains(t.name()) || inputs.contains(t.name()))
        t.set_data_location(onnx::TensorProto::EXTERNAL);
    try {
      infer_shapes(m, {.registry = options_.registry}, [&](const std::string& name, const op::Info& info) {
        if (results.contains(name)) note(name, info);
      });
    } catch (const Error&) {  // nodes with constant operands are still folded
    }
  }
  void note(const std::string& name, const op::Info& info) {
    const op::PropagatedData& elements = info.propagated;
    if (!elements.known() || info.type.kind != Kind::tensor || !op::is_propagated(info.type.element) ||
        !info.dims.known() || info.dims.count() != Dim(elements.size()))
      return;
    AnyTensor t = AnyTensor::uninitialized(info.type.element, info.dims.extents());
    for (int k = 0; k < elements.size(); ++k) {
      if (!elements[k].known()) return;
      const int64_t v = elements[k].value();
      if (t.dtype() == DType::int64) t.out().as<int64_t>()[k] = v;
      else if (t.dtype() == DType::int32) t.out().as<int32_t>()[k] = static_cast<int32_t>(v);
      else t.out().as<bool>()[k] = v != 0;
    }
    inferred_.emplace(name, std::move(t));
  }

  // --- folding ---

  void fold(onnx::GraphProto& g, Scope& scope, bool main) {
    const Depth depth(depth_, max_depth,
                      [](const char* why) { throw Error(ErrorCode::invalid_model, "model", why); });
    for (const auto& v : g.input()) scope.others.insert(v.name());
    for (const auto& v : g.output()) scope.outputs.insert(v.name());
    for (const auto& t : g.sparse_initializer()) scope.others.insert(t.values().name());
    for (const auto& n : g.node()) scope.others.insert(n.output().begin(), n.output().end());
    for (const auto& t : g.initializer()) {
      const bool changes = scope.others.contains(t.name()) || (main && bound_.contains(t.name()));
      if (changes || is_external(t)) scope.others.insert(t.name());
      else scope.stated.emplace(t.name(), &t);
    }
    for (onnx::NodeProto& n : *g.mutable_node()) {
      deadline_.check("simplifying");
      for (auto& a : *n.mutable_attribute()) {
        if (a.has_g()) fold_body(*a.mutable_g(), scope);
        for (auto& b : *a.mutable_graphs()) fold_body(b, scope);
      }
      fold_node(n, scope, main);
    }
  }
  void fold_body(onnx::GraphProto& g, const Scope& around) {
    Scope scope{.outer = &around};
    fold(g, scope, false);
    remove_unread(g, scope, {});
  }

  void fold_node(const onnx::NodeProto& n, Scope& scope, bool main) {
    if (n.output_size() == 0 || functions_.contains(key_of(n))) return;
    if (const onnx::TensorProto* t = tensor_of(n)) {
      scope.stated.emplace(n.output(0), t);
      return;
    }
    std::vector<AnyTensor> results;
    if (main) {
      for (const std::string& name : n.output())
        if (const auto it = inferred_.find(name); it != inferred_.end()) results.push_back(it->second);
      if (static_cast<int>(results.size()) < n.output_size()) results.clear();
    }
    try {
      if (results.empty()) results = evaluated(n, scope);
    } catch (const Error&) {
      return;  // the run reports it, if it reaches the node
    } catch (const std::bad_alloc&) {
      return;
    }
    if (results.empty()) return;
    int64_t bytes = 0;
    for (const AnyTensor& t : results) bytes += content_bytes(t);
    if (bytes > may_add_ || constants_as_nodes(n, scope) > 1) return;
    may_add_ -= bytes;
    for (int k = 0; k < n.output_size(); ++k)
      if (!n.output(k).empty()) scope.computed.emplace(n.output(k), results[static_cast<std::size_t>(k)]);
  }

  // The tensor that a Constant states in the message.
  static const onnx::TensorProto* tensor_of(const onnx::NodeProto& n) {
    if (!is_standard(n, "Constant") || n.output_size() != 1 || n.attribute_size() != 1 ||
        !n.attribute(0).has_t() || is_external(n.attribute(0).t()))
      return nullptr;
    return &n.attribute(0).t();
  }
  // The number of a node's results that would become Constant nodes.
  int constants_as_nodes(const onnx::NodeProto& n, const Scope& scope) const {
    return static_cast<int>(std::ranges::count_if(n.output(), [&](const std::string& name) {
      return !name.empty() && (!plain() || scope.outputs.contains(name));
    }));
  }
  // Whether constants may be initializers. Outputs are still nodes: some runtimes require it.
  bool plain() const { return model_.ir_version() >= ir_of_plain_initializers; }

  // The results of a node whose operands are constants; none if it has other operands, or results that are
  // too large or not tensors.
  std::vector<AnyTensor> evaluated(const onnx::NodeProto& n, const Scope& scope) {
    const std::string domain(canonical(n.domain()));
    const auto opset = opsets_.find(domain);
    if (opset == opsets_.end()) return {};
    for (const auto& a : n.attribute())
      if (a.has_g() || a.graphs_size() > 0 || a.type() == onnx::AttributeProto::GRAPH)
        return folded_by_session(n, scope);
    const Registry::Found found = registry_.find(domain, n.op_type(), opset->second);
    if (found.op_class == nullptr || !found.op_class->spec->deterministic) return {};
    std::vector<Value> operands;
    std::vector<op::Info> in;
    int64_t bytes = 0;
    for (const std::string& name : n.input()) {
      std::optional<AnyTensor> t;
      if (!name.empty() && !(t = scope.find(name))) return {};
      operands.push_back(t ? Value(*t) : Value());
      in.push_back(t ? op::info_of(operands.back()) : op::Info{});
      if (t) bytes += t->bytes();
    }
    std::vector<std::pair<std::string, op::AttributeValue>> attributes;
    for (const auto& a : n.attribute()) attributes.emplace_back(a.name(), read_attribute(a, {}, {}));
    const AnyOperator stated = make_operator(*found.op_class, found.version, std::move(attributes));
    const auto make = [&](std::size_t at, const op::AttributeValue& value, DType element) {
      if (operands.size() <= at) operands.resize(at + 1);
      operands[at] = Value(op::input_from_attribute(value, element));
      return op::info_of(operands[at]);
    };
    if (const op::Message m = stated.add_attribute_inputs(in, make); !m.empty()) return {};
    const AnyOperator op = stated.with_newest_inputs();
    const auto count =
        static_cast<std::size_t>(std::max(n.output_size(), op.spec().min_outputs(op.version())));
    std::vector<op::Info> out(count);
    if (const op::Message m = op.infer(in, out); !m.empty()) return {};
    const int64_t most = std::max(bytes, options_.max_bytes);
    std::vector<const Value*> pointers;
    for (const Value& v : operands) pointers.push_back(v ? &v : nullptr);
    for (const op::Info& i : out) {
      if (i.type.kind != Kind::tensor || !i.dims.known()) continue;
      const int64_t elements = element_count(i.dims.extents());
      if (packed_bytes(elements, i.type.element) > most) return {};
      if (i.type.element == DType::string && detail::most_text(op, pointers, elements) > most) return {};
    }
    op::Context context;
    std::vector<AnyTensor> results;
    for (Value& v : op::evaluate(op, context, pointers, count)) {
      if (static_cast<int>(results.size()) == n.output_size()) break;
      const bool named = !n.output(static_cast<int>(results.size())).empty();
      if (named && (!v.is_tensor() || content_bytes(v.tensor()) > most)) return {};
      results.push_back(named ? v.tensor() : AnyTensor());
    }
    return results;
  }

  // The same for a node that runs bodies: what a session of this node alone computes before any run.
  std::vector<AnyTensor> folded_by_session(const onnx::NodeProto& n, const Scope& scope) {
    onnx::ModelProto part;
    part.set_ir_version(std::max<int64_t>(model_.ir_version(), ir_of_plain_initializers));
    *part.mutable_opset_import() = model_.opset_import();
    onnx::GraphProto& g = *part.mutable_graph();
    int64_t bytes = 0;
    for (const std::string_view read : names_read(n)) {
      if (read.empty()) continue;
      const std::string name(read);
      const std::optional<AnyTensor> t = scope.find(name);
      if (!t || (bytes += content_bytes(*t)) > detail::most_folded_in_loop) return {};
      onnx::TensorProto& constant = *g.add_initializer();
      constant.set_name(name);
      write_tensor(*t, constant);
    }
    *g.add_node() = n;
    for (const std::string& name : n.output())
      if (!name.empty()) g.add_output()->set_name(name);
    const Session session(Model(std::move(part)).graph({.registry = options_.registry}));
    std::vector<AnyTensor> results;
    auto output = session.program().outputs().begin();
    for (const std::string& name : n.output()) {
      const Value known = name.empty() ? Value() : session.program().stored(*output++);
      if (!name.empty() && (!known.is_tensor() || content_bytes(known) > options_.max_bytes)) return {};
      results.push_back(name.empty() ? AnyTensor() : known.tensor());
    }
    return results;
  }

  // --- removal ---

  using Producers = std::map<std::string_view, int>;
  static bool is_folded(const onnx::GraphProto& g, const Scope& scope, std::string_view name, int producer) {
    return scope.computed.contains(name) && !is_standard(g.node(producer), "Constant");
  }

  // The nodes that the names `kept` depend on; adds the names that these nodes read.
  static std::vector<bool> needed_nodes(const onnx::GraphProto& g, const Scope& scope,
                                        const Producers& producers, std::set<std::string_view>& kept) {
    std::vector<bool> needed(static_cast<std::size_t>(g.node_size()));
    std::vector<std::string_view> open(kept.begin(), kept.end());
    while (!open.empty()) {
      const std::string_view name = open.back();
      open.pop_back();
      const auto it = producers.find(name);
      if (it == producers.end() || is_folded(g, scope, name, it->second) ||
          needed[static_cast<std::size_t>(it->second)])
        continue;
      needed[static_cast<std::size_t>(it->second)] = true;
      for (std::string_view read : names_read(g.node(it->second)))
        if (!read.empty() && kept.insert(read).second) open.push_back(read);
    }
    return needed;
  }
  // A Constant that replaces the node which made its value.
  static onnx::NodeProto constant_node(const std::string& name, const AnyTensor& tensor,
                                       const onnx::NodeProto& folded) {
    onnx::NodeProto n;
    n.set_op_type("Constant");
    if (folded.has_name()) n.set_name(folded.name());
    n.add_output(name);
    onnx::AttributeProto& a = *n.add_attribute();
    a.set_name("value");
    a.set_type(onnx::AttributeProto::TENSOR);
    write_tensor(tensor, *a.mutable_t());
    return n;
  }

  // Keeps the nodes that outputs, or the names `kept`, depend on, and writes the constants that these read.
  void remove_unread(onnx::GraphProto& g, const Scope& scope, std::set<std::string_view> kept) {
    Producers producers;
    for (int k = 0; k < g.node_size(); ++k)
      for (const std::string& name : g.node(k).output())
        if (!name.empty()) producers.emplace(name, k);
    for (const auto& v : g.output()) kept.insert(v.name());
    for (const auto& q : g.quantization_annotation())
      for (const auto& e : q.quant_parameter_tensor_names()) kept.insert(e.value());
    const std::vector<bool> needed = needed_nodes(g, scope, producers, kept);

    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    std::set<std::string> values, written;
    for (const auto& v : g.input()) values.insert(v.name());
    for (const auto& [name, tensor] : scope.computed) {
      if (!kept.contains(name) || !is_folded(g, scope, name, producers.at(name))) continue;
      folded_ = true;
      values.insert(name);
      written.insert(name);
      if (!plain() || scope.outputs.contains(name)) {
        *nodes.Add() = constant_node(name, tensor, g.node(producers.at(name)));
      } else {
        onnx::TensorProto& t = *g.add_initializer();
        t.set_name(name);
        write_tensor(tensor, t);
      }
    }
    const auto erase = [](auto& list, auto is) {
      list.erase(std::remove_if(list.begin(), list.end(), is), list.end());
    };
    erase(*g.mutable_initializer(),
          [&](const auto& t) { return !kept.contains(t.name()) && !values.contains(t.name()); });
    erase(*g.mutable_sparse_initializer(), [&](const auto& t) {
      return !kept.contains(t.values().name()) && !values.contains(t.values().name());
    });
    for (int k = 0; k < g.node_size(); ++k)
      if (needed[static_cast<std::size_t>(k)]) nodes.Add()->Swap(g.mutable_node(k));
    folded_ |= nodes.size() < g.node_size();
    for (const auto& n : nodes) values.insert(n.output().begin(), n.output().end());
    for (const auto& t : g.initializer()) values.insert(t.name());
    for (const auto& t : g.sparse_initializer()) values.insert(t.values().name());
    g.mutable_node()->Swap(&nodes);
    // Initializers state their types themselves.
    erase(*g.mutable_value_info(), [&](const auto& v) {
      return !values.contains(v.name()) || (plain() && written.contains(v.name()));
    });
    erase(*g.mutable_quantization_annotation(), [&](const auto& q) {
      return producers.contains(q.tensor_name()) && !values.contains(q.tensor_name());
    });
  }

  onnx::ModelProto& model_;
  const SimplifyOptions& options_;
  const Registry& registry_;
  detail::Deadline deadline_;
  Opsets opsets_;
  std::set<FunctionKey> functions_;
  std::map<std::string, AnyTensor, std::less<>> inferred_;
  std::set<std::string, std::less<>> bound_;  // initializers that training changes
  int64_t may_add_ = 0;                       // bytes of constants
  int depth_ = 0;
  bool folded_ = false;
};

}  // namespace

void simplify(onnx::ModelProto& model, const SimplifyOptions& options) { Simplifier(model, options).run(); }

}  // namespace tenon::TENON_ABI::loader
