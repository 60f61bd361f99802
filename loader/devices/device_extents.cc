#include "loader/devices/device_extents.hpp"

#include <algorithm>
#include <map>

#include "loader/devices/read_placement.hpp"
#include "loader/display.hpp"
#include "loader/edit/names.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// The types of values by name.
class ValueTypes {
 public:
  explicit ValueTypes(const onnx::GraphProto& g) {
    for (const auto& t : g.initializer()) {
      auto& tensor = *types_[t.name()].mutable_tensor_type();
      tensor.set_elem_type(t.data_type());
      tensor.mutable_shape();
      for (const int64_t e : t.dims()) tensor.mutable_shape()->add_dim()->set_dim_value(e);
    }
    for (const auto* list : {&g.input(), &g.value_info(), &g.output()})
      for (const auto& v : *list) types_.emplace(v.name(), v.type());
  }
  const onnx::TypeProto& operator[](const std::string& name) const {
    static const onnx::TypeProto unknown;
    const auto it = types_.find(name);
    return it == types_.end() ? unknown : it->second;
  }

 private:
  std::map<std::string, onnx::TypeProto> types_;
};

class SharedValue {
 public:
  SharedValue(const devices::Sharding& sharding, const onnx::TypeProto& type)
      : sharding_(sharding), shape_(type.tensor_type().shape()), ranked_(type.tensor_type().has_shape()) {
    for (const auto& cut : sharding.cuts)
      if (cut.shards > 1) cuts_.push_back(cut);
  }

  std::string cuts() const {
    std::string text;
    for (const auto& cut : cuts_)
      text += str_cat(", axis ", cut.axis, " in ", cut.shards, " pieces",
                      cut.blocks > 0 ? str_cat(" of ", cut.blocks, " blocks") : "",
                      cut.stretches > 1 ? str_cat(" of each of ", cut.stretches, " stretches") : "");
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
  std::string of_piece(int64_t piece) const {
    std::vector<std::string> extents;
    for (const auto& d : shape_.dim())
      extents.push_back(d.has_dim_value()       ? str_cat(d.dim_value())
                        : d.dim_param().empty() ? std::string("?")
                                                : visible(d.dim_param()));
    std::string from;
    for (std::size_t k = cuts_.size(); k-- > 0;) {
      const auto& cut = cuts_[k];
      const int64_t number = piece % cut.shards;
      piece /= cut.shards;
      const auto rank = static_cast<int64_t>(extents.size());
      const int64_t axis = cut.axis < 0 ? cut.axis + rank : cut.axis;
      if (axis < 0 || axis >= rank) {
        from = str_cat(", piece ", number, " of axis ", cut.axis, from);
        continue;
      }
      std::string& extent = extents[static_cast<std::size_t>(axis)];
      const auto& whole = shape_.dim(static_cast<int>(axis));
      const auto bounds = whole.has_dim_value() ? cut.bounds(whole.dim_value()) : std::vector<int64_t>{};
      if (bounds.empty()) {
        extent += str_cat("/", cut.shards);
        from = str_cat(", piece ", number, " of axis ", axis, from);
      } else {
        const auto first = bounds.begin() + static_cast<std::ptrdiff_t>(number);
        extent = str_cat(cut.stretches * (first[1] - first[0]));
        from = str_cat(", axis ", axis, " from ", first[0],
                       cut.stretches > 1 ? str_cat(" of each of ", cut.stretches, " stretches") : "", from);
      }
    }
    std::string text;
    for (const std::string& e : extents) text += str_cat(text.empty() ? "" : ",", e);
    return str_cat("[", ranked_ ? text : "…", "]", from);
  }

  const devices::Sharding& sharding_;
  const onnx::TensorShapeProto& shape_;
  bool ranked_;
  std::vector<devices::Sharding::Cut> cuts_;  // into several pieces
};

}  // namespace

std::string device_extents(const onnx::ModelProto& model) {
  std::string text;
  const ValueTypes types(model.graph());
  for (const auto& c : model.configuration()) {
    const devices::Placement placement = read_placement(model, c.name());
    text += str_cat("configuration '", visible(c.name()), "': ", placement.devices,
                    placement.devices == 1 ? " device\n" : " devices\n");
    for (const onnx::NodeProto& n : model.graph().node()) {
      const auto result = std::ranges::find_if(n.output(), [](const auto& o) { return !o.empty(); });
      if (result == n.output().end()) continue;
      const auto it = placement.nodes.find(*result);
      if (it == placement.nodes.end()) continue;
      text += str_cat(visible(node_place(n)),
                      it->second.stage ? str_cat(", stage ", *it->second.stage, "\n") : "\n");
      for (const auto& [tensor, sharding] : it->second.tensors) {
        const std::string type = type_text(types[tensor]);
        const SharedValue value(sharding, types[tensor]);
        text += str_cat("  ", visible(tensor), " ", type.empty() ? "?" : type, value.cuts(), "\n");
        value.print(text);
      }
    }
  }
  return text;
}

}  // namespace tenon::TENON_ABI::loader
