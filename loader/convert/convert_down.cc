// Adapters of operators to the previous operator set.
#include <algorithm>
#include <cmath>
#include <string>

#include "loader/convert/convert_down_broadcast.hpp"
#include "loader/convert/convert_down_resize.hpp"
#include "loader/convert/convert_step.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI::loader {
namespace down {
namespace {

Rest gemm_11(Step& s) {
  if (s.has(2)) return Rest::all;
  if (s.element(0) == 0) s.refuse("C is required, and its type is not known");
  s.set_input(2, s.add_constant(op::input_from_attribute(0.0f, static_cast<DType>(s.element(0)))));
  return Rest::all;
}
// Types that opset 8 lacks are converted through double, exact up to 2^53.
Rest through_double_9(Step& s) {
  const int element = s.element(0);
  const auto is_real = [](int e) {
    return e == onnx::TensorProto::FLOAT || e == onnx::TensorProto::DOUBLE || e == onnx::TensorProto::FLOAT16;
  };
  if (element == 0) s.refuse("the type is not known");
  if (is_real(element)) return Rest::all;
  if (element != onnx::TensorProto::INT32 && element != onnx::TensorProto::INT64 &&
      element != onnx::TensorProto::UINT32 && element != onnx::TensorProto::UINT64)
    s.refuse("type ", onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(element)));
  for (int k = 0; k < s.node.input_size(); ++k)
    if (s.has(k))
      s.set_input(k, s.add("Cast", {s.node.input(k)}, {{"to", int64_t{onnx::TensorProto::DOUBLE}}}));
  if (s.node.op_type() != "Greater" && s.node.op_type() != "Less")
    s.follow(0, "Cast", {}, {{"to", int64_t{element}}});
  return Rest::operands;
}

Rest set_is_test(Step& s) {
  for (int k = 1; k < s.node.output_size(); ++k)
    if (!s.node.output(k).empty() && s.node.op_type() == "BatchNormalization") return Rest::all;
  s.set("is_test", int64_t{1});
  return Rest::all;
}
Rest batch_normalization_6(Step& s) {
  s.set("consumed_inputs", std::vector<int64_t>{0, 0, 0, 1, 1});
  return Rest::all;
}
Rest batch_normalization_14(Step& s) {
  if (s.integer("training_mode", 0) != 0) s.refuse("it trains");
  s.erase("training_mode");
  return Rest::all;
}

// A repeated number: Tile supports any known rank, and is available down to opset 6.
Rest constant_of_shape_9(Step& s) {
  const onnx::AttributeProto* stated = s.attribute("value");
  AnyTensor value = stated != nullptr ? read_tensor(stated->t()) : scalar_of(0.0f);
  if (value.size() != 1) s.refuse("'value' is not one number");
  const auto shape = s.shape(0);
  int64_t rank = -1;
  if (shape && shape->size() == 1)
    for (int64_t k = 0; k <= max_rank; ++k)
      if (shape->front() == std::to_string(k)) rank = k;
  Extents ones;
  for (int64_t k = 0; k < rank; ++k) ones.push_back(1);
  const DType element = value.dtype();
  const bool is_real = element == DType::float32 || element == DType::float64 || element == DType::float16;
  if (!is_real) {
    AnyTensor exact = scalar_of(0.0);
    convert_n(DType::float64, exact.out().data(), element, value.data(), 1);
    if (std::abs(*exact.view().as<double>().data()) > 0x1p53) s.refuse("'value' is beyond 2^53");
    value = exact;
  }
  std::string number = s.add_constant(value.reshaped(ones));
  if (!is_real) number = s.add("Cast", {number}, {{"to", static_cast<int64_t>(element)}});
  s.erase("value");
  const std::string extents = s.node.input(0);
  s.node.set_op_type(rank == 0 ? "Identity" : rank > 0 ? "Tile" : "Expand");
  s.set_input(0, number);
  if (rank != 0) s.set_input(1, extents);
  return Rest::operands;
}

Rest dropout_12(Step& s) {
  if (s.has(2)) {
    const auto training = s.integers(2);
    if (!training || training->size() != 1 || (*training)[0] != 0) s.refuse("it may train");
    s.drop_input(2);
  }
  if (s.has(1)) {
    const auto ratio = s.reals(1);
    if (!ratio || ratio->size() != 1) s.refuse("the ratio has to be a constant: it is an attribute there");
    s.set("ratio", (*ratio)[0]);
    s.drop_input(1);
  }
  s.trim_inputs();
  s.erase("seed");
  return Rest::all;
}
Rest dropout_10(Step& s) {
  if (s.node.output_size() > 1 && !s.node.output(1).empty())
    s.follow(1, "Cast", {}, {{"to", int64_t{onnx::TensorProto::BOOL}}});
  return Rest::all;
}

Rest cast_6(Step& s) {
  const auto type = static_cast<int>(s.integer("to", 0));
  if (!onnx::TensorProto::DataType_IsValid(type)) s.refuse("there is no type ", type);
  s.set("to", onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type)));
  return Rest::all;
}

