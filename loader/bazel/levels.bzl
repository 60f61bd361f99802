"""The instruction-set levels that include/tenon/simd/arch.hpp knows, and the flags that make each."""

_avx2 = ["-mavx2", "-mfma", "-mf16c"]

LEVELS = {
    "baseline": struct(tag = "tenon::simd::Baseline", copts = [], x86_only = False),
    "avx2": struct(tag = "tenon::simd::Avx2", copts = _avx2, x86_only = True),
    "avx512": struct(
        tag = "tenon::simd::Avx512",
        copts = _avx2 + ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
        x86_only = True,
    ),
}

def level_targets(targets):
    """`targets` maps a level to labels; yields the labels of the levels that the target processor family has."""
    everywhere = [label for level in LEVELS if not LEVELS[level].x86_only for label in targets[level]]
    return select({
        "//loader/bazel:x86_64": [label for level in LEVELS for label in targets[level]],
        "//conditions:default": everywhere,
    })
