// The texts of operators, of the standard registry and of passes.
#include "loader/compile/compile_operator.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "tenon/graph/fused/blocked_conv.hpp"
#include "tenon/graph/fused/conv_chain.hpp"
#include "tenon/graph/fused/fields.hpp"
#include "tenon/graph/fused/fused_attention.hpp"
#include "tenon/graph/fused/last_conv.hpp"
#include "tenon/graph/fused/packed_conv.hpp"
#include "tenon/graph/fused/packed_conv_transpose.hpp"
#include "tenon/graph/fused/packed_mat_mul_integer.hpp"
#include "tenon/graph/fused/packed_recurrent.hpp"
#include "tenon/graph/fused/stored_trees.hpp"
#include "tenon/graph/passes/pack_matmul.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/framework/prepare.hpp"
#include "tenon/op/rnn/gru.hpp"
#include "tenon/op/rnn/lstm.hpp"
#include "tenon/op/rnn/rnn.hpp"
#include "tenon/op/traditionalml/linear_classifier.hpp"
#include "tenon/op/traditionalml/linear_regressor.hpp"
#include "tenon/op/traditionalml/svm_classifier.hpp"
#include "tenon/op/traditionalml/svm_regressor.hpp"
#include "tenon/op/traditionalml/tree_ensemble.hpp"
#include "tenon/op/traditionalml/tree_ensemble_classifier.hpp"
#include "tenon/op/traditionalml/tree_ensemble_regressor.hpp"

namespace tenon::TENON_ABI::emission {
namespace {

bool same(const op::AttributeValue& a, const op::AttributeValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class V>(const V& v) {
        if constexpr (requires { v == v; }) return v == std::get<V>(b);
        else return false;
      },
      a);
}

/// make(name{}, version, …) with the attributes that differ from `initial`.
OperatorText make_text(std::string_view name, int version, const std::vector<op::AttributeInfo>& attributes,
                       const std::vector<op::AttributeInfo>& initial, Constants& constants) {
  OperatorText text;
  std::string members, settings;
  for (std::size_t k = 0; k < attributes.size(); ++k) {
    const op::AttributeInfo& a = attributes[k];
    text.constant &= a.type != op::AttributeType::tensor && a.type != op::AttributeType::sparse;
    const auto* texts = std::get_if<std::vector<std::string>>(&a.value);
    const bool stated = texts != nullptr && !texts->empty();  // an initial list would allocate: none is made
    if (a.value.index() == 0 || (same(a.value, initial[k].value) && !stated)) continue;
    const auto list_of = [&](std::string_view type, const auto& of, auto word) {
      std::vector<std::string> words;
      for (const auto& one : of) words.push_back(word(one));
      return constants.list(type, words);
    };
    const auto number = [](auto v) { return literal(v); };
    std::string value;
    if (const auto* i = std::get_if<int64_t>(&a.value)) {
      value = str_cat("std::int64_t{", literal(*i), "}");
    } else if (const auto* f = std::get_if<float>(&a.value)) {
      value = literal(*f);
    } else if (const auto* s = std::get_if<std::string>(&a.value)) {
      value = str_cat("std::string_view(", c_text(*s), ")");
    } else if (const auto* v = std::get_if<std::vector<int64_t>>(&a.value)) {
      value = list_of("std::int64_t", *v, number);
    } else if (const auto* r = std::get_if<std::vector<float>>(&a.value)) {
      value = list_of("float", *r, number);
    } else if (texts != nullptr) {
      members +=
          str_cat(members.empty() ? "." : ", .", a.name, " = tenon::std::vector<tenon::std::string>::listed(",
                  list_of("tenon::std::string", *texts, c_text), ")");
      continue;
    } else if (const auto* t = std::get_if<Value>(&a.value);
               t != nullptr && a.type == op::AttributeType::tensor && t->tensor().dtype() != DType::string) {
      const AnyTensor& x = t->tensor();
      bool of_file = false;
      members += str_cat(
          members.empty() ? "." : ", .", a.name, " = {tenon::AnyTensor(", literal(x.dtype()), ", ",
          literal(Extents(x.extents())), ", ",
          constants.storage(x.storage().slice(0, static_cast<std::size_t>(x.bytes())), of_file), ")}");
      continue;
    } else {
      throw Refused{str_cat("attribute '", a.name, "' has no form in a header")};
    }
    settings += str_cat(", tenon::op::set(", c_text(a.name), ", ", value, ")");
  }
  text.expression = str_cat("tenon::op::make(", name, "{", members, "}, ", version, settings, ")");
  return text;
}
template <class Op>
OperatorText make_text(std::string_view name, const Op& op, Constants& constants) {
  return make_text(name, Op::spec.latest(), op::attributes_of(op), op::attributes_of(Op{}), constants);
}

using namespace passes;

/// The loops of the functions on floats, by number.
template <std::size_t... op>
auto loops_of_floats(std::index_sequence<op...>) {
  return std::array{kernels::unary_loop_of<static_cast<kernels::UnaryOp>(op), float>().run...};
}

/// The header of an operator of the registry.
std::string header_of(const Registry& registry, const op::Spec& spec) {
  const OperatorClass* const c = registry.find(spec.domain, spec.name, spec.latest(), true).op_class;
  if (c == nullptr) throw Refused{"the operator has no form in a header"};
  return std::string(registry.source(*c).header);
}

/// An aggregate of namespace tenon::passes, or of one of its fields, with those of its fields that differ
/// from their initial values.
class Aggregate {
 public:
  Aggregate(const Registry& registry, Constants& constants) : registry_(registry), constants_(constants) {}

