// How find_parts finds the parts of a model.
#pragma once

#include <algorithm>
#include <array>

#include "tenon/generate/parts.hpp"
#include "tenon/graph/graph.hpp"
#include "tenon/op/tensor/shape.hpp"

namespace tenon::TENON_ABI::detail {

inline constexpr std::string_view generator_place = "generator";

/// The graph's input with a name, or null.
inline const Graph::ValueEntry* find_input(const Graph& graph, std::string_view name) {
  for (const ValueId id : graph.inputs())
    if (graph.entry(id).name == name) return &graph.entry(id);
  return nullptr;
}

inline bool has_output(const Graph& graph, std::string_view name) {
  return std::ranges::any_of(graph.outputs(), [&](const auto& o) { return o.first == name; });
}

/// Whether an operator is told how many tokens each text has (seqlens_k, nonpad_kv_seqlen) by numbers made of
/// the elements of the input `mask`. It takes the first ones, so that padding has to follow them.
inline bool counts_tokens(const Graph& graph, std::string_view mask) {
  std::vector<bool> counts(graph.values().size());  // values of which such numbers are made
  for (std::size_t at = graph.nodes().size(); at-- > 0;) {
    const GraphNode& n = graph.nodes()[at];
    const bool passes_on = n.op.as<op::Shape>() == nullptr && std::ranges::any_of(n.outputs, [&](ValueId v) {
                             return v >= 0 && counts[static_cast<std::size_t>(v)];
                           });
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (n.inputs[k] < 0) continue;
      const std::string_view operand = n.op.spec().input(static_cast<int>(k)).name;
      if (passes_on || operand.find("seqlen") != std::string_view::npos)
        counts[static_cast<std::size_t>(n.inputs[k])] = true;
    }
  }
  return std::ranges::any_of(graph.inputs(), [&](ValueId v) {
    return graph.entry(v).name == mask && counts[static_cast<std::size_t>(v)];
  });
}

class PartsFinder {
 public:
  /// An encoder may read features in place of tokens.
  PartsFinder(const Graph& graph, const ModelParts& stated, bool encodes = false)
      : graph_(graph), parts_(stated), encodes_(encodes) {}

  ModelParts take() {
    find_roles();
    if (parts_.caches.empty()) find_caches();
    else expand_stated();
    if (parts_.tokens.empty()) find_tokens();
    if (parts_.logits.empty()) find_logits();
    return std::move(parts_);
  }

 private:
  struct Role {
    std::string ModelParts::* part;
    std::array<std::string_view, 2> names;
  };

  void find_roles() {
    static constexpr Role roles[] = {
        {&ModelParts::tokens, {"input_ids", "decoder_input_ids"}},
        {&ModelParts::mask, {"attention_mask", "decoder_attention_mask"}},
        {&ModelParts::positions, {"position_ids", "decoder_position_ids"}},
        {&ModelParts::places, {"cache_position", {}}},
        {&ModelParts::encoder_states, {"encoder_hidden_states", {}}},
        {&ModelParts::encoder_mask, {"encoder_attention_mask", {}}},
        {&ModelParts::use_cache, {"use_cache_branch", {}}},
        {&ModelParts::logits_to_keep, {"num_logits_to_keep", "logits_to_keep"}},
    };
    for (const Role& role : roles) {
      std::string& part = parts_.*role.part;
      if (!part.empty() && find_input(graph_, part) == nullptr) refuse("input", part);
      for (const std::string_view name : role.names)
        if (part.empty() && !name.empty() && !has_role(name) && find_input(graph_, name) != nullptr)
          part = name;
    }
    if (!parts_.logits.empty() && !has_output(graph_, parts_.logits)) refuse("output", parts_.logits);
    if (parts_.logits.empty() && has_output(graph_, "logits")) parts_.logits = "logits";
  }

  void expand_stated() {
    std::vector<Cache> caches;
    for (const Cache& c : parts_.caches) {
      if (find_input(graph_, c.past) != nullptr) {
        caches.push_back(c);
      } else {
        const std::size_t before = caches.size();
        for (int n = 0; c.past.find("%d") != std::string::npos; ++n) {
          const Cache numbered = {with_number(c.past, n), with_number(c.present, n), c.cross};
          if (find_input(graph_, numbered.past) == nullptr) break;
          caches.push_back(numbered);
        }
        if (caches.size() == before) refuse("input", c.past);
      }
    }
    for (const Cache& c : caches)
      if (!c.cross && !has_output(graph_, c.present)) refuse("output", c.present);
    parts_.caches = std::move(caches);
  }
  static std::string with_number(std::string pattern, int n) {
    if (const std::size_t at = pattern.find("%d"); at != std::string::npos)
      pattern.replace(at, 2, std::to_string(n));
    return pattern;
  }

