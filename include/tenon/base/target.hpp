// The processor family that the compiler generates code for, one of TENON_X86_64, TENON_AARCH64, TENON_WASM
// and, for any other, TENON_GENERIC.
#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#define TENON_X86_64
#elif defined(__aarch64__) || defined(_M_ARM64)
#define TENON_AARCH64
#elif defined(__wasm__)
#define TENON_WASM
#else
#define TENON_GENERIC
#endif
