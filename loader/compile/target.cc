#include "loader/compile/target.hpp"

#include <algorithm>

#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI {

namespace {

// The baseline of every family but x86-64 has 32 registers of 16 bytes, and no instruction that changes a
// layout.
constexpr Target other_families[] = {
#if defined(TENON_X86_64)
    {"aarch64", "baseline", simd::Level::foreign, "aarch64-linux-gnu-g++", "", ""},
    {"wasm32", "baseline", simd::Level::foreign, "clang++ --target=wasm32-wasi", "simd128",
     "__wasm_simd128__"},
#else
    {"aarch64", "baseline", simd::Level::baseline, "aarch64-linux-gnu-g++", "", ""},
    {"wasm32", "baseline", simd::Level::baseline, "clang++ --target=wasm32-wasi", "simd128",
     "__wasm_simd128__"},
#endif
};

[[noreturn]] void refuse(ErrorCode code, std::string_view name, const std::string& reason) {
  throw Error(code, "compile", str_cat("target '", name, "': ", reason));
}

Target x86_target(std::string_view name, [[maybe_unused]] std::string_view level) {
#if defined(TENON_X86_64)
  if (std::ranges::find(simd::levels, level, &simd::LevelInfo::name) == std::end(simd::levels))
    refuse(ErrorCode::invalid_argument, name, str_cat("the levels of x86-64 are ", names(simd::levels)));
  // Compiling runs the model once, to measure its working memory.
  for (const simd::LevelInfo& l : simd::present_levels())
    if (l.name == level) return {"x86-64", l.name, l.level, "g++", "", ""};
  refuse(ErrorCode::not_supported, name,
         str_cat("this processor or this build lacks the level, which runs the model once to measure its "
                 "memory; available: ",
                 names(simd::present_levels())));
#else
  refuse(ErrorCode::not_supported, name,
         "only a processor of the family has the wide registers that the model is laid out with");
#endif
}

}  // namespace

Target target_of(std::string_view name) {
  const std::string_view family = name.substr(0, name.find(':'));
  const bool has_level = family.size() < name.size();
  if (family == "x86-64") return x86_target(name, has_level ? name.substr(family.size() + 1) : "baseline");
  for (const Target& t : other_families)
    if (family == t.family) {
      if (has_level && name.substr(family.size() + 1) != t.level)
        refuse(ErrorCode::invalid_argument, name, str_cat(family, " has one level, ", t.level));
#if defined(TENON_X86_64) && defined(TENON_ONLY_LEVEL)
      refuse(ErrorCode::not_supported, name,
             str_cat("this build has the kernels of one level alone, ", names(simd::present_levels())));
#else
      return t;
#endif
    }
  throw Error(ErrorCode::invalid_argument, "compile",
              str_cat("'", name, "' is no target; targets: aarch64, wasm32, x86-64, x86-64:LEVEL"));
}

}  // namespace tenon::TENON_ABI
