// The texts of operators, of the standard registry and of passes.
#include "loader/compile_operator.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "tenon/graph/fused/blocked_conv.hpp"
#include "tenon/graph/fused/conv_chain.hpp"
#include "tenon/graph/fused/fused_attention.hpp"
#include "tenon/graph/fused/last_conv.hpp"
#include "tenon/graph/fused/packed_conv.hpp"
#include "tenon/graph/fused/packed_conv_transpose.hpp"
#include "tenon/graph/fused/packed_mat_mul_integer.hpp"
#include "tenon/graph/fused/packed_recurrent.hpp"
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
    const bool stated = texts != nullptr && !texts->empty();  // an initial list takes memory, and is not made
    if (a.value.index() == 0 || (same(a.value, initial[k].value) && !stated)) continue;
    const auto list_of = [&](std::string_view type, const auto& of, auto word) {
      std::vector<std::string> words;
      for (const auto& one : of) words.push_back(word(one));
      return constants.list(type, words);
    };
    const auto number = [](auto v) { return literal(v); };
    std::string value;
    if (const auto* i = std::get_if<int64_t>(&a.value)) {
      value = concat("std::int64_t{", literal(*i), "}");
    } else if (const auto* f = std::get_if<float>(&a.value)) {
      value = literal(*f);
    } else if (const auto* s = std::get_if<std::string>(&a.value)) {
      value = concat("std::string_view(", c_text(*s), ")");
    } else if (const auto* v = std::get_if<std::vector<int64_t>>(&a.value)) {
      value = list_of("std::int64_t", *v, number);
    } else if (const auto* r = std::get_if<std::vector<float>>(&a.value)) {
      value = list_of("float", *r, number);
    } else if (texts != nullptr) {
      members += concat(members.empty() ? "." : ", .", a.name,
                        " = tenon::standin::vector<tenon::standin::string>::listed(",
                        list_of("tenon::standin::string", *texts, c_text), ")");
      continue;
    } else if (const auto* t = std::get_if<Value>(&a.value);
               t != nullptr && a.type == op::AttributeType::tensor && t->tensor().dtype() != DType::string) {
      const AnyTensor& x = t->tensor();
      bool of_file = false;
      members +=
          concat(members.empty() ? "." : ", .", a.name, " = {tenon::AnyTensor(", literal(x.dtype()), ", ",
                 literal(Extents(x.extents())), ", ",
                 constants.storage(x.storage().slice(0, static_cast<std::size_t>(x.bytes())), of_file), ")}");
      continue;
    } else {
      throw Refused{concat("attribute '", a.name, "' has no form in a header")};
    }
    settings += concat(", tenon::op::set(", c_text(a.name), ", ", value, ")");
  }
  text.expression = concat("tenon::op::make(", name, "{", members, "}, ", version, settings, ")");
  return text;
}
template <class Op>
OperatorText make_text(std::string_view name, const Op& op, Constants& constants) {
  return make_text(name, Op::spec.latest(), op::attributes_of(op), op::attributes_of(Op{}), constants);
}

using namespace passes;

/// The members of an aggregate of namespace tenon::passes.
class Aggregate {
 public:
  Aggregate(std::string_view name, Constants& constants)
      : text_(concat("tenon::passes::", name, "{")), constants_(constants) {}
  template <class T>
  Aggregate& set(std::string_view name, const T& value) {
    text_ += concat(text_.back() == '{' ? "." : ", .", name, " = ", word(value));
    return *this;
  }
  Aggregate& set_text(std::string_view name, const std::string& value) {
    text_ += concat(text_.back() == '{' ? "." : ", .", name, " = ", value);
    return *this;
  }
  OperatorText take(std::string header) { return {text_ + "}", {std::move(header)}, !of_file_}; }

 private:
  template <class T>
  std::string word(const T& v) {
    if constexpr (std::is_same_v<T, Storage>) return constants_.storage(v, of_file_);
    else if constexpr (std::is_same_v<T, Dims>) return concat("tenon::Dims(", literal(v.extents()), ")");
    else if constexpr (std::is_same_v<T, Bounds>) return concat("{", literal(v.lo), ", ", literal(v.hi), "}");
    else if constexpr (std::is_same_v<T, ByteScale>)
      return concat("{", literal(v.type), ", ", literal(v.scale), ", ", v.zero, "}");
    else if constexpr (std::is_same_v<T, ByteRange>)
      return concat("{", word(v.as), ", ", v.lo, ", ", v.hi, "}");
    else if constexpr (requires { T::spec; })
      return make_text(concat("tenon::op::", T::spec.name), v, constants_).expression;
    else return literal(v);
  }

