"""The instruction-set levels that include/tenon/simd/arch.hpp knows, and the flags that make each."""

_avx2 = ["-mavx2", "-mfma", "-mf16c"]

LEVELS = {
    "baseline": struct(tag = "tenon::simd::Baseline", copts = []),
    "avx2": struct(tag = "tenon::simd::Avx2", copts = _avx2),
    "avx512": struct(
        tag = "tenon::simd::Avx512",
        copts = _avx2 + ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
    ),
}

def at_levels(prefix):
    """The targets named prefix + level, of the levels that the processor family aimed at has."""
    return select({
        "//loader/bazel:x86_64": [prefix + level for level in LEVELS],
        "//conditions:default": [prefix + "baseline"],
    })
