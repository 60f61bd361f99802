// Instruction-set levels. A kernel is a template on a level's tag; `dispatch` picks the tag. Header-only, the
// compiler's flags choose. With TENON_COMPILED the kernels of all levels are linked in, each from a unit with
// its own flags, and the processor (or the variable TENON_ARCH, by a level's name) chooses at run time. Where
// the kernels of a single level are built, TENON_ONLY_LEVEL also names it, and code calls no others.
#pragma once

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "tenon/base/error.hpp"
#include "tenon/simd/arm/levels.hpp"
#include "tenon/simd/generic/levels.hpp"
#include "tenon/simd/wasm/levels.hpp"
#include "tenon/simd/x86/levels.hpp"

// TENON_LEVELS is the table of the processor family's levels, each including everything of the previous one.
// A row has the tag, the name, the number of vector registers and their size in bytes, and the features that
// the level adds: a feature's name, for the compiler's -m and in the processor, and the macro by which the
// compiler reports that it may use the feature. TENON_PROCESSOR_HAS(feature) asks the processor; a family
// with a single level does without. loader/bazel/level_rows.bzl has the same rows.
//
// TENON_LAYOUTS has the same rows for levels of other families: their kernels run here, on this family's
// registers, so that models can be laid out for processors that are not at hand. No request names them.
#define TENON_NO_FEATURE(feature, macro)
#if !defined(TENON_LAYOUTS)
#define TENON_LAYOUTS(LEVEL, FEATURE)
#endif

