#include "loader/devices/device_extents.hpp"

#include "loader/devices/read_placement.hpp"
#include "loader/display.hpp"
#include "loader/edit/names.hpp"
#include "loader/format/value_types.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr std::size_t most_bytes = 200;  // of a text that lines repeat

class SharedValue {
 public:
  SharedValue(const devices::Sharding& sharding, const onnx::TypeProto& type)
      : sharding_(sharding), ranked_(type.tensor_type().has_shape()) {
    const auto& shape = type.tensor_type().shape();
    if (shape.dim_size() > max_rank) ranked_ = false;
    for (int d = 0; ranked_ && d < shape.dim_size(); ++d) {
      const std::string& symbol = shape.dim(d).dim_param();
      whole_.push_back(shape.dim(d).has_dim_value() ? str_cat(shape.dim(d).dim_value())
                       : symbol.empty()             ? std::string("?")
                                                    : visible(symbol, most_bytes));
    }
    for (const auto& cut : sharding.cuts) {
      if (cut.shards <= 1) continue;
      Axis axis{.cut = cut, .number = cut.axis};
      const auto rank = static_cast<int64_t>(whole_.size());
      if (axis.number < 0) axis.number += rank;
      axis.is_there = axis.number >= 0 && axis.number < rank;
      if (axis.is_there)
        if (const auto& d = shape.dim(static_cast<int>(axis.number)); d.has_dim_value()) {
          axis.is_known = true;
          if (!sharding.holders.empty()) axis.bounds = cut.bounds(d.dim_value());
        }
      cuts_.push_back(std::move(axis));
    }
  }

  std::string cuts() const {
    std::string text;
    for (const Axis& axis : cuts_) {
      const auto& cut = axis.cut;
      text += str_cat(", axis ", cut.axis, " in ", cut.shards, " pieces",
                      cut.blocks > 0 ? str_cat(" of ", cut.blocks, " blocks") : "",
                      cut.stretches > 1 ? str_cat(" of each of ", cut.stretches, " stretches") : "");
    }
    return text;
  }
  // A line for each device, in the order of the pieces; the last axis that is cut changes fastest.
  void print(std::string& text) const {
    for (std::size_t piece = 0; piece < sharding_.holders.size(); ++piece) {
      const std::string has = of_piece(static_cast<int64_t>(piece));
      for (const int64_t device : sharding_.holders[piece])
        text += str_cat("    device ", device, ": ", has, "\n");
    }
  }

 private:
  struct Axis {  // that is cut into several pieces
    devices::Sharding::Cut cut;
    int64_t number;  // from the first axis, if the rank is known
    bool is_there = false, is_known = false;
    std::vector<int64_t> bounds{};  // of the pieces; none if it cannot be cut so, or is not known
  };

  std::string of_piece(int64_t piece) const {
    std::vector<std::string> extents = whole_;
    std::string from;
    for (std::size_t k = cuts_.size(); k-- > 0;) {
      const Axis& axis = cuts_[k];
      const int64_t number = piece % axis.cut.shards, stretches = axis.cut.stretches;
      piece /= axis.cut.shards;
      if (!axis.bounds.empty()) {
        const auto first = axis.bounds.begin() + static_cast<std::ptrdiff_t>(number);
        extents[static_cast<std::size_t>(axis.number)] = str_cat(stretches * (first[1] - first[0]));
        from = str_cat(", axis ", axis.number, " from ", first[0],
                       stretches > 1 ? str_cat(" of each of ", stretches, " stretches") : "", from);
      } else {
        if (axis.is_there) extents[static_cast<std::size_t>(axis.number)] += str_cat("/", axis.cut.shards);
        const bool run_decides = axis.is_there ? !axis.is_known : !ranked_;
        from = str_cat(", piece ", number, " of axis ", axis.is_there ? axis.number : axis.cut.axis,
                       run_decides ? ", whose bounds only the run knows" : "", from);
      }
    }
    std::string text;
    for (const std::string& e : extents) text += str_cat(text.empty() ? "" : ",", e);
    return str_cat("[", ranked_ ? text : "…", "]", from);
  }

  const devices::Sharding& sharding_;
  bool ranked_;
  std::vector<std::string> whole_{};  // extents
  std::vector<Axis> cuts_{};
};

// `inside`: the body or function around the nodes.
void print(std::string& text, const onnx::DeviceConfigurationProto& configuration, const onnx::GraphProto& g,
           const ValueTypes* outer, const std::string& inside) {
  static const onnx::TypeProto unknown;
  const ValueTypes types(g, outer);
  for (const onnx::NodeProto& n : g.node()) {
    if (const auto placement = read_annotation(n, configuration)) {
      text += str_cat(visible(node_place(n)), inside);
      text += placement->stage ? str_cat(", stage ", *placement->stage, "\n") : "\n";
      for (const auto& [tensor, sharding] : placement->tensors) {
        const onnx::TypeProto* const found = types.find(tensor);
        const onnx::TypeProto& type = found != nullptr ? *found : unknown;
        const std::string shown = visible(type_text(type), most_bytes);
        const SharedValue value(sharding, type);
        text += str_cat("  ", visible(tensor), " ", shown.empty() ? "?" : shown, value.cuts(), "\n");
        value.print(text);
      }
    }
    const auto add_body = [&](const onnx::AttributeProto& a, const onnx::GraphProto& body) {
      print(text, configuration, body, &types,
            visible(str_cat(" in ", a.name(), " of ", node_place(n), inside), most_bytes));
    };
    for (const auto& a : n.attribute()) {
      if (a.has_g()) add_body(a, a.g());
      for (const auto& body : a.graphs()) add_body(a, body);
    }
  }
}

}  // namespace

std::string device_extents(const onnx::ModelProto& model) {
  std::string text;
  for (const auto& c : model.configuration()) {
    const onnx::DeviceConfigurationProto& configuration = find_configuration(model, c.name());
    const int devices = configuration.num_devices();
    text += str_cat("configuration '", visible(c.name()), "': ", devices,
                    devices == 1 ? " device\n" : " devices\n");
    print(text, configuration, model.graph(), nullptr, "");
    for (const auto& f : model.functions()) {
      onnx::GraphProto body;
      *body.mutable_node() = f.node();
      *body.mutable_value_info() = f.value_info();
      print(text, configuration, body, nullptr,
            visible(str_cat(" in function '", operator_text(f.domain(), f.name()), "'"), most_bytes));
    }
  }
  return text;
}

}  // namespace tenon::TENON_ABI::loader
