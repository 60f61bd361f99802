// The header of compiled models: the library's text, the models' parts, and the conditions on their build.
#include <algorithm>

#include "loader/compile/compile.hpp"
#include "loader/compile/target.hpp"
#include "loader/format/sha1.hpp"
#include "tenon/base/version.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/features.hpp"

namespace tenon::TENON_ABI {

namespace {

// Whether some processors of a level have instructions that others of the level lack. Levels of Arm differ by
// them.
constexpr bool some_have_more =
#if defined(TENON_X86_64)
    true;
#else
    false;
#endif

// Each processor family has a level of the same name at the bottom, with registers of its own, for which
// constants are packed.
std::string layout_check() {
  return simd::dispatch([]<class Arch>(Arch) {
    return str_cat("static_assert(tenon::simd::Native::registers == ", Arch::registers,
                   " && tenon::simd::Native::register_bytes == ", Arch::register_bytes,
                   ",\n              \"its constants are packed for ", Arch::registers, " registers of ",
                   Arch::register_bytes,
                   " bytes: compile the model for this processor family (tenon compile --target)\");\n");
  });
}

// The target of all parts, by default this machine.
Target common_target(std::span<const ModelPart> parts) {
  for (const ModelPart& p : parts)
    if (p.target != parts[0].target)
      throw Error(ErrorCode::invalid_argument, "compile",
                  str_cat("'", parts[0].name, "' and '", p.name, "' are compiled for different targets"));
  if (parts.empty() || parts[0].target.empty()) {
    const simd::Level level = simd::level();
    const std::string_view name = simd::levels[static_cast<std::size_t>(level)].name;
    return {{}, name, name, level, "g++", {}, {}};
  }
  return target_of(parts[0].target);
}

}  // namespace

std::string assemble(std::span<const HeaderText> files, std::span<const ModelPart> parts,
                     const std::string& space) {
  std::set<std::string> headers;
  std::set<DType> types;
  kernels::Variants variants{};
  for (const ModelPart& p : parts) {
    for (std::size_t k = 0; k < variants.size(); ++k)
      variants[k] = static_cast<uint16_t>(variants[k] | p.variants[k]);
    headers.insert(p.headers.begin(), p.headers.end());
    types.insert(p.types.begin(), p.types.end());
  }
  const Target target = common_target(parts);
  const simd::ScopedLevel kernels(parts.empty() || parts[0].target.empty() ? simd::scoped_level()
                                                                           : &target.kernels);
  // Other units of the program may contain another model of the same name.
  loader::Sha1 digest;
  const auto add = [&](std::string_view text) { digest.add(std::as_bytes(std::span(text))); };
  add(str_cat(library_version, " ", target.family, " ", target.level));
  for (const ModelPart& p : parts) add(p.text);
  const std::string unit = str_cat("unit_", digest.hex().substr(0, 12));
  const std::string enclosing = str_cat(space, "::", unit);
  const std::vector<std::string> wanted(headers.begin(), headers.end());
  const std::string library = amalgamate(
      files, wanted, {.enclosing = enclosing, .freestanding = true, .types = {types.begin(), types.end()}});

  std::string flags, condition;
  const auto require = [&](std::string_view feature, std::string macro = {}) {
    flags += str_cat(" -m", feature);
    if (macro.empty()) {
      macro = str_cat("__", feature, "__");
      for (char& c : macro) c = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    condition += str_cat(condition.empty() ? "" : " || ", "!defined(", macro, ")");
  };
  if (!target.feature.empty()) require(target.feature, std::string(target.macro));
  // A level of another family is not among this one's, and adds nothing to its compiler's defaults.
  const std::span family(simd::levels);
  const auto level = static_cast<std::size_t>(target.kernels);
  for (const simd::LevelInfo& l : family.first(level < family.size() ? level + 1 : 0)) {
    std::string_view features = l.features;
    while (!features.empty()) {
      features.remove_prefix(1);  // a blank
      const std::string_view feature = features.substr(0, features.find(' '));
      features.remove_prefix(feature.size());
      // One flag for all of a level's features replaces the previous level's.
      if (feature.find('=') != feature.npos) flags = str_cat(" -m", feature);
      else require(feature);
    }
  }
  // Constants are laid out here for the instructions that multiply bytes, or halves.
  const auto has = [&](std::string_view kernel) { return library.find(kernel) != library.npos; };
  const bool widest = simd::level() == std::rbegin(simd::levels)->level, bytes = has("ByteForm");
  const bool halves =
      has("split_product") && (types.contains(DType::float16) || types.contains(DType::bfloat16));
  // No layout depends on these instructions here, but time does.
  const bool digits = has("multiply_digits") &&
                      std::ranges::any_of(types, [](DType t) { return is_integer(t) && bits_of(t) <= 4; });
  const bool vnni = some_have_more && (bytes || digits) &&
                    simd::dispatch([]<class Arch>(Arch) { return simd::has_dot_bytes<Arch>(); }),
             amx = (bytes || halves) &&
                   simd::dispatch([]<class Arch>(Arch) { return simd::has_tiles<Arch>(); });
  if (vnni) require(widest ? "avx512vnni" : "avxvnni");
  if (amx) require("amx-tile"), require("amx-int8"), require("amx-bf16");

  std::string text = str_cat("// Compiled by tenon ", library_version, " for the level ", target.level,
                             target.family.empty() ? "" : str_cat(" of ", target.family), ":\n//   ",
                             target.compiler, " -std=c++20 -O2", flags, "\n#pragma once\n\n");
  if (!condition.empty())
    text += str_cat("#if ", condition, "\n#error \"this header needs", flags, "\"\n#endif\n\n");
  const std::string uses = str_cat(space, "_TENON_USES_");
  text += str_cat("#define ", uses, "VNNI ", vnni ? 1 : 0, "\n#define ", uses, "AMX ", amx ? 1 : 0);
  text += str_cat("\n#define ", space, "_TENON_VARIANTS ");
  for (std::size_t k = 0; k < variants.size(); ++k) text += str_cat(k > 0 ? ", " : "", variants[k]);
  text += "\n\n";
  text += str_cat("namespace ", space, " {\ninline namespace ", unit, " {}\n}  // namespace ", space, "\n\n");
  text +=
      str_cat(library, "#undef ", uses, "VNNI\n#undef ", uses, "AMX\n#undef ", space, "_TENON_VARIANTS\n");
  text += "\n#include <bit>\n#include <cstddef>\n#include <cstdint>\n#include <cstring>\n";
  text += str_cat("\nnamespace ", enclosing, " {\n\nstatic_assert(tenon::simd::detail::native == ",
                  "tenon::simd::Level::", target.native, ", \"compiled for the level ", target.level,
                  "\");\n", layout_check(), "\n", "using tenon::Shape;\nusing tenon::TensorView;\n\n");
  for (const ModelPart& p : parts) {
    const bool within = p.name != space;
    text += within ? str_cat("namespace ", p.name, " {\n\n", p.text, "\n}  // namespace ", p.name, "\n\n")
                   : p.text;
  }
  return text + str_cat("\n}  // namespace ", enclosing, "\n");
}

}  // namespace tenon::TENON_ABI