  std::string text_;
  Constants& constants_;
  bool of_file_ = false;
};

constexpr std::string_view fused = "tenon/graph/fused/";

/// An activation in the words that made it.
std::string activation_text(const kernels::Activation<float>& a) {
  std::string text;
  const auto one = [&]<kernels::UnaryOp op>(std::string_view name) {
    if (text.empty() && a.run == kernels::activation<op, float>().run)
      text = concat("tenon::kernels::activation<tenon::kernels::UnaryOp::", name,
                    ", float>({.alpha = ", literal(a.parameters.alpha),
                    ", .beta = ", literal(a.parameters.beta), "})");
  };
  using enum kernels::UnaryOp;
  one.operator()<hard_swish>("hard_swish");
  one.operator()<mish>("mish");
  one.operator()<sigmoid>("sigmoid");
  one.operator()<tanh>("tanh");
  one.operator()<elu>("elu");
  one.operator()<leaky_relu>("leaky_relu");
  one.operator()<swish>("swish");
  one.operator()<hard_sigmoid>("hard_sigmoid");
  one.operator()<gelu_tanh>("gelu_tanh");
  one.operator()<gelu>("gelu");
  if (text.empty()) throw Refused{"its activation has no name"};
  return text;
}

OperatorText text_of(const PackedMatMul& p, Constants& c) {
  Aggregate a("PackedMatMul", c);
  a.set("alpha", p.alpha)
      .set("beta", p.beta)
      .set("trans_a", p.trans_a)
      .set("gemm", p.gemm)
      .set("bounds", p.bounds);
  a.set("element", p.element)
      .set("k", p.k)
      .set("n", p.n)
      .set("b", p.b)
      .set("b_row", p.b_row)
      .set("b_col", p.b_col);
  a.set("zeros", p.zeros).set("bias", p.bias);
  if (p.narrow.type != DType::undefined)
    a.set_text("narrow", concat("{", literal(p.narrow.type), ", ", p.narrow.k, ", ", p.narrow.n, ", ",
                                p.narrow.block, "}"));
  return a.take(concat(fused, "packed_mat_mul.hpp"));
}
OperatorText text_of(const PackedConv& p, Constants& c) {
  Aggregate a("PackedConv", c);
  a.set("conv", p.conv).set("bounds", p.bounds).set("element", p.element).set("extents", p.extents);
  a.set("weights", p.weights).set("bias", p.bias).set("packed", p.packed);
  return a.take(concat(fused, "packed_conv.hpp"));
}
OperatorText text_of(const PackedConvTranspose& p, Constants& c) {
  Aggregate a("PackedConvTranspose", c);
  a.set("op", p.op).set("element", p.element).set("extents", p.extents).set("in", p.in);
  return a.set("weights", p.weights).take(concat(fused, "packed_conv_transpose.hpp"));
}
OperatorText text_of(const BlockedConv& p, Constants& c) {
  Aggregate a("BlockedConv", c);
  a.set("conv", p.conv).set("bounds", p.bounds).set("block", p.block).set("extents", p.extents);
  a.set("plain_x", p.plain_x).set("plain_y", p.plain_y).set("winograd", int64_t{p.winograd});
  a.set("weights", p.weights).set("bias", p.bias);
  if (p.activation) a.set_text("activation", activation_text(p.activation));
  OperatorText text = a.take(concat(fused, "blocked_conv.hpp"));
  text.constant &= !p.activation;
  return text;
}
OperatorText text_of(const ConvChain& p, Constants& c) {
  std::string stages;
  bool constant = true;
  for (std::size_t k = 0; k < p.stages.size(); ++k) {
    const OperatorText one = text_of(p.stages[k], c);
    stages += concat(stages.empty() ? "" : ", ", one.expression);
    constant &= one.constant;
  }
  OperatorText text = Aggregate("ConvChain", c)
                          .set_text("stages", concat("{", stages, "}"))
                          .take(concat(fused, "conv_chain.hpp"));
  text.constant &= constant;
  return text;
}
OperatorText text_of(const FusedAttention& p, Constants& c) {
  return Aggregate("FusedAttention", c)
      .set("scale", p.scale)
      .set("heads", p.heads)
      .take(concat(fused, "fused_attention.hpp"));
}
OperatorText text_of(const ToBlocks& p, Constants& c) {
  return Aggregate("ToBlocks", c).set("block", p.block).take(concat(fused, "blocked_conv.hpp"));
}
OperatorText text_of(const FromBlocks& p, Constants& c) {
  return Aggregate("FromBlocks", c).set("channels", p.channels).take(concat(fused, "blocked_conv.hpp"));
}
OperatorText text_of(const BlockedMean&, Constants& c) {
  return Aggregate("BlockedMean", c).take(concat(fused, "blocked_conv.hpp"));
}
OperatorText text_of(const QuantizedConv& p, Constants& c) {
  Aggregate a("QuantizedConv", c);
  a.set("conv", p.conv).set("x", p.x).set("y", p.y).set("extents", p.extents).set("plain", p.plain);
  return a.set("weights", p.weights)
      .set("bias", p.bias)
      .set("scales", p.scales)
      .take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const QuantizedMatMul& p, Constants& c) {
  Aggregate a("QuantizedMatMul", c);
  a.set("a", p.a).set("y", p.y).set("gemm", p.gemm).set("k", p.k).set("n", p.n);
  return a.set("b", p.b).set("bias", p.bias).set("scales", p.scales).take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const QuantizedAdd& p, Constants& c) {
  return Aggregate("QuantizedAdd", c)
      .set("a", p.a)
      .set("b", p.b)
      .set("y", p.y)
      .take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const QuantizedMul& p, Constants& c) {
  Aggregate a("QuantizedMul", c);
  a.set("a", p.a).set("b", p.b).set("y", p.y).set("spread", p.spread).set("last", p.last);
  return a.take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const QuantizedGlobalAverage& p, Constants& c) {
  return Aggregate("QuantizedGlobalAverage", c)
      .set("x", p.x)
      .set("y", p.y)
      .set("last", p.last)
      .take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const ByteTable& p, Constants& c) {
  std::string table = "{{";
  for (std::size_t k = 0; k < p.table.size(); ++k) table += concat(k > 0 ? "," : "", int{p.table[k]});
  return Aggregate("ByteTable", c)
      .set("x", p.x)
      .set("y", p.y)
      .set_text("table", table + "}}")
      .take(concat(fused, "quantized.hpp"));
}
OperatorText text_of(const MoveChannels& p, Constants& c) {
  return Aggregate("MoveChannels", c)
      .set("type", p.type)
      .set("back", p.back)
      .take(concat(fused, "last_conv.hpp"));
}
OperatorText text_of(const LastConv& p, Constants& c) {
  Aggregate a("LastConv", c);
  a.set("conv", p.conv).set("x", p.x).set("y", p.y).set("extents", p.extents).set("plain_x", p.plain_x);
  a.set("weights", p.weights).set("scales", p.scales);
  if (p.sum) {
    const auto scale = [&](const ByteScale& s) {
      return concat("{", literal(s.type), ", ", literal(s.scale), ", ", s.zero, "}");
    };
    a.set_text("sum", concat("tenon::passes::LastConv::Sum{", scale(p.sum->z), ", {", scale(p.sum->y.as),
                             ", ", p.sum->y.lo, ", ", p.sum->y.hi, "}}"));
  }
  return a.take(concat(fused, "last_conv.hpp"));
}
OperatorText text_of(const PackedMatMulInteger& p, Constants& c) {
  Aggregate a("PackedMatMulInteger", c);
  a.set("element", p.element)
      .set("k", p.k)
      .set("n", p.n)
      .set("b", p.b)
      .set("scales", p.scales)
      .set("bias", p.bias);
  return a.set("bounds", p.bounds).take(concat(fused, "packed_mat_mul_integer.hpp"));
}