Rest real_p(Step& s) {
  if (s.attribute("p") != nullptr) s.set("p", static_cast<float>(s.integer("p", 2)));
  return Rest::all;
}

Rest pad_2(Step& s) {
  if (auto* a = s.attribute("pads")) a->set_name("paddings");
  return Rest::operands;
}
Rest pad_19(Step& s) {
  if (s.text("mode", "constant") == "wrap") s.refuse("mode 'wrap' has no counterpart");
  return Rest::all;
}

Rest constant_12(Step& s) {
  if (s.node.attribute_size() != 1 || s.node.attribute(0).name() == "value") return Rest::all;
  const onnx::AttributeProto a = *s.attribute(s.node.attribute(0).name());
  std::optional<AnyTensor> t;
  if (a.name() == "value_int") t = scalar_of(int64_t{a.i()});
  else if (a.name() == "value_ints") t = vector_of(std::vector<int64_t>(a.ints().begin(), a.ints().end()));
  else if (a.name() == "value_float") t = scalar_of(a.f());
  else if (a.name() == "value_floats")
    t = vector_of(std::vector<float>(a.floats().begin(), a.floats().end()));
  else if (a.name() == "value_string") t = scalar_of(std::string(a.s()));
  else if (a.name() == "value_strings")
    t = vector_of(std::vector<std::string>(a.strings().begin(), a.strings().end()));
  if (t) {
    s.erase(a.name());
    s.set("value", Value(*t));
  }
  return Rest::all;
}

// Without axes nothing is reduced, if the node says so.
Rest reduce(Step& s) {
  if (s.integer("noop_with_empty_axes", 0) == 0) return Rest::all;
  const auto axes = s.has(1) ? s.integers(1) : std::vector<int64_t>{};
  if (axes && axes->empty()) s.refuse("noop_with_empty_axes has no counterpart");
  s.erase("noop_with_empty_axes");
  return Rest::all;
}

Rest split_2(Step& s) { return s.refuse("the lengths are an input there"), Rest::all; }
Rest split_18(Step& s) {
  const auto* outputs = s.attribute("num_outputs");
  if (outputs == nullptr) return Rest::all;
  const int64_t count = outputs->i();
  if (s.has(1) || count != s.node.output_size() || count < 1) s.refuse("num_outputs is ", count);
  const auto shape = s.shape(0);
  int64_t axis = s.integer("axis", 0);
  if (shape && axis < 0) axis += static_cast<int64_t>(shape->size());
  int64_t extent = -1;
  if (shape && axis >= 0 && axis < static_cast<int64_t>(shape->size())) {
    const std::string& text = (*shape)[static_cast<std::size_t>(axis)];
    if (text != "?" && text[0] != '\'') extent = std::stoll(text);
  }
  if (extent < 0) s.refuse("the extent is not known, and the last part may be smaller");
  s.erase("num_outputs");
  if (extent % count != 0) {
    const int64_t each = (extent + count - 1) / count;
    std::vector<int64_t> lengths(static_cast<std::size_t>(count), each);
    lengths.back() = extent - each * (count - 1);
    if (lengths.back() < 0) s.refuse("there are fewer elements than parts");
    s.set_input(1, s.add_integers(lengths));
  }
  return Rest::all;
}