  void find_caches() {
    for (const ValueId id : graph_.inputs()) {
      const std::string& name = graph_.entry(id).name;
      if (has_role(name)) continue;
      const bool cross = name.find("encoder") != std::string::npos || name.find("cross") != std::string::npos;
      std::string present = named_present(name);
      const bool known = !present.empty() && has_output(graph_, present);
      if (!known && !(cross && !present.empty())) present = joined_present(id);
      if (!present.empty()) parts_.caches.push_back({name, std::move(present), cross});
    }
  }
  /// The name that the present of a past usually has, preferably of an output; empty if the name has no past.
  std::string named_present(const std::string& past) const {
    static constexpr std::string_view changes[][2] = {{"past_key_values", "present"}, {"past", "present"}};
    std::string first;
    for (const auto& [from, to] : changes) {
      const std::size_t at = past.find(from);
      if (at == std::string::npos) continue;
      std::string name = past;
      name.replace(at, from.size(), to);
      if (has_output(graph_, name)) return name;
      if (first.empty()) first = std::move(name);
    }
    return first;
  }
  /// The output that a node makes of the input and of a step's own values.
  std::string joined_present(ValueId input) const {
    for (const GraphNode& n : graph_.nodes()) {
      const op::Spec& spec = n.op.spec();
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        if (n.inputs[k] != input) continue;
        if (spec.memory == op::Memory::join) {
          if (std::string name = output_of(n, 0); !name.empty()) return name;
          continue;
        }
        const std::string_view operand = spec.input(static_cast<int>(k)).name;
        if (!operand.starts_with("past")) continue;
        const std::string present = str_cat("present", operand.substr(4));
        for (int j = 0; j < spec.outputs.size(); ++j)
          if (spec.output(j).name == present)
            if (std::string name = output_of(n, static_cast<std::size_t>(j)); !name.empty()) return name;
      }
    }
    return {};
  }
  std::string output_of(const GraphNode& n, std::size_t result) const {
    if (result < n.outputs.size() && n.outputs[result] >= 0)
      for (const auto& [name, value] : graph_.outputs())
        if (value == n.outputs[result]) return name;
    return {};
  }

  void find_tokens() {
    int found = 0;
    std::string other;  // an input of which nothing is known
    for (const ValueId id : graph_.inputs()) {
      const Graph::ValueEntry& e = graph_.entry(id);
      if (e.optional || has_role(e.name)) continue;
      const bool integers = e.info.type == Type(DType::int64) || e.info.type == Type(DType::int32);
      if (integers && (!e.info.dims.ranked() || e.info.dims.rank() == 2)) parts_.tokens = e.name, ++found;
      else if (other.empty()) other = str_cat("; '", e.name, "' is ", to_string(e.info.type));
    }
    if (found != 1 && !(encodes_ && found == 0))
      raise(ErrorCode::invalid_model, generator_place, found, " inputs of the model may be its tokens",
            other);
  }
  void find_logits() {
    int found = 0;
    for (const auto& [name, value] : graph_.outputs()) {
      if (std::ranges::any_of(parts_.caches, [&](const Cache& c) { return c.present == name; })) continue;
      parts_.logits = name;
      ++found;
    }
    if (found != 1)
      raise(ErrorCode::invalid_model, generator_place, found, " outputs of the model may be its logits");
  }

  bool has_role(std::string_view name) const {
    for (const std::string* part :
         {&parts_.tokens, &parts_.mask, &parts_.positions, &parts_.places, &parts_.encoder_states,
          &parts_.encoder_mask, &parts_.use_cache, &parts_.logits_to_keep})
      if (*part == name) return true;
    return std::ranges::any_of(parts_.caches, [&](const Cache& c) { return c.past == name; });
  }
  [[noreturn]] static void refuse(std::string_view what, std::string_view name) {
    raise(ErrorCode::invalid_argument, generator_place, "the model has no ", what, " '", name, "'");
  }

  const Graph& graph_;
  ModelParts parts_;
  bool encodes_;
};

}  // namespace tenon::TENON_ABI::detail
