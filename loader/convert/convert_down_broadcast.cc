#include "loader/convert/convert_down_broadcast.hpp"

#include <algorithm>
#include <string>

namespace tenon::TENON_ABI::loader::down {
namespace {

// Where the second tensor's extents lie in the first's: from `axis` on, with leading and trailing ones
// removed.
struct Place {
  int64_t axis = 0;
  std::vector<int64_t> ones{};
};
std::optional<Place> place_in(const Shape& a, const Shape& b) {
  std::size_t first = 0, last = b.size();
  while (first < last && b[first] == "1") ++first;
  while (last > first && b[last - 1] == "1") --last;
  Place p{.axis = static_cast<int64_t>(a.size()) - static_cast<int64_t>(b.size() - first)};
  for (std::size_t k = 0; k < b.size(); ++k)
    if (k < first || k >= last) p.ones.push_back(static_cast<int64_t>(k));
  if (first == last) return b.size() <= a.size() ? std::optional(p) : std::nullopt;
  if (p.axis < 0) return std::nullopt;
  for (std::size_t k = first; k < last; ++k)
    if (b[k] == "?" || a[static_cast<std::size_t>(p.axis) + k - first] != b[k]) return std::nullopt;
  return p;
}

bool same_extents(const Shape& a, const Shape& b) {
  return a == b && std::find(a.begin(), a.end(), "?") == a.end();
}

}  // namespace

Rest broadcast_before_numpy(Step& s) {
  const auto known_a = s.shape(0), known_b = s.shape(1);
  if (!known_a || !known_b) s.refuse("it broadcasts in another way there, and the extents are not known");
  Shape a = *known_a, b = *known_b;
  if (same_extents(a, b)) return Rest::all;
  auto place = place_in(a, b);
  if (!place) {
    const std::string& op = s.node.op_type();
    const bool commutes = op != "Sub" && op != "Div" && op != "Pow";
    if (!commutes || !(place = place_in(b, a))) s.refuse("both tensors would have to be stretched");
    if (op == "Greater" || op == "Less") s.node.set_op_type(op == "Less" ? "Greater" : "Less");
    s.node.mutable_input()->SwapElements(0, 1);
    std::swap(a, b);
  }
  const bool one_element = place->ones.size() == b.size();
  if (!one_element && !place->ones.empty())
    s.set_input(1, s.add("Squeeze", {s.node.input(1)}, {{"axes", place->ones}}));
  s.set("broadcast", int64_t{1});
  const auto used = static_cast<int64_t>(b.size() - place->ones.size());
  if (!one_element && place->axis + used != static_cast<int64_t>(a.size())) s.set("axis", place->axis);
  return Rest::operands;
}

Rest gemm_7(Step& s) {
  for (int k : {0, 1})
    if (const int rank = s.rank(k); rank != 2) s.refuse("input ", k, " is not known to be of rank 2");
  const auto a = s.shape(0), b = s.shape(1), c = s.shape(2);
  if (!c) s.refuse("the extents of C are not known");
  const Shape y{(*a)[s.integer("transA", 0) != 0], (*b)[s.integer("transB", 0) == 0]};
  if (same_extents(*c, y)) return Rest::all;
  const auto place = place_in(y, *c);
  if (!place || (place->axis == 0 && c->size() == 2 && place->ones.size() == 1))
    s.refuse("C broadcasts in another way");
  if (place->ones.size() == 1 && c->size() == 2)
    s.set_input(2, s.add("Squeeze", {s.node.input(2)}, {{"axes", place->ones}}));
  s.set("broadcast", int64_t{1});
  return Rest::operands;
}

Rest p_relu_7(Step& s) {
  const auto x = s.shape(0), slope = s.shape(1);
  if (!x || !slope) s.refuse("the extents are not known");
  const auto ones = static_cast<std::size_t>(std::count(slope->begin(), slope->end(), "1"));
  if (ones == slope->size() || same_extents(*x, *slope)) return Rest::all;
  const auto place = place_in(*x, *slope);
  if (!place || ones + 1 != slope->size() || place->axis != 1 || x->size() < 2)
    s.refuse("the slopes are not one for each channel");
  if (!place->ones.empty()) s.set_input(1, s.add("Squeeze", {s.node.input(1)}, {{"axes", place->ones}}));
  return Rest::all;
}

// No broadcasting before opset 8.
Rest without_broadcasting(Step& s) {
  const auto first = s.shape(0);
  for (int k = 1; k < s.node.input_size(); ++k)
    if (const auto shape = s.shape(k); !first || !shape || !same_extents(*first, *shape))
      s.refuse("the inputs are not known to have the same extents");
  return Rest::all;
}

}  // namespace tenon::TENON_ABI::loader::down