Rest slice_10(Step& s) {
  if (s.has(4)) {
    const auto steps = s.integers(4);
    if (!steps || !std::all_of(steps->begin(), steps->end(), [](int64_t v) { return v == 1; }))
      s.refuse("steps other than 1 have no counterpart");
    s.drop_input(4);
    s.trim_inputs();
  }
  return Rest::all;
}

// One node for each axis that is repeated; the counts have the tensor's own type there.
Rest tile_6(Step& s) {
  const auto repeats = s.integers(1);
  const auto element = static_cast<DType>(s.element(0));
  if (!repeats || element == DType::undefined)
    s.refuse("the repeats have to be constant, and the type known");
  const int64_t exact = element == DType::float16 ? 1 << 11 : 1 << 24;
  std::vector<std::pair<int64_t, int64_t>> tiles;  // counts and axes
  for (std::size_t k = 0; k < repeats->size(); ++k)
    if (const int64_t n = (*repeats)[k]; n != 1) tiles.emplace_back(n, static_cast<int64_t>(k));
  s.drop_input(1);
  s.trim_inputs();
  if (tiles.empty()) s.node.set_op_type("Identity");
  const auto number = [&](int64_t n) {
    if (n > exact) s.refuse(n, " repeats are no number of the tensor's type");
    return s.add_constant(op::input_from_attribute(static_cast<float>(n), element));
  };
  for (std::size_t k = 0; k < tiles.size(); ++k) {
    const std::string n = number(tiles[k].first), axis = number(tiles[k].second);
    if (k + 1 < tiles.size()) {
      s.set_input(0, s.add("Tile", {s.node.input(0), n, axis}));
    } else {
      s.set_input(1, n);
      s.set_input(2, axis);
    }
  }
  return Rest::operands;
}

Rest scatter_11(Step& s) {
  const auto indices = s.integers(1);
  if (!indices || std::any_of(indices->begin(), indices->end(), [](int64_t v) { return v < 0; }))
    s.refuse("indices may count from the end");
  s.node.set_op_type("Scatter");
  return Rest::operands;
}
Rest scatter_18(Step& s) {
  const std::string reduction = s.text("reduction", "none");
  if (reduction == "max" || reduction == "min") s.refuse("reduction '", reduction, "' has no counterpart");
  return Rest::all;
}

Rest scan_9(Step& s) {
  for (const char* name : {"scan_input_axes", "scan_output_axes", "scan_output_directions"})
    if (const auto* a = s.attribute(name)) {
      if (std::any_of(a->ints().begin(), a->ints().end(), [](int64_t v) { return v != 0; }))
        s.refuse("the attribute '", name, "' has no counterpart");
      s.erase(name);
    }
  if (auto* a = s.attribute("scan_input_directions")) a->set_name("directions");
  for (int k = 0; k < s.node.input_size(); ++k)
    s.set_input(k, s.add("Unsqueeze", {s.node.input(k)}, {{"axes", std::vector<int64_t>{0}}}));
  for (int k = 0; k < s.node.output_size(); ++k)
    if (!s.node.output(k).empty()) s.follow(k, "Squeeze", {}, {{"axes", std::vector<int64_t>{0}}});
  s.node.add_input("");
  for (int k = s.node.input_size() - 1; k > 0; --k) s.node.mutable_input()->SwapElements(k, k - 1);
  return Rest::operands;
}

// There, only the last axis stands alone: another axis is swapped with it.
Rest softmax_13(Step& s) {
  const int64_t axis = s.integer("axis", -1);
  const int rank = s.rank(0);
  s.set("axis", int64_t{-1});
  if (axis == -1 || (rank >= 0 && axis == rank - 1)) return Rest::operands;
  if (rank < 0) s.refuse("that version flattens the axes after 'axis', and the rank is unknown");
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) s.refuse("there is no axis ", axis);
  std::vector<int64_t> order;
  for (int64_t k = 0; k < rank; ++k) order.push_back(k);
  std::swap(order[static_cast<std::size_t>(at)], order.back());
  s.set_input(0, s.add("Transpose", {s.node.input(0)}, {{"perm", order}}));
  s.follow(0, "Transpose", {}, {{"perm", order}});
  return Rest::operands;
}

