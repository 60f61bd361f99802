#include "loader/format/large_data.hpp"

#include <charconv>

#include "loader/edit/order.hpp"
#include "loader/format/tensor.hpp"
#include "loader/format/wire.hpp"
#include "loader/opsets.hpp"
#include "loader/text/text_words.hpp"
#include "tenon/base/types.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

int64_t data_bytes(const onnx::TensorProto& t) {
  return packed_bytes(elements_of(t), dtype_from_onnx(t.data_type()));
}

// Makes a tensor of the same name, type and extents without data.
void describe(const onnx::TensorProto& t, onnx::TensorProto& description) {
  if (t.has_name()) description.set_name(t.name());
  description.set_data_type(t.data_type());
  *description.mutable_dims() = t.dims();
  set_reference(description,
                {.location = "large tensor", .offset = 0, .size = data_bytes(t), .checksum = {}});
}

// The prefix of the entry that marks placeholders of large tensors: data may be taken out of a message from
// which other data has already been taken.
std::string mark_of(const LargeData* data) { return str_cat(reinterpret_cast<std::uintptr_t>(data), ":"); }

bool is_constant(const onnx::NodeProto& n) { return is_standard(n, "Constant"); }

// Calls visit with the tensor of each initializer and Constant, in bodies too.
template <class Visit>
void each_constant(NodeList& nodes, Visit visit);
template <class Visit>
void each_constant(onnx::GraphProto& g, Visit visit) {
  for (auto& t : *g.mutable_initializer()) visit(t);
  each_constant(*g.mutable_node(), visit);
}
template <class Visit>
void each_constant(NodeList& nodes, Visit visit) {
  for (auto& n : nodes)
    for (auto& a : *n.mutable_attribute()) {
      if (a.has_t() && is_constant(n)) visit(*a.mutable_t());
      if (a.has_g()) each_constant(*a.mutable_g(), visit);
      for (auto& g : *a.mutable_graphs()) each_constant(g, visit);
    }
}

// --- copies for inference ---

void copy_graph(const onnx::GraphProto& from, onnx::GraphProto& to);

void copy_tensor(const onnx::TensorProto& from, onnx::TensorProto& to) {
  if (is_large(from)) describe(from, to);
  else to = from;
}
void copy_node(const onnx::NodeProto& from, onnx::NodeProto& to) {
  if (static_cast<int64_t>(from.ByteSizeLong()) < large_bytes) {
    to = from;
    return;
  }
  if (from.has_name()) to.set_name(from.name());
  to.set_op_type(from.op_type());
  to.set_domain(from.domain());
  to.set_overload(from.overload());
  *to.mutable_input() = from.input();
  *to.mutable_output() = from.output();
  for (const auto& a : from.attribute()) {
    onnx::AttributeProto& copy = *to.add_attribute();
    if (!a.has_g() && !(a.has_t() && is_constant(from))) {
      copy = a;
      continue;
    }
    copy.set_name(a.name());
    if (a.has_type()) copy.set_type(a.type());
    if (a.has_ref_attr_name()) copy.set_ref_attr_name(a.ref_attr_name());
    if (a.has_t()) copy_tensor(a.t(), *copy.mutable_t());
    if (a.has_g()) copy_graph(a.g(), *copy.mutable_g());
  }
}
void copy_graph(const onnx::GraphProto& from, onnx::GraphProto& to) {
  to.set_name(from.name());
  *to.mutable_input() = from.input();
  *to.mutable_output() = from.output();
  *to.mutable_value_info() = from.value_info();
  *to.mutable_sparse_initializer() = from.sparse_initializer();
  to.mutable_initializer()->Reserve(from.initializer_size());
  for (const auto& t : from.initializer()) copy_tensor(t, *to.add_initializer());
  to.mutable_node()->Reserve(from.node_size());
  for (const auto& n : from.node()) copy_node(n, *to.add_node());
}

}  // namespace