  template <Listed T>
  OperatorText write(std::string_view type, std::string_view header, const T& value) {
    text_.headers.insert(str_cat("tenon/graph/fused/", header));
    text_.expression = str_cat("tenon::passes::", type, word(value));
    text_.constant &= !of_file_;
    return std::move(text_);
  }

 private:
  template <class T>
  std::string word(const T& v) {
    if constexpr (Listed<T>) {
      std::string text;
      const T initial{};
      for_each_field<T>([&](std::string_view name, auto member) {
        const std::string usual = word(initial.*member);
        std::string one = word(v.*member);
        if (one == usual) return;
        using Field = std::remove_cvref_t<decltype(v.*member)>;
        // Copies of lists are no constants.
        if constexpr (op::Operator<Field> && !Listed<Field> && std::is_trivially_copyable_v<Field>)
          if (inner_is_constant_) one = constants_.op(one);
        text += str_cat(text.empty() ? "." : ", .", name, " = ", one);
      });
      return str_cat("{", text, "}");
    } else if constexpr (op::Operator<T>) {
      text_.headers.insert(header_of(registry_, T::spec));
      const OperatorText inner = make_text(str_cat("tenon::op::", T::spec.name), v, constants_);
      inner_is_constant_ = inner.constant;
      return inner.expression;
    } else if constexpr (std::is_same_v<T, Storage>) {
      return constants_.storage(v, of_file_);
    } else if constexpr (std::is_same_v<T, Dims>) {
      return str_cat("tenon::Dims(", literal(v.extents()), ")");
    } else if constexpr (std::is_same_v<T, kernels::Activation<float>>) {
      if (!v) return "{}";
      text_.constant = false;
      return activation(v);
    } else if constexpr (std::is_same_v<T, kernels::NarrowMatrix>) {
      const auto& [type, k, n, block, data, zeros, rounds] = v;  // compute sets data and zeros
      if (type != DType::undefined) text_.types.insert(type);
      return str_cat("{", literal(type), ", ", k, ", ", n, ", ", block,
                     rounds ? ", nullptr, nullptr, true}" : "}");
    } else if constexpr (std::is_same_v<T, ConvChain::Stages>) {
      return list(v, "tenon::passes::BlockedConv");
    } else if constexpr (std::is_same_v<T, std::array<Storage, 5>> ||
                         std::is_same_v<T, std::array<uint8_t, 256>>) {
      return str_cat("{", list(v, ""), "}");
    } else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, uint8_t>) {
      return str_cat(int{v});
    } else {
      return literal(v);
    }
  }
  template <class List>
  std::string list(const List& of, std::string_view type) {
    std::string text;
    for (std::size_t k = 0; k < of.size(); ++k) text += str_cat(k > 0 ? ", " : "", type, word(of[k]));
    return str_cat("{", text, "}");
  }
  /// The expression that made an activation.
  static std::string activation(const kernels::Activation<float>& a) {
    const auto& [run, parameters] = a;
    const auto& [alpha, beta] = parameters;
    const auto loops =
        loops_of_floats(std::make_index_sequence<static_cast<std::size_t>(kernels::UnaryOp::op_count)>());
    const auto found = std::ranges::find(loops, run);
    if (found == loops.end()) throw Refused{"its activation has no name"};
    return str_cat("tenon::kernels::activation<tenon::kernels::UnaryOp::",
                   name_of(static_cast<kernels::UnaryOp>(found - loops.begin())),
                   ", float>({.alpha = ", literal(alpha), ", .beta = ", literal(beta), "})");
  }