// A scale for each index along an axis is newer than a single scale for all elements.
Rest one_scale_13(Step& s) {
  const auto scale = s.shape(1);
  if (!scale) s.refuse("there is one scale there, and their number is not known");
  if (std::any_of(scale->begin(), scale->end(), [](const std::string& extent) { return extent != "1"; }))
    s.refuse("there is one scale there");
  s.erase("axis");
  return Rest::all;
}

// An empty list of axes as an input removes nothing; as an attribute it counts as absent, which removes all
// axes of 1.
Rest squeeze_13(Step& s) {
  if (const auto axes = s.constant(1); axes && axes->size() == 0) {
    s.drop_input(1);
    s.trim_inputs();
    s.node.set_op_type("Identity");
  }
  return Rest::all;
}

Rest dft_20(Step& s) {
  if (!s.has(2)) s.set("axis", int64_t{-2});
  return Rest::all;
}

Rest grid_sample_20(Step& s) {
  const std::string mode = s.text("mode", "linear");
  if (s.rank(0) != 4) s.refuse("tensors have rank 4 there");
  s.set("mode", std::string(mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode));
  return Rest::all;
}

constexpr AdapterRow rows[] = {
    {"GlobalLpPool", 2, real_p},
    {"LpPool", 2, real_p},
    {"Pad", 2, pad_2},
    {"Split", 2, split_2},
    {"BatchNormalization", 6, batch_normalization_6},
    {"Cast", 6, cast_6},
    {"Tile", 6, tile_6},
    {"BatchNormalization", 7, set_is_test},
    {"Dropout", 7, set_is_test},
    {"Gemm", 7, gemm_7},
    {"PRelu", 7, p_relu_7},
    {"Upsample", 7, upsample_7},
    {"Max", 8, without_broadcasting},
    {"Mean", 8, without_broadcasting},
    {"Min", 8, without_broadcasting},
    {"Sum", 8, without_broadcasting},
    {"ConstantOfShape", 9, constant_of_shape_9},
    {"Gemm", 9, through_double_9},
    {"Greater", 9, through_double_9},
    {"Less", 9, through_double_9},
    {"MatMul", 9, through_double_9},
    {"PRelu", 9, through_double_9},
    {"Scan", 9, scan_9},
    {"Upsample", 9, upsample_9},
    {"Dropout", 10, dropout_10},
    {"Resize", 10, resize_10},
    {"Slice", 10, slice_10},
    {"Gemm", 11, gemm_11},
    {"Resize", 11, resize_11},
    {"OneHot", 11, one_hot_11},
    {"ScatterElements", 11, scatter_11},
    {"Constant", 12, constant_12},
    {"Dropout", 12, dropout_12},
    {"DequantizeLinear", 13, one_scale_13},
    {"Hardmax", 13, softmax_13},
    {"LogSoftmax", 13, softmax_13},
    {"QuantizeLinear", 13, one_scale_13},
    {"Resize", 13, resize_13},
    {"Softmax", 13, softmax_13},
    {"Squeeze", 13, squeeze_13},
    {"BatchNormalization", 14, batch_normalization_14},
    {"ScatterElements", 18, scatter_18},
    {"ScatterND", 18, scatter_18},
    {"Split", 18, split_18},
    {"Pad", 19, pad_19},
    {"Resize", 19, resize_19},
    {"DFT", 20, dft_20},
    {"GridSample", 20, grid_sample_20},
};

}  // namespace
}  // namespace down

Adapter adapter_down(std::string_view op, int boundary) {
  if (boundary == 7 && is_arithmetic_of_old(op)) return down::broadcast_before_numpy;
  if (op.starts_with("Reduce") && (boundary == 13 || boundary == 18)) return down::reduce;
  return find_adapter(down::rows, op, boundary);
}

}  // namespace tenon::TENON_ABI::loader