namespace tenon::TENON_ABI::simd {

#define TENON_LEVEL(Tag, name, registers, bytes, features) name,
enum class Level { TENON_LEVELS(TENON_LEVEL, TENON_NO_FEATURE) TENON_LAYOUTS(TENON_LEVEL, TENON_NO_FEATURE) };
#undef TENON_LEVEL

namespace detail {
template <Level>
struct TagOf;
}

// `least`: the least level of its family.
#define TENON_TAG(Tag, name, count, bytes, is_least)                \
  struct Tag {                                                      \
    static constexpr Level level = Level::name;                     \
    static constexpr int registers = count, register_bytes = bytes; \
    static constexpr bool least = is_least;                         \
  };                                                                \
  template <>                                                       \
  struct detail::TagOf<Level::name> {                               \
    using type = Tag;                                               \
  };
#define TENON_LEVEL(Tag, name, count, bytes, features) \
  TENON_TAG(Tag, name, count, bytes, Level::name == Level{})
TENON_LEVELS(TENON_LEVEL, TENON_NO_FEATURE)
#undef TENON_LEVEL
#define TENON_LEVEL(Tag, name, count, bytes, features) TENON_TAG(Tag, name, count, bytes, true)
TENON_LAYOUTS(TENON_LEVEL, TENON_NO_FEATURE)
#undef TENON_LEVEL
#undef TENON_TAG

/// A row of the table.
struct LevelInfo {
  Level level;
  std::string_view name, tag;
  std::string_view features;  ///< that the level adds to the previous one, each preceded by a space
};

#define TENON_LEVEL(Tag, name, registers, bytes, features) \
  {Level::name, #name, #Tag, std::string_view("" features)},
#define TENON_FEATURE(feature, macro) " " feature
inline constexpr LevelInfo levels[] = {TENON_LEVELS(TENON_LEVEL, TENON_FEATURE)};
#undef TENON_LEVEL
#undef TENON_FEATURE

namespace detail {

// The greatest level that this unit's compiler flags allow. An undefined macro expands to its own name.
constexpr Level native = [] {
  Level greatest{};
#define TENON_LEVEL(Tag, name, registers, bytes, features) \
  if (true features) greatest = Level::name;
#define TENON_IS_ONE(macro) &&#macro[0] == '1'
#define TENON_FEATURE(feature, macro) TENON_IS_ONE(macro)
  TENON_LEVELS(TENON_LEVEL, TENON_FEATURE)
#undef TENON_LEVEL
#undef TENON_IS_ONE
#undef TENON_FEATURE
  return greatest;
}();

}  // namespace detail

/// The tag of the greatest level that this unit's compiler flags allow.
using Native = detail::TagOf<detail::native>::type;

/// The greatest level that the processor supports.
inline Level processor_level() {
  Level greatest{};
#define TENON_LEVEL(Tag, name, registers, bytes, features) \
  if (true features) greatest = Level::name;               \
  else return greatest;
#define TENON_FEATURE(feature, macro) &&TENON_PROCESSOR_HAS(feature)
  TENON_LEVELS(TENON_LEVEL, TENON_FEATURE)
#undef TENON_LEVEL
#undef TENON_FEATURE
  return greatest;
}

/// The levels that this program can run at on this machine, least first; none if the processor does not
/// support its only level.
inline std::span<const LevelInfo> present_levels() {
#if defined(TENON_COMPILED)
  const std::span here = std::span(levels).first(static_cast<std::size_t>(processor_level()) + 1);
#if defined(TENON_ONLY_LEVEL)
  constexpr auto only = static_cast<std::size_t>(Level::TENON_ONLY_LEVEL);
  return only < here.size() ? here.subspan(only, 1) : here.first(0);
#else
  return here;
#endif
#else
  return std::span(levels).subspan(static_cast<std::size_t>(detail::native), 1);
#endif
}

/// "baseline, avx2"
inline std::string names(std::span<const LevelInfo> some) {
  std::string text;
  for (const LevelInfo& l : some) text += str_cat(text.empty() ? "" : ", ", l.name);
  return text;
}

/// The level that TENON_ARCH names, or without it the greatest that is present; nullptr if there is none or
/// it names none of these.
inline const LevelInfo* requested_level() {
  const char* const request = std::getenv("TENON_ARCH");
  const std::span<const LevelInfo> present = present_levels();
  if (!present.empty() && (request == nullptr || *request == '\0')) return &present.back();
  for (const LevelInfo& l : present)
    if (l.name == request) return &l;
  return nullptr;
}

namespace detail {
[[noreturn]] inline void throw_no_level() {
  raise(ErrorCode::not_supported, "kernels",
        "this program was built for a level that this processor does not support; it supports: ",
        names(std::span(levels).first(static_cast<std::size_t>(processor_level()) + 1)));
}
}  // namespace detail

/// Error{invalid_argument} if TENON_ARCH names no level that is present, {not_supported} if none is.
inline void check_request() {
  if (present_levels().empty()) detail::throw_no_level();
  if (requested_level() == nullptr)
    raise(ErrorCode::invalid_argument, "TENON_ARCH", "'", std::getenv("TENON_ARCH"),
          "' is not an available level; available: ", names(present_levels()));
}

#if defined(TENON_COMPILED)
namespace detail {
TENON_PROCESS_WIDE inline constinit thread_local const Level* scoped_level = nullptr;
}

/// The level that a ScopedLevel of this thread states, or nullptr.
inline const Level* scoped_level() { return detail::scoped_level; }

/// Puts a level into force for what this thread calls during the lifetime of this object, without the
/// instructions that only some of the level's processors have. The processor must be able to run it, and what
/// is laid out for it must not be used outside. nullptr: the level that is in force for all threads. Other
/// threads of an executor do not see it.
class ScopedLevel {
 public:
  explicit ScopedLevel(const Level* level) : previous_(detail::scoped_level) { detail::scoped_level = level; }
  ~ScopedLevel() { detail::scoped_level = previous_; }
  ScopedLevel(const ScopedLevel&) = delete;
  ScopedLevel& operator=(const ScopedLevel&) = delete;

 private:
  const Level* previous_;
};
#else
inline constexpr const Level* scoped_level() { return nullptr; }
#endif

/// The level in force: a ScopedLevel's, else the one requested or, because kernels do not throw, the greatest
/// if the request is invalid. The request is read once. Error{not_supported} if none is present.
inline Level level() {
  if (scoped_level() != nullptr) return *scoped_level();
  static const Level chosen = [] {
    if (present_levels().empty()) detail::throw_no_level();
    const LevelInfo* const request = requested_level();
    return (request != nullptr ? request : &present_levels().back())->level;
  }();
  return chosen;
}

/// Calls f(Arch{}) with the tag of the level in force.
template <class F>
decltype(auto) dispatch(F&& f) {
#if defined(TENON_INSTANTIATE)  // in a kernel unit: its level, the only one that its flags can compile
  return f(TENON_INSTANTIATE{});
#elif defined(TENON_COMPILED)
#if defined(TENON_ONLY_LEVEL)
  level();  // checks the processor
  return f(detail::TagOf<Level::TENON_ONLY_LEVEL>::type{});
#else
  switch (level()) {
#define TENON_LEVEL(Tag, name, registers, bytes, features) \
  case Level::name: return f(Tag{});
    TENON_LEVELS(TENON_LEVEL, TENON_NO_FEATURE)
    TENON_LAYOUTS(TENON_LEVEL, TENON_NO_FEATURE)
#undef TENON_LEVEL
  }
  tenon::detail::unreachable();
#endif
#else
  return f(Native{});
#endif
}

}  // namespace tenon::TENON_ABI::simd
