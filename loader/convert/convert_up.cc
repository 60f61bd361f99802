// Adapters of operators to the next operator set.
#include <cmath>

#include "loader/convert/convert_step.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI::loader {
namespace up {
namespace {

std::vector<int64_t> counted(int64_t from, int64_t to) {
  std::vector<int64_t> list;
  for (; from < to; ++from) list.push_back(from);
  return list;
}

// B's axes matched A's from `axis` on; now they match A's trailing ones.
Rest broadcast_as_numpy(Step& s) {
  if (s.integer("broadcast", 0) != 0 && s.attribute("axis") != nullptr) {
    const int a = s.rank(0), b = s.rank(1);
    if (a < 0 || b < 0) s.refuse("it broadcasts at an axis of a tensor whose rank is not known");
    const int64_t axis = s.integer("axis", 0), at = axis < 0 ? axis + a : axis, trailing = a - at - b;
    if (at < 0 || trailing < 0) s.refuse("the second tensor does not fit at axis ", axis);
    if (trailing > 0 && b > 0)
      s.set_input(1, s.add("Unsqueeze", {s.node.input(1)}, {{"axes", counted(b, b + trailing)}}));
  }
  s.erase("axis");
  s.erase("broadcast");
  return Rest::all;
}

Rest gemm(Step& s) {
  for (int k : {0, 1})
    if (const int rank = s.rank(k); rank >= 0 && rank != 2)
      s.refuse("input ", k, " is of rank ", rank, ", not 2");
  s.erase("broadcast");
  return Rest::all;
}

// A vector of slopes held one for each channel.
Rest p_relu(Step& s) {
  const auto x = s.shape(0), slope = s.shape(1);
  if (!slope || (!x && slope->size() == 1 && (*slope)[0] != "1")) s.refuse("the extents are not known");
  if (slope->size() != 1 || (*slope)[0] == "1" || x->size() < 3) return Rest::all;
  const bool per_channel = (*slope)[0] == (*x)[1];
  if (!per_channel && (*slope)[0] == x->back()) return Rest::all;
  s.set_input(
      1, s.add("Unsqueeze", {s.node.input(1)}, {{"axes", counted(1, static_cast<int64_t>(x->size()) - 1)}}));
  return Rest::all;
}

// Nodes with a single output are taken as inference nodes, as is_test = 1 says.
Rest drop_is_test(Step& s) {
  s.set("is_test", int64_t{1});
  return Rest::all;
}
Rest batch_normalization_14(Step& s) {
  for (int k = 1; k < s.node.output_size(); ++k)
    if (!s.node.output(k).empty()) s.refuse("it is in training mode, whose outputs differ in that version");
  return Rest::all;
}

Rest dropout_10(Step& s) {
  if (s.node.output_size() < 2 || s.node.output(1).empty()) return Rest::all;
  if (s.element(0) == 0) s.refuse("the mask is bool there, and the type of data is not known");
  s.follow(1, "Cast", {}, {{"to", int64_t{s.element(0)}}});
  return Rest::all;
}
Rest dropout_12(Step& s) {
  if (const auto* ratio = s.attribute("ratio")) {
    s.set_input(1, s.add_constant(scalar_of(ratio->f())));
    s.erase("ratio");
  }
  return Rest::all;
}

Rest cast_6(Step& s) {
  std::string name = s.text("to", "");
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  onnx::TensorProto::DataType type;
  if (!onnx::TensorProto::DataType_Parse(name, &type)) s.refuse("there is no type '", name, "'");
  s.set("to", int64_t{type});
  return Rest::all;
}

Rest concat_4(Step& s) {
  if (s.attribute("axis") == nullptr) s.set("axis", int64_t{1});
  return Rest::all;
}

Rest whole_p(Step& s) {
  const auto* p = s.attribute("p");
  if (p != nullptr) {
    const float value = p->f();
    if (value != std::floor(value) || std::abs(value) > 1e6f)
      s.refuse("p is ", convert<std::string>(value), ", and has to be whole");
    s.set("p", static_cast<int64_t>(value));
  }
  return Rest::all;
}

Rest pad_2(Step& s) {
  if (auto* a = s.attribute("paddings")) a->set_name("pads");
  return Rest::operands;
}

Rest split_2(Step& s) {
  if (s.has(1)) {
    const auto lengths = s.integers(1);
    if (!lengths) s.refuse("the lengths have to be constant: they are an attribute there");
    s.set("split", *lengths);
    s.drop_input(1);
    s.trim_inputs();
  }
  return Rest::all;
}
Rest split_18(Step& s) {
  if (!s.has(1)) s.set("num_outputs", int64_t{s.node.output_size()});
  return Rest::all;
}

Rest tile_6(Step& s) {
  const auto tiles = s.integers(1), axis = s.integers(2);
  const int rank = s.rank(0);
  if (!tiles || !axis || tiles->size() != 1 || axis->size() != 1 || rank < 0)
    s.refuse("tiles and axis have to be constant, and the rank known");
  std::vector<int64_t> repeats(static_cast<std::size_t>(rank), 1);
  const int64_t at = (*axis)[0] < 0 ? (*axis)[0] + rank : (*axis)[0];
  if (at < 0 || at >= rank) s.refuse("there is no axis ", (*axis)[0]);
  repeats[static_cast<std::size_t>(at)] = (*tiles)[0];
  s.drop_input(2);
  s.drop_input(1);
  s.trim_inputs();
  s.set_input(1, s.add_integers(repeats));
  return Rest::all;
}

Rest upsample_7(Step& s) {
  const auto *h = s.attribute("height_scale"), *w = s.attribute("width_scale");
  if (h == nullptr || w == nullptr) s.refuse("height_scale and width_scale are required");
  const std::vector<float> scales{1, 1, h->f(), w->f()};
  if (s.text("mode", "nearest") == "bilinear") s.set("mode", std::string("linear"));
  s.erase("height_scale");
  s.erase("width_scale");
  s.set("scales", scales);
  return Rest::operands;
}
Rest upsample_9(Step& s) {
  const auto* scales = s.attribute("scales");
  if (scales == nullptr) s.refuse("scales are required");
  s.set_input(
      1, s.add_constant(vector_of(std::vector<float>(scales->floats().begin(), scales->floats().end()))));
  s.erase("scales");
  return Rest::operands;
}
Rest upsample_10(Step& s) {
  s.node.set_op_type("Resize");
  return Rest::operands;
}

// Coordinates were asymmetric. The nearest element was the lower one on axes that grow, the upper one on axes
// that shrink; where an axis may do either, one node resizes the first axes and another the rest.
Rest resize_11(Step& s) {
  const std::string roi = s.add_constant(vector_of<float>({}));
  const std::string coordinates = "asymmetric";
  std::string scales = s.has(1) ? s.node.input(1) : "";
  if (s.text("mode", "nearest") == "nearest") {
    const auto given = s.reals(1);
    const bool longer = !given || std::any_of(given->begin(), given->end(), [](float v) { return v > 1; }),
               shorter = !given || std::any_of(given->begin(), given->end(), [](float v) { return v < 1; });
    if (longer && shorter) {
      const std::string one = s.add_constant(vector_of<float>({1}));
      s.set_input(0, s.add("Resize", {s.node.input(0), roi, s.add("Max", {scales, one})},
                           {{"mode", std::string("nearest")},
                            {"coordinate_transformation_mode", coordinates},
                            {"nearest_mode", std::string("floor")}}));
      scales = s.add("Min", {scales, one});
    }
    s.set("nearest_mode", std::string(shorter ? "ceil" : "floor"));
  }
  s.set("coordinate_transformation_mode", coordinates);
  s.set_input(1, roi);
  s.set_input(2, scales);
  return Rest::operands;
}

Rest scatter_11(Step& s) {
  s.node.set_op_type("ScatterElements");
  return Rest::operands;
}

// Handles each entry of a batch separately: all operands are scanned along the batch, and the node is the
// body.
void scan_batch(Step& s) {
  onnx::NodeProto entry = s.node;
  entry.clear_name();
  onnx::AttributeProto body;
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& g = *body.mutable_g();
  g.set_name("entry");
  for (auto& name : *entry.mutable_input()) g.add_input()->set_name(name = s.fresh(name));
  for (auto& name : *entry.mutable_output()) g.add_output()->set_name(name = s.fresh(name));
  g.add_node()->Swap(&entry);
  s.node.clear_attribute();
  s.node.add_attribute()->Swap(&body);
  s.set("num_scan_inputs", static_cast<int64_t>(s.node.input_size()));
  s.rebuilt = true;
}

// A batch of one entry is removed, and restored after.
Rest scan_9(Step& s) {
  if (s.has(0)) s.refuse("sequence_lens has no counterpart");
  if (s.node.input_size() < 2) s.refuse("there is nothing to scan");
  s.node.mutable_input()->DeleteSubrange(0, 1);
  if (auto* a = s.attribute("directions")) a->set_name("scan_input_directions");
  bool one = true;
  for (int k = 0; k < s.node.input_size(); ++k) {
    const auto shape = s.shape(k);
    one = one && shape && !shape->empty() && shape->front() == "1";
  }
  if (!one) return scan_batch(s), Rest::operands;
  for (int k = 0; k < s.node.input_size(); ++k)
    s.set_input(k, s.add("Squeeze", {s.node.input(k)}, {{"axes", std::vector<int64_t>{0}}}));
  for (int k = 0; k < s.node.output_size(); ++k)
    if (!s.node.output(k).empty()) s.follow(k, "Unsqueeze", {}, {{"axes", std::vector<int64_t>{0}}});
  return Rest::operands;
}

// The axes from `axis` on were treated as one.
Rest softmax_13(Step& s) {
  const int64_t axis = s.integer("axis", 1);
  const int rank = s.rank(0);
  s.set("axis", int64_t{-1});
  if (axis == -1 || (rank >= 0 && axis == rank - 1)) return Rest::operands;
  const std::string x = s.node.input(0), shape = s.add("Shape", {x});
  s.set_input(0, s.add("Flatten", {x}, {{"axis", axis}}));
  s.follow(0, "Reshape", {shape});
  return Rest::operands;
}

// ONNX Runtime's operator of that name meant the same, and took an X of another type than Scale's.
Rest layer_normalization_17(Step& s) {
  const int x = s.element(0), scale = s.element(1);
  if (x != 0 && scale != 0 && x != scale) s.refuse("X and Scale have different types");
  return Rest::all;
}

Rest resize_18(Step& s) {
  if (s.text("coordinate_transformation_mode", "") == "tf_half_pixel_for_nn")
    s.refuse("the coordinates tf_half_pixel_for_nn have no counterpart");
  return Rest::all;
}

// Scale and bias had one element for each group.
Rest group_normalization_21(Step& s) {
  const int64_t groups = s.integer("num_groups", 0);
  if (groups < 1) s.refuse("num_groups is ", groups);
  const std::string channels =
      s.add("Shape", {s.node.input(0)}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  const std::string extents =
      s.add("Concat", {s.add_integers({groups}), s.add("Div", {channels, s.add_integers({groups})})},
            {{"axis", int64_t{0}}});
  const std::string one = s.add_integers({1}), flat = s.add_integers({-1});
  for (int k : {1, 2}) {
    const std::string column = s.add("Unsqueeze", {s.node.input(k), one});
    s.set_input(k, s.add("Reshape", {s.add("Expand", {column, extents}), flat}));
  }
  return Rest::all;
}

Rest grid_sample_20(Step& s) {
  const std::string mode = s.text("mode", "bilinear");
  s.set("mode", std::string(mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode));
  return Rest::all;
}

constexpr AdapterRow rows[] = {
    {"GlobalLpPool", 2, whole_p},
    {"LpPool", 2, whole_p},
    {"Pad", 2, pad_2},
    {"Split", 2, split_2},
    {"Concat", 4, concat_4},
    {"Cast", 6, cast_6},
    {"Tile", 6, tile_6},
    {"BatchNormalization", 7, drop_is_test},
    {"Dropout", 7, drop_is_test},
    {"Gemm", 7, gemm},
    {"PRelu", 7, p_relu},
    {"Upsample", 7, upsample_7},
    {"Scan", 9, scan_9},
    {"Upsample", 9, upsample_9},
    {"Dropout", 10, dropout_10},
    {"Upsample", 10, upsample_10},
    {"Resize", 11, resize_11},
    {"OneHot", 11, one_hot_11},
    {"Scatter", 11, scatter_11},
    {"Dropout", 12, dropout_12},
    {"Hardmax", 13, softmax_13},
    {"LogSoftmax", 13, softmax_13},
    {"Softmax", 13, softmax_13},
    {"BatchNormalization", 14, batch_normalization_14},
    {"LayerNormalization", 17, layer_normalization_17},
    {"Resize", 18, resize_18},
    {"Split", 18, split_18},
    {"GridSample", 20, grid_sample_20},
    {"GroupNormalization", 21, group_normalization_21},
};

}  // namespace
}  // namespace up

bool is_arithmetic_of_old(std::string_view op) {
  constexpr std::string_view names[] = {"Add", "And", "Div", "Equal", "Greater", "Less",
                                        "Mul", "Or",  "Pow", "Sub",   "Xor"};
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

Adapter adapter_up(std::string_view op, int boundary) {
  if (boundary == 7 && is_arithmetic_of_old(op)) return up::broadcast_as_numpy;
  return find_adapter(up::rows, op, boundary);
}

}  // namespace tenon::TENON_ABI::loader
