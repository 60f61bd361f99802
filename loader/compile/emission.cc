// Functions, their parameters and their memory.
#include "loader/compile/emission.hpp"

#include <algorithm>
#include <optional>

#include "loader/compile/run_nodes.hpp"
#include "loader/compile/scratch_peak.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::emission {

Emission::Emission(const Registry& registry, const Session& session, const CompileOptions& options)
    : registry_(registry),
      session_(session),
      program_(&session.program()),
      constants_(options.weights_threshold) {
  Identifiers names;
  const Graph& g = session.graph();
  for (std::size_t k = 0; k < g.inputs().size(); ++k)
    if (const ValueId v = g.inputs()[k]; !g.entry(v).content)
      inputs_.push_back({names.fresh(g.entry(v).name), v, static_cast<int>(k)});
  for (std::size_t o = 0; o < g.outputs().size(); ++o) {
    const auto& [name, value] = g.outputs()[o];
    const ValueId v = program_->outputs()[o];
    // What nodes make is refused where they are.
    if (const Value& known = program_->stored(v); known && !is_dense(op::info_of(known)))
      throw Error(ErrorCode::not_supported, "compile",
                  str_cat("output '", name, "' is no tensor of numbers"));
    outputs_.push_back({names.fresh(name), v, static_cast<int>(o)});
  }
  headers_.insert("tenon/op/framework/compiled.hpp");
  headers_.insert("tenon/simd/arch.hpp");  // tells the level
}

void Emission::add(Feeds feeds, Feeds others) {
  plan_ = plan_with(feeds);
  for (Feeds* f : {&feeds, &others}) feed_lengths(*f);
  operands_.assign(plan_.values.size(), std::string());
  place_values();
  written_.clear();
  std::string body;
  if (!nodes(body) || !refused_.empty()) return;
  body += results();
  std::string parameters;
  views_.clear();
  const auto add_view = [&](const Parameter& p, bool input) {
    views_.push_back(view_type(p.value, input));
    parameters += str_cat(views_.back(), " ", p.name, ", ");
  };
  for (const Parameter& p : inputs_) add_view(p, true);
  for (const Parameter& p : outputs_) add_view(p, false);
  parameters += "Memory& memory";
  if (std::ranges::find(functions_, parameters, &std::pair<std::string, std::string>::first) !=
      functions_.end()) {
    std::string extents;
    for (const Parameter& p : inputs_)
      extents += str_cat(extents.empty() ? " " : ", ", "'", session_.graph().entry(p.value).name, "' ",
                         to_string(entry(p.value).info.dims.extents()));
    throw Error(ErrorCode::invalid_argument, "compile",
                str_cat("two sets of shapes give the inputs", extents));
  }
  const int64_t scratch = peak(feeds, others);
  arena_bytes_ = std::max(arena_bytes_, plan_.arena_bytes);
  scratch_bytes_ = std::max(scratch_bytes_, scratch);
  std::string& text = functions_.emplace_back(parameters, std::string()).second;
  text = "  using namespace constants;\n  using namespace tenon::op;\n";
  if (scratch > 0) text += "  const tenon::Lent lent(memory.scratch, sizeof memory.scratch);\n";
  text += "  [[maybe_unused]] std::byte* const arena = memory.arena;\n";
  for (const Parameter& p : inputs_)
    text += str_cat("  [[maybe_unused]] const std::byte* const in", p.number, " = bytes_of(", p.name, ");\n");
  for (const Parameter& p : outputs_)
    text += str_cat("  std::byte* const out", p.number, " = bytes_of(", p.name, ");\n");
  text += body;
}

Emission::Plan Emission::plan_with(const Feeds& feeds) const {
  std::vector<op::Info> given;
  for (const Program::Given& g : program_->given()) {
    given.push_back(g.info);
    for (const auto& [name, value] : feeds)
      if (name == program_->entry(g.value).name)
        given.back() = op::info_of(value), given.back().data = nullptr;
  }
  return bodies_.plan(*program_, given);
}

bool Emission::nodes(std::string& text) {
  bool all = true;
  for (std::size_t s = 0; s < program_->nodes().size(); ++s) {
    const Graph::Node& n = program_->nodes()[s];
    free_ = base_ + plan_.arena_bytes;
    try {
      text += node(n, plan_.actions[s]);
    } catch (const Refused& r) {
      refused_.insert(str_cat(where_, tenon::detail::describe(n), ": ", r.reason));
      all = false;
    }
  }
  return all;
}

std::string Emission::results() {
  std::string text;
  for (std::size_t o = 0; o < targets_.size(); ++o) {
    const ValueId v = program_->outputs()[o];
    const std::string from = pointer(v);
    Target& to = targets_[o];
    if (!to.anyhow) to.at = from;
    if (from != to.at && bytes(v) > 0)
      text += str_cat("  std::memcpy(", to.at, ", ", from, ", ", bytes(v), ");\n");
    note_type(v);
  }
  return text;
}

ModelPart Emission::part(const std::string& name) {
  ModelPart part{
      name, {}, std::move(constants_.weights()), std::move(headers_), std::move(types_), std::move(views_)};
  part.variants = variants_;
  part.text = str_cat("namespace constants {\n\n", constants_.text(), "\n}  // namespace constants\n\n");
  part.text += "/// What a run works in; its contents mean nothing between runs.\nstruct Memory {\n";
  part.text += str_cat("  alignas(64) std::byte arena[", std::max<int64_t>(arena_bytes_, 64), "];\n");
  if (scratch_bytes_ > 0) part.text += str_cat("  alignas(64) std::byte scratch[", scratch_bytes_, "];\n");
  part.text += "};\n";
  if (!part.weights.empty())
    part.text += str_cat("\n/// The bytes of the weights' file, which a run needs at a multiple of 64.\n",
                         "inline constexpr std::size_t weights_bytes = ", part.weights.size(), ";\n");
  const std::string weights = part.weights.empty() ? "" : ", const std::byte* weights";
  for (const auto& [parameters, body] : functions_)
    part.text += str_cat("\ninline void run(", parameters, weights, ") noexcept {\n", body, "}\n");
  return part;
}

