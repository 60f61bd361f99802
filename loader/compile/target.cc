#include "loader/compile/target.hpp"

#include <algorithm>

#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI {

namespace {

// The family of this program, of whose levels the processor has some.
constexpr std::string_view own_family =
#if defined(TENON_X86_64)
    "x86-64";
#elif defined(TENON_AARCH64)
    "aarch64";
#else
    "";
#endif

// Their levels have no instruction that changes a layout: registers decide, 32 of 16 bytes, and 16 of them on
// WebAssembly as on x86-64. The first level of a family is the default. -mrelaxed-simd implies -msimd128.
constexpr std::string_view to_wasm = "clang++ --target=wasm32-wasi";
constexpr Target other_families[] = {
#if defined(TENON_X86_64)
    {"aarch64", "baseline", "baseline", simd::Level::foreign, "aarch64-linux-gnu-g++", "", ""},
    {"wasm32", "baseline", "baseline", simd::Level::baseline, to_wasm, "simd128", "__wasm_simd128__"},
    {"wasm32", "relaxed", "baseline", simd::Level::baseline, to_wasm, "relaxed-simd",
     "__wasm_relaxed_simd__"},
#else
    {"aarch64", "baseline", "baseline", simd::Level::baseline, "aarch64-linux-gnu-g++", "", ""},
#endif
};

[[noreturn]] void refuse(ErrorCode code, std::string_view name, const std::string& reason) {
  throw Error(code, "compile", str_cat("target '", name, "': ", reason));
}

Target own_target(std::string_view name, std::string_view level) {
  if (std::ranges::find(simd::levels, level, &simd::LevelInfo::name) == std::end(simd::levels))
    refuse(ErrorCode::invalid_argument, name,
           str_cat("the levels of ", own_family, " are ", names(simd::levels)));
  // Compiling runs the model once, to measure its working memory.
  for (const simd::LevelInfo& l : simd::present_levels())
    if (l.name == level) return {own_family, l.name, l.name, l.level, "g++", "", ""};
  refuse(ErrorCode::not_supported, name,
         str_cat("this processor or this build lacks the level, which runs the model once to measure its "
                 "memory; available: ",
                 names(simd::present_levels())));
}

}  // namespace

Target target_of(std::string_view name) {
  const std::string_view family = name.substr(0, name.find(':'));
  const bool has_level = family.size() < name.size();
  if (!own_family.empty() && family == own_family)
    return own_target(name, has_level ? name.substr(family.size() + 1) : "baseline");
  if (family == "x86-64")
    refuse(ErrorCode::not_supported, name,
           "only a processor of the family has the wide registers that the model is laid out with");
  std::string levels;
  for (const Target& t : other_families)
    if (family == t.family) {
      levels += str_cat(levels.empty() ? "" : ", ", t.level);
      if (has_level && name.substr(family.size() + 1) != t.level) continue;
#if defined(TENON_X86_64) && defined(TENON_ONLY_LEVEL)
      refuse(ErrorCode::not_supported, name,
             str_cat("this build has the kernels of one level alone, ", names(simd::present_levels())));
#else
      return t;
#endif
    }
  if (!levels.empty())
    refuse(ErrorCode::invalid_argument, name,
           str_cat("the levels of ", family, " on a machine of another family are ", levels));
#if !defined(TENON_X86_64)
  if (family == "wasm32")
    refuse(ErrorCode::not_supported, name,
           "only x86-64 has kernels for 16 registers of 16 bytes, with which the model is laid out");
#endif
  throw Error(
      ErrorCode::invalid_argument, "compile",
      str_cat(
          "'", name,
          "' is no target; targets: aarch64, aarch64:LEVEL, wasm32, wasm32:relaxed, x86-64, x86-64:LEVEL"));
}

}  // namespace tenon::TENON_ABI
