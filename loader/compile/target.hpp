// The machines that models are compiled for.
#pragma once

#include <string_view>

#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI {

/// A processor family with one of its levels. Everything in a compiled model that depends on a level (blocks
/// of channels, packed constants, working memory) comes from kernels that `kernels` puts into force while the
/// model is compiled.
struct Target {
  std::string_view family;    ///< as options name it
  std::string_view level;     ///< as options name it
  std::string_view native;    ///< the level of the family's own table that code for the target chooses
  simd::Level kernels;        ///< a level of this program with the same layouts
  std::string_view compiler;  ///< and the option that aims it at the family
  std::string_view feature;   ///< for its -m, in addition to the level's
  std::string_view macro;     ///< by which it reports the feature
};

/// The target of a name: "wasm32", "aarch64" or "x86-64" with a level, as in "x86-64:avx2", or without, which
/// is the baseline. Error{invalid_argument} for other names; {not_supported} if this program has no
/// kernels with the target's layouts, or the processor cannot run them.
Target target_of(std::string_view name);

}  // namespace tenon::TENON_ABI
