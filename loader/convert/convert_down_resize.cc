#include "loader/convert/convert_down_resize.hpp"

#include <algorithm>
#include <string>

namespace tenon::TENON_ABI::loader::down {
namespace {

std::vector<float> scales_of(Step& s, int input) {
  const auto scales = s.reals(input);
  if (!scales || scales->empty()) s.refuse("the scales have to be constant");
  return *scales;
}
void demand_growth(Step& s, const std::vector<float>& scales) {
  if (!std::all_of(scales.begin(), scales.end(), [](float v) { return v >= 1; }))
    s.refuse("an axis gets shorter");
}

}  // namespace

Rest upsample_7(Step& s) {
  const auto* a = s.attribute("scales");
  if (a == nullptr || a->floats_size() != 4 || a->floats(0) != 1 || a->floats(1) != 1)
    s.refuse("only the last two of four axes can be scaled");
  const float h = a->floats(2), w = a->floats(3);
  s.erase("scales");
  s.set("height_scale", h);
  s.set("width_scale", w);
  if (s.text("mode", "nearest") == "linear") s.set("mode", std::string("bilinear"));
  return Rest::operands;
}
Rest upsample_9(Step& s) {
  s.set("scales", scales_of(s, 1));
  s.drop_input(1);
  s.trim_inputs();
  return Rest::operands;
}
Rest resize_10(Step& s) {
  demand_growth(s, scales_of(s, 1));
  s.node.set_op_type("Upsample");
  return Rest::operands;
}
Rest resize_11(Step& s) {
  const std::string mode = s.text("mode", "nearest");
  if (s.text("coordinate_transformation_mode", "half_pixel") != "asymmetric")
    s.refuse("coordinates are asymmetric there");
  if (s.has(3) || !s.has(2)) s.refuse("sizes have no counterpart");
  if (mode == "nearest") {
    if (s.text("nearest_mode", "round_prefer_floor") != "floor")
      s.refuse("Resize-10 takes the lower of two neighbours: nearest_mode 'floor' alone has a counterpart");
    demand_growth(s, scales_of(s, 2));
  } else if (mode != "linear" || s.integer("exclude_outside", 0) != 0) {
    s.refuse("mode '", mode, "' has no counterpart");
  }
  for (const char* name : {"coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a",
                           "exclude_outside", "extrapolation_value"})
    s.erase(name);
  const std::string scales = s.node.input(2);
  s.drop_input(1);
  s.set_input(1, scales);
  s.set_input(2, "");
  s.trim_inputs();
  return Rest::operands;
}
// roi and scales were required.
Rest resize_13(Step& s) {
  for (int k : {1, 2})
    if (!s.has(k)) s.set_input(k, s.add_constant(vector_of<float>({})));
  return Rest::all;
}
Rest resize_19(Step& s) {
  if (s.text("coordinate_transformation_mode", "half_pixel") == "half_pixel_symmetric")
    s.refuse("coordinate_transformation_mode 'half_pixel_symmetric' has no counterpart");
  return Rest::all;
}

}  // namespace tenon::TENON_ABI::loader::down