  const Registry& registry_;
  Constants& constants_;
  OperatorText text_;
  bool of_file_ = false;
  bool inner_is_constant_ = false;  // the last operator among the fields
};

/// Prepared models of float, whose operators need no preparation at run time. Or nothing.
template <class... Op>
bool text_of_model(const AnyOperator& op, const Registry& registry, Constants& c,
                   std::optional<OperatorText>& text) {
  return ([&] {
    const auto* const p = op.as<op::PreparedModel<Op>>();
    if (p == nullptr) return false;
    if (p->element != DType::float32) throw Refused{"its model takes memory from the heap"};
    text = make_text(str_cat("tenon::op::", Op::spec.name), *p->op, c);
    text->headers.insert(header_of(registry, Op::spec));
    return true;
  }() || ...);
}

/// Ensembles of trees, in their final layout. Or nothing.
template <class... Op>
bool text_of_trees(const AnyOperator& op, const Registry& registry, Constants& c,
                   std::optional<OperatorText>& text) {
  const auto bytes = [](const auto& list) {
    return Storage::borrow(static_cast<const void*>(list.data()), list.size() * sizeof(list[0]));
  };
  const auto write = [&]<class O, class C>(const O& op, const op::TreeModel<C>& m) {
    StoredTrees<O, C> trees{.features = m.table.features(),
                            .base = bytes(m.base),
                            .targets = m.targets,
                            .only_target = m.only_target,
                            .aggregate = static_cast<int>(m.aggregate),
                            .transform = static_cast<int>(m.transform),
                            .negative_weights = m.negative_weights};
    if constexpr (requires { op.classlabels_int64s; }) {
      if (!op.classlabels_strings.empty()) throw Refused{"a value is no tensor of numbers"};
      trees.op.classlabels_int64s = op.classlabels_int64s;
    }
    Storage* list = trees.lists.data();
    kernels::TreeTable<C>::each_part(m.table, [&]<class P>(const P& part) {
      if constexpr (std::is_same_v<P, bool>) trees.track_nan = part;
      else if constexpr (!std::is_same_v<P, int64_t>) *list++ = bytes(part);
    });
    text = Aggregate(registry, c)
               .write(str_cat("StoredTrees<tenon::op::", O::spec.name, ", ", type_name(dtype_of<C>), ">"),
                      "stored_trees.hpp", trees);
    text->constant = false;  // attributes may be tensors
    text->headers.insert(header_of(registry, O::spec));
  };
  return ([&] {
    const auto* const p = op.as<op::PreparedModel<Op>>();
    if (p == nullptr) return false;
    op::detail::dispatch_mask<Op::spec.types[0].any().tensor>(p->element, [&]<class T>() {
      using Model = decltype(p->op->template prepare<T>());
      write(*p->op, *static_cast<const Model*>(p->model.get()));
    });
    return true;
  }() || ...);
}

