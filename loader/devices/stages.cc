#include "loader/devices/stages.hpp"

#include <algorithm>

#include "loader/devices/multiplications.hpp"
#include "tenon/devices/rank_graph.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

class StageDivision {
 public:
  StageDivision(const Graph& graph, int64_t stages) : graph_(graph), stages_(stages) {
    find_work();
    find_passing();
  }

  std::vector<std::vector<std::size_t>> take() const {
    const auto products = static_cast<int64_t>(gaps_.size());
    if (products < stages_)
      raise(ErrorCode::not_supported, "devices", "the graph's ", products, " products do not fill ", stages_,
            " pipeline stages");
    const int64_t least = least_work();
    const std::vector<std::size_t> first = first_products(least + least / 20);
    std::vector<std::vector<std::size_t>> list;
    for (std::size_t k = 0; k < first.size(); ++k) {
      const std::size_t begin = k == 0 ? 0 : gaps_[first[k]];
      const std::size_t end = k + 1 < first.size() ? gaps_[first[k + 1]] : nodes_.size();
      list.emplace_back(nodes_.begin() + static_cast<std::ptrdiff_t>(begin),
                        nodes_.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return list;
  }

 private:
  // What passes from one stage to the next: values that cannot, and bytes.
  struct Passing {
    int64_t fixed = 0;
    double bytes = 0;

    void add(const Passing& other, int times) {
      fixed += times * other.fixed;
      bytes += times * other.bytes;
    }
    auto operator<=>(const Passing&) const = default;
  };

  static std::size_t at(ValueId v) { return static_cast<std::size_t>(v); }

  // The nodes that belong to stages, and the work before each product and in all.
  void find_work() {
    int64_t constants = 0;
    for (const Graph::ValueEntry& e : graph_.values())
      if (e.source == Graph::Source::constant) constants += elements_of(e.info) / 1000;
    struct Value {
      bool varies = false, placed = false;
      int64_t weights = 0;  // elements of a constant, or of what depends on constants alone
    };
    std::vector<Value> values(graph_.values().size());
    for (std::size_t v = 0; v < values.size(); ++v) {
      const Graph::ValueEntry& e = graph_.values()[v];
      if (e.source == Graph::Source::constant) values[v].weights = elements_of(e.info);
      else values[v].varies = e.source != Graph::Source::node;
    }
    sums_.push_back(0);
    for (std::size_t k = 0; k < graph_.nodes().size(); ++k) {
      const Graph::Node& n = graph_.nodes()[k];
      bool varies = false, placed = false;
      for (const auto* list : {&n.inputs, &n.captures})
        for (const ValueId v : *list)
          if (v >= 0) {
            varies = varies || values[at(v)].varies;
            placed = placed || values[at(v)].placed || values[at(v)].weights > constants;
          }
      const int64_t work = varies ? product_of(graph_, n).multiplications : 0;
      placed = varies && (placed || work > 0);
      for (const ValueId v : n.outputs)
        if (v >= 0) values[at(v)] = {varies, placed, varies ? 0 : elements_of(graph_.entry(v).info)};
      if (!placed) continue;
      if (work > 0) {
        products_.push_back(nodes_.size());
        sums_.push_back(sums_.back() + work);
      }
      nodes_.push_back(k);
    }
  }

  // What passes from the nodes before a place to the others, and the best place before each product.
  void find_passing() {
    std::vector<std::size_t> made(graph_.values().size()), read(graph_.values().size());
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const Graph::Node& n = graph_.nodes()[nodes_[k]];
      for (const auto* list : {&n.inputs, &n.captures})
        for (const ValueId v : *list)
          if (v >= 0) read[at(v)] = k;
      for (const ValueId v : n.outputs)
        if (v >= 0) made[at(v)] = k + 1;
    }
    std::vector<Passing> change(nodes_.size() + 1);
    for (std::size_t v = 0; v < made.size(); ++v) {
      if (made[v] == 0 || read[v] < made[v]) continue;
      const op::Info& info = graph_.values()[v].info;
      const Passing value{.fixed = !devices::detail::is_movable(info.type),
                          .bytes = static_cast<double>(bytes_of(info))};
      change[made[v]].add(value, 1);
      change[read[v] + 1].add(value, -1);
    }
    Passing passing;
    std::vector<Passing> at_place(nodes_.size());
    for (std::size_t k = 0; k < at_place.size(); ++k) {
      passing.add(change[k], 1);
      at_place[k] = passing;
    }
    for (std::size_t j = 0; j < products_.size(); ++j) {
      const std::size_t begin = j == 0 ? 0 : products_[j - 1] + 1;
      const auto from = at_place.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto end = at_place.begin() + static_cast<std::ptrdiff_t>(products_[j]) + 1;
      const auto best = std::min_element(from, end);
      gaps_.push_back(static_cast<std::size_t>(best - at_place.begin()));
      passing_.push_back(*best);
    }
  }

  // The first product of each stage, as early as the later stages permit with this much work in each. False
  // if that does not suffice.
  bool earliest_starts(int64_t most, std::vector<std::size_t>& starts) const {
    starts.assign(static_cast<std::size_t>(stages_), 0);
    std::size_t end = products_.size();
    for (std::size_t s = starts.size(); s-- > 0;) {
      std::size_t begin = end;
      while (begin > s && sums_[end] - sums_[begin - 1] <= most) --begin;
      if (begin == end) return false;
      starts[s] = end = begin;
    }
    return end == 0;
  }
  int64_t least_work() const {
    int64_t low = sums_.back() / stages_, high = sums_.back();
    std::vector<std::size_t> starts;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (earliest_starts(middle, starts)) high = middle;
      else low = middle + 1;
    }
    return high;
  }

  // Of the places for the beginning of a stage that keep within the work, the one where least passes; the one
  // that divides the rest of the work most evenly if several do.
  std::vector<std::size_t> first_products(int64_t most) const {
    std::vector<std::size_t> earliest, first{0};
    earliest_starts(most, earliest);
    for (std::size_t s = 1; s < earliest.size(); ++s) {
      const std::size_t before = first.back();
      const std::size_t last = products_.size() - (earliest.size() - s);
      const int64_t share = (sums_.back() - sums_[before]) / static_cast<int64_t>(earliest.size() - s + 1);
      std::size_t best = std::max(earliest[s], before + 1);
      const auto off = [&](std::size_t j) { return std::abs(sums_[j] - sums_[before] - share); };
      for (std::size_t j = best + 1; j <= last && sums_[j] - sums_[before] <= most; ++j)
        if (passing_[j] < passing_[best] || (passing_[j] == passing_[best] && off(j) < off(best))) best = j;
      first.push_back(best);
    }
    return first;
  }

  const Graph& graph_;
  int64_t stages_;
  std::vector<std::size_t> nodes_;     // that belong to stages, by number
  std::vector<std::size_t> products_;  // their places among these
  std::vector<int64_t> sums_;          // the work of the first products
  std::vector<std::size_t> gaps_;      // where a stage begins whose first product this is
  std::vector<Passing> passing_;       // there
};

}  // namespace

std::vector<std::vector<std::size_t>> divide_into_stages(const Graph& graph, int64_t stages) {
  return StageDivision(graph, stages).take();
}

}  // namespace tenon::TENON_ABI::loader
