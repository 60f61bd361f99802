#include "loader/compare.hpp"
#include "tenon/base/platform/overflow.hpp"

#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace tenon::TENON_ABI::loader {
namespace {

// The rank of a float among the numbers of its type, from its bits. The bits of negative numbers count down.
template <class T>
int64_t rank_of(T x) {
  if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  } else if constexpr (sizeof(T) == 4) {
    const auto bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? int64_t{std::numeric_limits<int32_t>::min()} - bits : bits;
  } else if constexpr (sizeof(T) == 2) {
    const auto bits = std::bit_cast<int16_t>(x);
    return bits < 0 ? int64_t{std::numeric_limits<int16_t>::min()} - bits : bits;
  } else {
    return 0;
  }
}
template <class T>
int64_t ulps_between(T a, T b) {
  int64_t distance = 0;
  if (tenon::detail::sub_overflow(rank_of(a), rank_of(b), &distance))
    return std::numeric_limits<int64_t>::max();
  return distance < 0 ? -distance : distance;
}

std::string place_of(int64_t offset, const Extents& extents) {
  Extents place = extents;
  for (int a = place.size(); a-- > 0;) {
    place[a] = offset % extents[a];
    offset /= extents[a];
  }
  return to_string(place);
}

void compare_tensors(const AnyTensor& first, const AnyTensor& second, Tolerance tolerance,
                     ValueDifference& d) {
  d.elements = first.size();
  int64_t worst = -1;
  double worst_distance = -1;
  visit_dtype(first.dtype(), [&]<class T>() {
    const auto a = first.view().as<T>(), b = second.view().as<T>();
    for (int64_t k = 0; k < first.size(); ++k) {
      const auto x = T(a[k]), y = T(b[k]);
      const bool close = tenon::detail::is_close(y, x, tolerance);
      if (!close) ++d.differing;
      double distance = close ? 0 : std::numeric_limits<double>::infinity();
      if constexpr (dtype_of<T> != DType::string && !is_complex(dtype_of<T>)) {
        const auto p = static_cast<double>(x), q = static_cast<double>(y);
        if (std::isfinite(p) && std::isfinite(q)) {
          distance = std::abs(p - q);
          d.absolute = std::max(d.absolute, distance);
          if (p != 0) d.relative = std::max(d.relative, distance / std::abs(p));
          if constexpr (is_float(dtype_of<T>)) d.ulp = std::max(d.ulp, ulps_between(x, y));
        }
      }
      if (!close && distance > worst_distance) worst = k, worst_distance = distance;
    }
  });
  if (worst >= 0)
    d.reason =
        str_cat(d.differing, " of ", d.elements, " elements, the worst at ", place_of(worst, first.extents()),
                ": ", tenon::detail::element_text(second.view(), worst), " instead of ",
                tenon::detail::element_text(first.view(), worst));
}

std::set<std::string_view> computed(const Session& s) {
  std::set<std::string_view> names;
  const Program& program = s.program();
  for (const Program::Node& n : program.nodes())
    for (ValueId v : n.outputs)
      if (program.used(v) || !program.constant(v)) names.insert(program.entry(v).name);
  return names;
}

// Bisects between the last value that agrees and the first that does not, to find a differing value that
// fusion hides. Each candidate is requested alone, so that the passes see the nodes before it as usual.
class Search {
 public:
  Search(const Session& first, const Session& second, const Feeds& first_feeds, const Feeds& second_feeds,
         Tolerance tolerance)
      : first_(first),
        second_(second),
        first_feeds_(first_feeds),
        second_feeds_(second_feeds),
        tolerance_(tolerance) {}

  /// Adds the differences before the first value that differs.
  void add_to(std::vector<ValueDifference>& differences) const {
    const auto wrong = std::ranges::find_if(differences, [](const auto& d) { return !d.within(); });
    if (wrong == differences.end()) return;
    ValueId after = -1, before = first_.graph().find(wrong->name);
    for (auto d = differences.begin(); d != wrong; ++d) after = std::max(after, first_.graph().find(d->name));
    std::vector<std::string> hidden;
    for (ValueId v = after + 1; v < before; ++v) {
      const Graph::ValueEntry& e = first_.graph().entry(v);
      if (e.source == Graph::Source::node && !e.name.empty() && second_.graph().find(e.name) >= 0)
        hidden.push_back(e.name);
    }
    std::optional<ValueDifference> found;
    for (std::size_t low = 0, high = hidden.size(); low < high;) {
      const std::size_t middle = (low + high) / 2;
      ValueDifference d = compared(hidden[middle]);
      if (d.within()) low = middle + 1;
      else high = middle, found = std::move(d);
    }
    if (found) differences.insert(wrong, *std::move(found));
  }