/// An operator that passes insert: its type's name and its header, in graph/fused/.
template <class Op>
struct Fused {
  std::string type;
  std::string_view header;
};
/// Tries them in turn.
template <class... Op>
bool text_of_one(const AnyOperator& op, const Registry& registry, Constants& c,
                 std::optional<OperatorText>& text, const Fused<Op>&... fused) {
  return ([&] {
    const Op* const p = op.as<Op>();
    if (p != nullptr) text = Aggregate(registry, c).write(fused.type, fused.header, *p);
    return p != nullptr;
  }() || ...);
}
template <class Op>
Fused<PackedRecurrent<Op>> recurrent() {
  return {str_cat("PackedRecurrent<tenon::op::", Op::spec.name, ">"), "packed_recurrent.hpp"};
}

}  // namespace

OperatorText text_of(const AnyOperator& op, const Registry& registry, Constants& c) {
  std::optional<OperatorText> text;
  const Fused<PackedMatMul> product{"PackedMatMul", "packed_mat_mul.hpp"};
  if (const auto* late = op.as<FileMatMul>())
    return Aggregate(registry, c).write(product.type, product.header, late->packed());
  if (text_of_one(
          op, registry, c, text, product, Fused<PackedConv>{"PackedConv", "packed_conv.hpp"},
          Fused<BlockedConv>{"BlockedConv", "blocked_conv.hpp"},
          Fused<ConvChain>{"ConvChain", "conv_chain.hpp"}, Fused<ToBlocks>{"ToBlocks", "blocked_conv.hpp"},
          Fused<FromBlocks>{"FromBlocks", "blocked_conv.hpp"},
          Fused<BlockedMean>{"BlockedMean", "blocked_conv.hpp"},
          Fused<QuantizedConv>{"QuantizedConv", "quantized.hpp"},
          Fused<QuantizedMatMul>{"QuantizedMatMul", "quantized.hpp"},
          Fused<QuantizedAdd>{"QuantizedAdd", "quantized.hpp"},
          Fused<QuantizedMul>{"QuantizedMul", "quantized.hpp"},
          Fused<QuantizedGlobalAverage>{"QuantizedGlobalAverage", "quantized.hpp"},
          Fused<ByteTable>{"ByteTable", "quantized.hpp"},
          Fused<MoveChannels>{"MoveChannels", "last_conv.hpp"}, Fused<LastConv>{"LastConv", "last_conv.hpp"},
          Fused<PackedMatMulInteger>{"PackedMatMulInteger", "packed_mat_mul_integer.hpp"},
          recurrent<op::GRU>(), recurrent<op::LSTM>(), recurrent<op::RNN>(),
          Fused<PackedConvTranspose>{"PackedConvTranspose", "packed_conv_transpose.hpp"},
          Fused<FusedAttention>{"FusedAttention", "fused_attention.hpp"}))
    return *std::move(text);
  if (text_of_model<op::LinearClassifier, op::LinearRegressor, op::SVMClassifier, op::SVMRegressor>(
          op, registry, c, text))
    return *std::move(text);
  if (text_of_trees<op::TreeEnsemble, op::TreeEnsembleClassifier, op::TreeEnsembleRegressor>(op, registry, c,
                                                                                             text))
    return *std::move(text);
  const op::Spec& spec = op.spec();
  if (spec.workspace == op::Workspace::heap) throw Refused{"it takes memory from the heap"};
  if (spec.workspace == op::Workspace::unplanned) throw Refused{"its working memory depends on data"};
  if (op.takes_context()) throw Refused{"it may run bodies"};
  const OperatorClass* const op_class = registry.find(spec.domain, spec.name, op.version(), true).op_class;
  const OperatorSource source = op_class == nullptr ? OperatorSource{} : registry.source(*op_class);
  if (source.type.empty() || !op_class->same_operator(op.op_class()))
    throw Refused{"the operator has no form in a header"};
  OperatorText made = make_text(source.type, op.version(), op.attributes(),
                                op_class->attributes(op_class->create(op.version()).get()), c);
  made.headers.insert(std::string(source.header));
  return made;
}

}  // namespace tenon::TENON_ABI::emission
