// TENON_ABI: the inline namespace of everything that the headers define. Its name states the version, whether
// there are exceptions, whether kernels are compiled in the headers or in the library, and in the former case
// the instructions that the compiler may use. Functions of units that disagree are different functions, so
// the linker never substitutes one unit's code for another's; units that disagree and exchange Tenon's types
// do not link, and the undefined symbol tells why.
#pragma once

#include "tenon/base/target.hpp"

#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0

#define TENON_ABI_PASTE(a, b, c, d, e, f, g, h, i, j, k) a##b##c##d##e##f##g##h##i##j##k
#define TENON_ABI_JOIN(...) TENON_ABI_PASTE(__VA_ARGS__)
#define TENON_ABI_NAMED(suffix) \
  TENON_ABI_JOIN(v, TENON_VERSION_MAJOR, _, TENON_VERSION_MINOR, TENON_ABI_ERRORS, suffix, , , , , )

// Whether an error is thrown; without exceptions it ends the program.
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define TENON_HAS_EXCEPTIONS
#define TENON_ABI_ERRORS
#else
#define TENON_ABI_ERRORS _without_exceptions
#endif

#ifdef TENON_COMPILED

// The name states no instructions: callers, operators and the kernels of every level link together. Where the
// kernels of one level alone are built, it states that level, because other units would call others.
#ifdef TENON_ONLY_LEVEL
#define TENON_ABI_NAME TENON_ABI_JOIN(TENON_ABI_NAMED(_compiled_), TENON_ONLY_LEVEL, , , , , , , , , )
#else
#define TENON_ABI_NAME TENON_ABI_NAMED(_compiled)
#endif

#else

// The suffix where the compiler defines the macro as 1, else nothing: TENON_ABI_ and a 1 make a token with a
// comma, which moves the suffix to the second place.
#define TENON_ABI_1 ~,
#define TENON_ABI_SECOND(first, second, ...) second
#define TENON_ABI_CHOOSE(...) TENON_ABI_SECOND(__VA_ARGS__)
#define TENON_ABI_GLUE(macro, suffix) TENON_ABI_CHOOSE(TENON_ABI_##macro suffix, , )
#define TENON_ABI_FLAG(macro, suffix) TENON_ABI_GLUE(macro, suffix)

#if defined(TENON_X86_64)

// Groups of features without any enabled flag are skipped, because every use of the namespace's name expands
// them.
#if defined(__AVX__)
#define TENON_ABI_SSE TENON_ABI_NAMED(_headers_x86_avx)
#elif defined(__SSE3__)
#define TENON_ABI_SSE                                                                     \
  TENON_ABI_JOIN(TENON_ABI_NAMED(_headers_x86), TENON_ABI_FLAG(__SSE3__, _sse3),          \
                 TENON_ABI_FLAG(__SSSE3__, _ssse3), TENON_ABI_FLAG(__SSE4_1__, _sse41),   \
                 TENON_ABI_FLAG(__SSE4_2__, _sse42), TENON_ABI_FLAG(__POPCNT__, _popcnt), \
                 TENON_ABI_FLAG(__SSE4A__, _sse4a), , , , )
#else
#define TENON_ABI_SSE TENON_ABI_NAMED(_headers_x86)
#endif

// A microarchitecture level of the x86-64 psABI stands for all its features, which would make long names.
#if defined(__AVX512F__) && defined(__AVX512CD__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__) && defined(__BMI__) && defined(__BMI2__) && defined(__F16C__) &&             \
    defined(__FMA__) && defined(__LZCNT__) && defined(__MOVBE__)
#define TENON_ABI_LEVEL TENON_ABI_NAMED(_headers_x86v4)
#elif defined(__AVX2__) && defined(__BMI__) && defined(__BMI2__) && defined(__F16C__) && defined(__FMA__) && \
    defined(__LZCNT__) && defined(__MOVBE__) && !defined(__AVX512F__)
#define TENON_ABI_LEVEL TENON_ABI_NAMED(_headers_x86v3)
#elif defined(__AVX__)
#define TENON_ABI_AVX                                                                             \
  TENON_ABI_JOIN(TENON_ABI_SSE, TENON_ABI_FLAG(__AVX2__, _avx2), TENON_ABI_FLAG(__F16C__, _f16c), \
                 TENON_ABI_FLAG(__FMA__, _fma), TENON_ABI_FLAG(__BMI__, _bmi),                    \
                 TENON_ABI_FLAG(__BMI2__, _bmi2), TENON_ABI_FLAG(__LZCNT__, _lzcnt),              \
                 TENON_ABI_FLAG(__MOVBE__, _movbe), , , )