template <class Op>
OperatorText text_of(const PackedRecurrent<Op>& p, Constants& c) {
  Aggregate a(concat("PackedRecurrent<tenon::op::", Op::spec.name, ">"), c);
  a.set("op", p.op).set("element", p.element).set("extents", p.extents).set("w", p.w);
  OperatorText text = a.take(concat(fused, "packed_recurrent.hpp"));
  std::string name(Op::spec.name);
  for (char& c : name) c = static_cast<char>(c - 'A' + 'a');
  text.headers.insert(concat("tenon/op/rnn/", name, ".hpp"));
  return text;
}

/// Models whose floats need no preparation: their operators prepare nothing in a run. Or nothing.
template <class... Op>
bool text_of_model(const AnyOperator& op, std::span<const HeaderText> files, Constants& c,
                   std::optional<OperatorText>& text) {
  return ([&] {
    const auto* const p = op.as<op::PreparedModel<Op>>();
    if (p == nullptr) return false;
    if (p->element != DType::float32) throw Refused{"its model takes memory from the heap"};
    text = make_text(concat("tenon::op::", Op::spec.name), *p->op, c);
    text->headers.insert(operator_header(files, Op::spec.name));
    return true;
  }() || ...);
}

/// Ensembles of trees, as they are laid out. Or nothing.
template <class... Op>
bool text_of_trees(const AnyOperator& op, std::span<const HeaderText> files, Constants& c,
                   std::optional<OperatorText>& text) {
  const auto bytes = [](const auto& list) {
    return Storage::borrow(static_cast<const void*>(list.data()), list.size() * sizeof(list[0]));
  };
  const auto write = [&]<class O, class C>(const O& op, const op::TreeModel<C>& m) {
    Aggregate a(concat("StoredTrees<tenon::op::", O::spec.name, ", ", type_name(dtype_of<C>), ">"), c);
    O labels{};
    if constexpr (requires { labels.classlabels_int64s; }) {
      if (!op.classlabels_strings.empty()) throw Refused{"a value is no tensor of numbers"};
      labels.classlabels_int64s = op.classlabels_int64s;
    }
    a.set("op", labels);
    std::string lists, numbers;
    bool of_file = false;
    kernels::TreeTable<C>::each_part(m.table, [&]<class P>(const P& part) {
      if constexpr (std::is_same_v<P, bool>)
        a.set_text("lists", lists + "}").set("features", m.table.features()).set("track_nan", part);
      else if constexpr (!std::is_same_v<P, int64_t>)
        lists += concat(lists.empty() ? "{" : ", ", c.storage(bytes(part), of_file));
    });
    a.set("base", bytes(m.base)).set("targets", m.targets).set("only_target", m.only_target);
    a.set("aggregate", static_cast<int64_t>(m.aggregate)).set("transform", static_cast<int64_t>(m.transform));
    text = a.set("negative_weights", m.negative_weights).take(concat(fused, "stored_trees.hpp"));
    text->constant = false;  // attributes may be tensors
    text->headers.insert(operator_header(files, O::spec.name));
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

/// Tries the operators that passes make, in turn.
template <class... Op>
bool text_of_one(const AnyOperator& op, Constants& c, std::optional<OperatorText>& text) {
  return ([&] {
    const Op* const p = op.as<Op>();
    if (p != nullptr) text = text_of(*p, c);
    return p != nullptr;
  }() || ...);
}

}  // namespace

OperatorText text_of(const AnyOperator& op, std::span<const HeaderText> files, Constants& c) {
  std::optional<OperatorText> text;
  if (const auto* late = op.as<FileMatMul>()) return text_of(late->packed(), c);
  if (text_of_one<PackedMatMul, PackedConv, BlockedConv, ConvChain, ToBlocks, FromBlocks, BlockedMean,
                  QuantizedConv, QuantizedMatMul, QuantizedAdd, QuantizedMul, QuantizedGlobalAverage,
                  ByteTable, MoveChannels, LastConv, PackedMatMulInteger, PackedRecurrent<op::GRU>,
                  PackedRecurrent<op::LSTM>, PackedRecurrent<op::RNN>, PackedConvTranspose, FusedAttention>(
          op, c, text))
    return *std::move(text);
  if (text_of_model<op::LinearClassifier, op::LinearRegressor, op::SVMClassifier, op::SVMRegressor>(op, files,
                                                                                                    c, text))
    return *std::move(text);
  if (text_of_trees<op::TreeEnsemble, op::TreeEnsembleClassifier, op::TreeEnsembleRegressor>(op, files, c,
                                                                                             text))
    return *std::move(text);
  const op::Spec& spec = op.spec();
  if (spec.workspace == op::Workspace::heap) throw Refused{"it takes memory from the heap"};
  if (spec.workspace == op::Workspace::unplanned) throw Refused{"its working memory depends on data"};
  if (op.takes_context()) throw Refused{"it may run bodies"};
  const auto& operators = standard_registry().operators();
  const auto found = operators.find({std::string(spec.domain), std::string(spec.name)});
  const OperatorClass* op_class = nullptr;
  if (found != operators.end())
    for (const auto& [since, one] : found->second)
      if (one->same_operator(op.op_class())) op_class = one;
  if (op_class == nullptr) throw Refused{"the operator has no form in a header"};
  std::string name = concat("tenon::op::", spec.name);
  if (found->second.rbegin()->second != op_class) name += concat("_", spec.since[0]);
  OperatorText made = make_text(name, op.version(), op.attributes(),
                                op_class->attributes(op_class->create(op.version()).get()), c);
  try {
    made.headers.insert(operator_header(files, spec.name));
  } catch (const Error& e) {
    throw Refused{e.message()};
  }
  return made;
}

}  // namespace tenon::TENON_ABI::emission