 private:
  ValueDifference compared(const std::string& name) const {
    RunOptions alone;
    alone.outputs = {name};
    ValueDifference d =
        compare(first_.run(first_feeds_, alone)[0], second_.run(second_feeds_, alone)[0], tolerance_);
    d.name = name;
    d.node = makers_of(first_.graph(), alone.outputs)[0];
    return d;
  }

  const Session &first_, &second_;
  const Feeds &first_feeds_, &second_feeds_;
  Tolerance tolerance_;
};

}  // namespace

ValueDifference compare(const Value& first, const Value& second, Tolerance tolerance) {
  ValueDifference d;
  d.type = to_string(first.type());
  if (first.is_tensor()) d.type += str_cat(" ", to_string(first.tensor().extents()));
  if (first.is_tensor() && second.is_tensor() && first.type() == second.type() &&
      first.tensor().extents() == second.tensor().extents())
    compare_tensors(first.tensor(), second.tensor(), tolerance, d);
  else d.reason = difference(second, first, tolerance);
  return d;
}

std::vector<std::string> makers_of(const Graph& graph, std::span<const std::string> names) {
  std::vector<const Graph::Node*> makers(graph.values().size());
  for (const Graph::Node& n : graph.nodes())
    for (ValueId v : n.outputs) makers[static_cast<std::size_t>(v)] = &n;
  const std::map<std::string_view, ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  std::vector<std::string> texts;
  for (const std::string& name : names) {
    ValueId id = graph.find(name);
    if (const auto it = outputs.find(name); id < 0 && it != outputs.end()) id = it->second;
    const Graph::Node* const maker = id < 0 ? nullptr : makers[static_cast<std::size_t>(id)];
    texts.push_back(maker == nullptr ? "" : tenon::detail::describe(*maker));
  }
  return texts;
}

std::vector<std::string> common_values(const Session& first, const Session& second,
                                       const CompareOptions& options) {
  const Graph &ours = first.graph(), &theirs = second.graph();
  std::set<std::string_view> in_first, in_second, their_outputs;
  for (const auto& [name, id] : theirs.outputs()) their_outputs.insert(name);
  if (options.computed_only) in_first = computed(first), in_second = computed(second);
  std::multimap<ValueId, std::string_view> outputs;
  for (const auto& [name, id] : ours.outputs()) outputs.emplace(id, name);
  std::vector<std::string> names;
  std::set<std::string_view> taken;
  const auto take = [&](std::string_view name) {
    if (taken.insert(name).second) names.emplace_back(name);
  };
  const auto take_outputs = [&](ValueId v) {
    for (auto [it, end] = outputs.equal_range(v); it != end; ++it)
      if (their_outputs.contains(it->second)) take(it->second);
  };
  for (const Graph::Node& n : ours.nodes())
    for (ValueId v : n.outputs) {
      take_outputs(v);
      const std::string& name = ours.entry(v).name;
      if (name.empty() || theirs.find(name) < 0) continue;
      if (!options.computed_only || (in_first.contains(name) && in_second.contains(name))) take(name);
    }
  for (const auto& [name, id] : ours.outputs()) take_outputs(id);
  return names;
}

std::vector<ValueDifference> compare(const Session& first, const Session& second, const Feeds& first_feeds,
                                     const Feeds& second_feeds, const CompareOptions& options) {
  const std::vector<std::string> names = common_values(first, second, options);
  RunOptions ours{.outputs = names}, theirs{.outputs = names};
  // Outputs whose names differ, by position.
  const auto &a = first.graph().outputs(), &b = second.graph().outputs();
  const std::set<std::string_view> shared(names.begin(), names.end());
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k)
    if (!shared.contains(a[k].first) && !shared.contains(b[k].first)) {
      ours.outputs.push_back(a[k].first);
      theirs.outputs.push_back(b[k].first);
    }
  if (ours.outputs.empty())
    throw Error(ErrorCode::invalid_argument, "compare", "the graphs have no value in common");
  Outputs first_values = first.run(first_feeds, ours), second_values = second.run(second_feeds, theirs);
  const std::vector<std::string> makers = makers_of(first.graph(), ours.outputs);
  std::vector<ValueDifference> differences;
  for (std::size_t k = 0; k < ours.outputs.size(); ++k) {
    differences.push_back(compare(first_values[k], second_values[k], options.tolerance));
    differences.back().name = ours.outputs[k];
    differences.back().node = makers[k];
  }
  if (options.computed_only)
    Search(first, second, first_feeds, second_feeds, options.tolerance).add_to(differences);
  return differences;
}

}  // namespace tenon::TENON_ABI::loader
