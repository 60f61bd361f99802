// The conversion of one node from an operator set to an adjacent one.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "loader/convert/convert.hpp"
#include "loader/edit/names.hpp"
#include "loader/format/tensor.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::loader {

/// Names, types and constants of a graph while its nodes are converted.
struct ConvertScope {
  const ConvertScope* outer = nullptr;
  std::set<std::string, std::less<>> names{};                              ///< all values of the graph
  std::map<std::string, const onnx::TypeProto*, std::less<>> types{};      ///< as inferred
  std::map<std::string, const onnx::TensorProto*, std::less<>> tensors{};  ///< initializers and Constants
  /// The attributes of Constants whose values are not tensors.
  std::map<std::string, const onnx::AttributeProto*, std::less<>> constants{};
};

/// A vector, or a scalar for a single number.
template <class T>
AnyTensor vector_of(const std::vector<T>& list) {
  AnyTensor t = AnyTensor::uninitialized(dtype_of<T>, Extents{static_cast<int64_t>(list.size())});
  for (std::size_t k = 0; k < list.size(); ++k) t.out().template as<T>()[static_cast<int64_t>(k)] = list[k];
  return t;
}
template <class T>
AnyTensor scalar_of(T number) {
  return vector_of<T>({number}).reshaped({});
}

/// The names of a whole model.
struct ConvertNames {
  NameSet& used;
  std::set<std::string, std::less<>> promoted;  ///< constants that became attributes
};

/// Extents as a model states them: numbers, symbols, "?" for unknown ones.
using Shape = std::vector<std::string>;

class Step {
 public:
  Step(onnx::NodeProto& n, int from, int to, const ConvertScope& scope, ConvertNames& names)
      : node(n), from_opset(from), to_opset(to), scope_(scope), names_(names) {}

  onnx::NodeProto& node;
  const int from_opset, to_opset;
  std::deque<onnx::NodeProto> before{}, after{};
  bool rebuilt = false;  ///< the node has a new body

  bool up() const { return to_opset > from_opset; }
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Error(ErrorCode::not_supported, node_place(node),
                str_cat("from opset ", from_opset, " to ", to_opset, ": ", parts...));
  }

  [[noreturn]] void refuse_reference(std::string_view attribute) const {
    refuse("the attribute '", attribute, "' is the function's, and each call may give another one");
  }

  // --- operands ---
  bool has(int input) const { return input < node.input_size() && !node.input(input).empty(); }
  /// Null if the type is unknown.
  const onnx::TypeProto* type(const std::string& value) const;
  Type tensor_type(const std::string& value) const;  ///< no type, or one of Kind::unknown, if unknown
  int element(int input) const;                      ///< a TensorProto::DataType; 0 if unknown
  std::optional<Shape> shape(int input) const;
  int rank(int input) const;  ///< -1 if unknown
  /// The value of an input that is constant. Error{invalid_model} if its data is malformed.
  std::optional<AnyTensor> constant(int input) const;
  std::optional<std::vector<int64_t>> integers(int input) const;
  std::optional<std::vector<float>> reals(int input) const;
  /// Marks the constant that an input reads as no longer needed, and empties the input.
  void drop_input(int input);
  void set_input(int input, const std::string& name);
  void trim_inputs();

  // --- attributes ---
  /// Null if there is none. Error{not_supported} where each call of a function gives it.
  onnx::AttributeProto* attribute(std::string_view name) const;
  void erase(std::string_view name);
  int64_t integer(std::string_view name, int64_t fallback) const;
  std::string text(std::string_view name, const std::string& fallback) const;
  void set(std::string_view name, const op::AttributeValue& value);

  // --- other nodes ---
  std::string fresh(const std::string& name) {
    return names_.used.fresh(name.empty() ? node.op_type() : name);
  }
  /// Adds a node before this one and returns the name of its result.
  std::string add(const char* op, std::initializer_list<std::string> inputs,
                  std::initializer_list<std::pair<const char*, op::AttributeValue>> attributes = {});
  std::string add_constant(const AnyTensor& tensor);
  std::string add_integers(const std::vector<int64_t>& values) { return add_constant(vector_of(values)); }
  /// Adds a node after this one; its result replaces output number `output`.
  void follow(int output, const char* op, std::initializer_list<std::string> more = {},
              std::initializer_list<std::pair<const char*, op::AttributeValue>> attributes = {});

 private:
  const ConvertScope& scope_;
  ConvertNames& names_;
};

/// The part of a node that an adapter leaves to the rule for all operators.
enum class Rest : uint8_t {
  all,  ///< attributes and operands
  operands,
};
using Adapter = Rest (*)(Step& step);
struct AdapterRow {
  std::string_view op;
  int boundary;
  Adapter adapter;
};
Adapter find_adapter(std::span<const AdapterRow> rows, std::string_view op, int boundary);

/// The adapter of an operator between opset `boundary` and the previous one; null if there is none.
Adapter adapter_up(std::string_view op, int boundary);
Adapter adapter_down(std::string_view op, int boundary);

/// A negative index sets nothing in OneHot before opset 11, and counts from the end since then. Replaces each
/// by the number that means the same at the other opset.
Rest one_hot_11(Step& s);
bool is_arithmetic_of_old(std::string_view op);  ///< had attributes `axis` and `broadcast` before opset 7
void set_attribute(onnx::NodeProto& n, std::string_view name, const op::AttributeValue& value);

}  // namespace tenon::TENON_ABI::loader