std::string Emission::pointer(ValueId v) {
  std::string& known = operands_[static_cast<std::size_t>(v)];
  if (!known.empty()) return known;
  const Plan::Entry& e = entry(v);
  switch (e.place) {
    case Place::fixed: return known = constant(v);
    case Place::given: return known = pointer(e.root);
    case Place::arena: return known = str_cat("(arena + ", base_ + entry(e.root).offset + e.shift, ")");
    case Place::output: return known = targets_[static_cast<std::size_t>(entry(e.root).output)].at;
    default: throw Refused{"a value is made by the run"};
  }
}

std::string Emission::constant(ValueId v) {
  const Plan::Entry& e = entry(v);
  bool of_file = false;
  if (program_->stored(v)) {
    if (!program_->stored(v).is_tensor() || program_->stored(v).tensor().dtype() == DType::string)
      throw Refused{"a constant is no tensor of numbers"};
    const AnyTensor& t = program_->stored(v).tensor();
    return constants_.address(t.storage().slice(0, static_cast<std::size_t>(t.bytes())), of_file);
  }
  if (e.root != v) return pointer(e.root);
  const bool wide = e.info.type.element == DType::int64;
  Storage s = wide ? Storage::make<int64_t>(e.info.propagated.size())
                   : Storage::make<int32_t>(e.info.propagated.size());
  for (int k = 0; k < e.info.propagated.size(); ++k)
    if (wide) s.as<int64_t>()[k] = e.info.propagated[k].value();
    else s.as<int32_t>()[k] = static_cast<int32_t>(e.info.propagated[k].value());
  return constants_.address(s, of_file);
}

void Emission::expect_dense(ValueId v) const {
  const op::Info& i = entry(v).info;
  if (i.type.kind != Kind::tensor || i.type.element == DType::string)
    throw Refused{"a value is no tensor of numbers"};
  if (!i.dims.known()) throw Refused{"extents are known in the run only"};
}

std::string Emission::view_type(ValueId v, bool input) const {
  std::string shape;
  for (const int64_t e : entry(v).info.dims.extents()) shape += str_cat(shape.empty() ? "" : ", ", e);
  return str_cat("TensorView<", input ? "const " : "", type_name(entry(v).info.type.element), ", Shape<",
                 shape, ">>");
}

std::string Emission::view(ValueId v, bool input) {
  if (v < 0) return "Absent{}";
  expect_dense(v);
  note_type(v);
  std::string text = str_cat("at<", input ? "const " : "", type_name(entry(v).info.type.element));
  for (const int64_t e : entry(v).info.dims.extents()) text += str_cat(", ", e);
  return str_cat(text, ">(", pointer(v), ")");
}

const Emission::Parameter* Emission::parameter(ValueId v) const {
  const auto p = std::ranges::find(inputs_, v, &Parameter::value);
  return program_ != &session_.program() || p == inputs_.end() ? nullptr : &*p;
}

ValueId Emission::key_count(const Graph::Node& n) {
  return n.op.as<op::Attention>() != nullptr && n.inputs.size() > 6 ? n.inputs[6] : -1;
}

void Emission::feed_lengths(Feeds& feeds) const {
  for (const Graph::Node& n : program_->nodes())
    if (const Parameter* p = parameter(key_count(n)))
      for (auto& [name, value] : feeds)
        if (name == session_.graph().entry(p->value).name) {
          const Extents keys = entry(n.inputs[1]).info.dims.extents();
          Tensor<int64_t> all(value.tensor().extents());
          std::fill(all.begin(), all.end(), keys[keys.size() - 2]);
          value = std::move(all);
        }
}

int64_t Emission::peak(const Feeds& zeros, const Feeds& ones) {
  const auto of = [&](const auto& run) {
    const auto at_level = [&, level = simd::scoped_level()] {
      const simd::ScopedLevel same(level);
      const ScopedPool serial(nullptr);  // as in the header, and because the notes are one thread's
      const kernels::NotedVariants noted(variants_);
      run();
    };
    return (static_cast<int64_t>(scratch_peak(at_level)) + 63) / 64 * 64;
  };
  // What is run is prepared before, on a thread with a stack of its own.
  const auto both = [&](const auto& prepared) {
    const auto tried = [&](const Feeds& feeds, int number) -> std::optional<int64_t> {
      try {
        return of(prepared(feeds, number));
      } catch (const Error&) {
        return std::nullopt;
      }
    };
    const std::optional<int64_t> of_zeros = tried(zeros, 0);
    return of_zeros ? std::max(*of_zeros, tried(ones, 1).value_or(0)) : of(prepared(ones, 1));
  };
  if (written_.empty())
    return both([&](const Feeds& feeds, int) {
      const ScopedPool serial(nullptr);  // a binding keeps the executor that it finds
      return [bound = std::make_shared<Binding>(session_.bind(feeds))] { bound->run(); };
    });
  int64_t most = both([&](const Feeds& feeds, int number) {
    return [&, number] { run_nodes(*program_, plan_, feeds, number); };
  });
  for (const auto& [program, plan] : written_)
    most = std::max(most, both([&, of_body = program, &planned = plan](const Feeds&, int number) {
                      return [&, number] { run_nodes(*of_body, planned, {}, number); };
                    }));
  return most;
}

}  // namespace tenon::TENON_ABI::emission