#define TENON_ABI_LEVEL                                                                                   \
  TENON_ABI_JOIN(TENON_ABI_AVX, TENON_ABI_FLAG(__AVX512F__, _avx512f), TENON_ABI_FLAG(__AVX512CD__, _cd), \
                 TENON_ABI_FLAG(__AVX512BW__, _bw), TENON_ABI_FLAG(__AVX512DQ__, _dq),                    \
                 TENON_ABI_FLAG(__AVX512VL__, _vl), , , , , )
#else
#define TENON_ABI_LEVEL TENON_ABI_SSE
#endif

#if defined(__AVX__)
#define TENON_ABI_MORE                                                                                   \
  TENON_ABI_JOIN(TENON_ABI_LEVEL, TENON_ABI_FLAG(__AVX512VNNI__, _vnni),                                 \
                 TENON_ABI_FLAG(__AVX512VBMI__, _vbmi), TENON_ABI_FLAG(__AVX512VBMI2__, _vbmi2),         \
                 TENON_ABI_FLAG(__AVX512IFMA__, _ifma), TENON_ABI_FLAG(__AVX512BITALG__, _bitalg),       \
                 TENON_ABI_FLAG(__AVX512VPOPCNTDQ__, _vpopcntdq), TENON_ABI_FLAG(__AVX512BF16__, _bf16), \
                 TENON_ABI_FLAG(__AVX512FP16__, _fp16), TENON_ABI_FLAG(__AVXVNNI__, _avxvnni),           \
                 TENON_ABI_FLAG(__GFNI__, _gfni))
#define TENON_ABI_NAME                                                                                    \
  TENON_ABI_JOIN(TENON_ABI_MORE, TENON_ABI_FLAG(__AMX_TILE__, _amx), TENON_ABI_FLAG(__AMX_INT8__, _int8), \
                 TENON_ABI_FLAG(__AMX_BF16__, _bf16), TENON_ABI_FLAG(__SSE4A__, _sse4a),                  \
                 TENON_ABI_FLAG(__XOP__, _xop), TENON_ABI_FLAG(__FMA4__, _fma4),                          \
                 TENON_ABI_FLAG(__TBM__, _tbm), TENON_ABI_FLAG(__AVX10_1__, _avx10), , )
#else
#define TENON_ABI_NAME TENON_ABI_LEVEL
#endif

#elif defined(TENON_AARCH64)

#define TENON_ABI_NAME                                                                                      \
  TENON_ABI_JOIN(TENON_ABI_NAMED(_headers_arm64), TENON_ABI_FLAG(__ARM_FEATURE_DOTPROD, _dotprod),          \
                 TENON_ABI_FLAG(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC, _fp16),                               \
                 TENON_ABI_FLAG(__ARM_FEATURE_BF16, _bf16),                                                 \
                 TENON_ABI_FLAG(__ARM_FEATURE_MATMUL_INT8, _i8mm), TENON_ABI_FLAG(__ARM_FEATURE_SVE, _sve), \
                 TENON_ABI_FLAG(__ARM_FEATURE_SVE2, _sve2), , , , )

#else
#define TENON_ABI_NAME                                                                    \
  TENON_ABI_JOIN(TENON_ABI_NAMED(_headers), TENON_ABI_FLAG(__SSE2__, _sse2),              \
                 TENON_ABI_FLAG(__AVX2__, _avx2), TENON_ABI_FLAG(__FMA__, _fma),          \
                 TENON_ABI_FLAG(__AVX512F__, _avx512), TENON_ABI_FLAG(__ARM_NEON, _neon), \
                 TENON_ABI_FLAG(__wasm_simd128__, _simd128),                              \
                 TENON_ABI_FLAG(__wasm_relaxed_simd__, _relaxed), TENON_ABI_FLAG(__VSX__, _vsx), , )
#endif

#endif

#define TENON_ABI inline TENON_ABI_NAME

// The tag also puts the name into the symbols of a program's functions and variables whose types are Tenon's:
// without it, a function's symbol only states the types of its parameters.
namespace tenon {
inline namespace [[gnu::abi_tag]] TENON_ABI_NAME {}
}  // namespace tenon

// For entities of which a process has only one: visible across libraries whose other symbols are hidden
// (-fvisibility=hidden).
#define TENON_PROCESS_WIDE [[gnu::visibility("default")]]
