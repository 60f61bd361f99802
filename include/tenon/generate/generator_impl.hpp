// Function bodies of generator.hpp.
#pragma once

#include "tenon/generate/generation.hpp"

#ifdef TENON_COMPILED_SESSION
#define TENON_GENERATOR
#else
#define TENON_GENERATOR inline
#endif

namespace tenon::TENON_ABI {

TENON_GENERATOR ModelParts find_parts(const Graph& graph, const ModelParts& stated) {
  return detail::PartsFinder(graph, stated).take();
}

namespace detail {

TENON_GENERATOR GenerationHandle::GenerationHandle(std::unique_ptr<Generation> generation)
    : generation_(std::move(generation)) {}
TENON_GENERATOR GenerationHandle::GenerationHandle(GenerationHandle&&) noexcept = default;
TENON_GENERATOR GenerationHandle& GenerationHandle::operator=(GenerationHandle&&) noexcept = default;
TENON_GENERATOR GenerationHandle::~GenerationHandle() = default;
TENON_GENERATOR Generation& GenerationHandle::generation() const {
  if (generation_ == nullptr)
    raise(ErrorCode::invalid_argument, generator_place, "the stream was moved from");
  return *generation_;
}
TENON_GENERATOR bool GenerationHandle::advance() { return generation().advance(); }
TENON_GENERATOR std::span<const int> GenerationHandle::current() const { return generation().current(); }

}  // namespace detail

TENON_GENERATOR Generator::Generator(const Session& session, GeneratorOptions options) {
  const auto found = [](LanguageModel m) {
    if (m.session != nullptr) m.parts = find_parts(m.session->graph(), m.parts);
    return m;
  };
  auto models = std::make_shared<detail::GeneratorModels>();
  models->model = found({&session, std::move(options.parts)});
  models->first = found(std::move(options.first));
  models->draft = found(std::move(options.draft));
  if (LanguageModel& encoder = options.encoder; encoder.session != nullptr) {
    const auto& outputs = encoder.session->graph().outputs();
    if (encoder.parts.logits.empty() && !outputs.empty()) encoder.parts.logits = outputs[0].first;
    encoder.parts = detail::PartsFinder(encoder.session->graph(), encoder.parts, true).take();
    models->encoder = std::move(encoder);
  }
  const LanguageModel& first = models->first;
  for (const Cache& c : models->model.parts.caches) {
    const Graph& maker = (first.session != nullptr ? *first.session : session).graph();
    if (!detail::has_output(maker, c.present) && !detail::makes_cross(models->encoder, c))
      raise(ErrorCode::invalid_argument, str_cat(detail::generator_place, ": input '", c.past, "'"),
            "no model returns '", c.present, "': GeneratorOptions::first names the model of the first step");
  }
  models_ = std::move(models);
}

TENON_GENERATOR const ModelParts& Generator::parts() const { return models_->model.parts; }

TENON_GENERATOR TokenStream<int> Generator::stream(std::vector<int> prompt, GenerateOptions options) const {
  std::vector<std::vector<int>> prompts;
  prompts.push_back(std::move(prompt));
  return TokenStream<int>(
      std::make_unique<detail::Generation>(models_, std::move(prompts), std::move(options)));
}

TENON_GENERATOR TokenStream<std::span<const int>> Generator::batch(std::vector<std::vector<int>> prompts,
                                                                   GenerateOptions options) const {
  return TokenStream<std::span<const int>>(
      std::make_unique<detail::Generation>(models_, std::move(prompts), std::move(options)));
}

}  // namespace tenon::TENON_ABI

#undef TENON_GENERATOR
