// Texts from language models. The function bodies are in generate/generator_impl.hpp; programs that link
// //loader use its compiled ones.
#pragma once

#include "tenon/generate/generator.hpp"

#ifndef TENON_COMPILED_SESSION
#include "tenon/generate/generator_impl.hpp"
#include "tenon/graph/last_steps.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/graph/state.hpp"
#endif