bool is_large(const onnx::TensorProto& t) {
  const DType d = dtype_from_onnx(t.data_type());
  const int64_t count = elements_of(t);
  if (is_external(t) || t.has_segment() || t.dims_size() > max_rank || d == DType::undefined ||
      d == DType::string || count <= 0 || count > INT64_MAX / 16)
    return false;
  const int64_t others = int64_t{t.int32_data_size()} + t.int64_data_size() + t.uint64_data_size() +
                         t.double_data_size() + t.string_data_size();
  if (packed_bytes(count, d) < large_bytes || others > 0) return false;
  return t.has_raw_data() ? t.float_data_size() == 0 && std::ssize(t.raw_data()) == packed_bytes(count, d)
                          : d == DType::float32 && t.float_data_size() == count;
}

LargeData::LargeData(onnx::ModelProto& model, Of of) : model_(model) {
  std::vector<onnx::TensorProto*> found;
  const auto visit = [&](onnx::TensorProto& t) {
    if (is_large(t)) found.push_back(&t);
  };
  const auto visit_graph = [&](onnx::GraphProto& g) {
    if (of == Of::everything) return each_constant(g, visit);
    for (auto& t : *g.mutable_initializer()) visit(t);
  };
  if (model.has_graph()) visit_graph(*model.mutable_graph());
  for (auto& t : *model.mutable_training_info()) {
    if (t.has_initialization()) visit_graph(*t.mutable_initialization());
    if (t.has_algorithm()) visit_graph(*t.mutable_algorithm());
  }
  if (of == Of::everything)
    for (auto& f : *model.mutable_functions()) each_constant(*f.mutable_node(), visit);
  // All memory is allocated before the first tensor is taken, so that nothing fails in between.
  tensors_.resize(found.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    describe(*found[k], tensors_[k]);
    auto* mark = tensors_[k].add_external_data();
    mark->set_key(std::string(mapped_key));
    mark->set_value(str_cat(mark_of(this), k));
  }
  for (std::size_t k = 0; k < found.size(); ++k) tensors_[k].Swap(found[k]);
}

LargeData::~LargeData() {
  if (out_) put_into(model_);
}

std::optional<std::size_t> LargeData::number_of(const onnx::TensorProto& t) const {
  const std::string mark = mark_of(this);
  for (const auto& e : t.external_data()) {
    if (e.key() != mapped_key || !e.value().starts_with(mark)) continue;
    const std::string_view digits = std::string_view(e.value()).substr(mark.size());
    std::size_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (number < tensors_.size()) return number;
  }
  return std::nullopt;
}

const onnx::TensorProto& LargeData::whole(const onnx::TensorProto& t) const {
  const auto number = number_of(t);
  return number && out_ ? tensors_[*number] : t;
}

void LargeData::put_into(onnx::ModelProto& model) {
  std::vector<const onnx::TensorProto*> places(tensors_.size());
  for_each_tensor(model, [&](onnx::TensorProto& t, bool) {
    const auto number = number_of(t);
    if (!number) return;
    onnx::TensorProto& tensor = tensors_[*number];
    if (places[*number] == nullptr) {
      if (!t.has_name()) tensor.clear_name();
      else if (tensor.name() != t.name()) tensor.mutable_name()->swap(*t.mutable_name());
      places[*number] = &t;
      t.Swap(&tensor);
      return;
    }
    onnx::TensorProto copy = *places[*number];
    copy.clear_name();
    if (t.has_name()) copy.set_name(t.name());
    t.Swap(&copy);
  });
  out_ = false;
}

onnx::ModelProto copy_for_inference(const onnx::ModelProto& model) {
  onnx::ModelProto copy;
  copy.set_ir_version(model.ir_version());
  *copy.mutable_opset_import() = model.opset_import();
  *copy.mutable_functions() = model.functions();
  copy_graph(model.graph(), *copy.mutable_graph());
  for (const auto& from : model.training_info()) {
    onnx::TrainingInfoProto& to = *copy.add_training_info();
    if (from.has_initialization()) copy_graph(from.initialization(), *to.mutable_initialization());
    if (from.has_algorithm()) copy_graph(from.algorithm(), *to.mutable_algorithm());
  }
  return copy;
}

}  // namespace tenon::TENON_ABI::loader
