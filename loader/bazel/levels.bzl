"""The instruction-set levels that include/tenon/simd/arch.hpp knows, and libraries built for them."""

load("//loader/bazel:units.bzl", "kernel_units")

_avx2 = ["-mavx2", "-mfma", "-mf16c"]

LEVELS = {
    "baseline": struct(tag = "Baseline", copts = []),
    "avx2": struct(tag = "Avx2", copts = _avx2),
    "avx512": struct(
        tag = "Avx512",
        copts = _avx2 + ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
    ),
}

def level_library(name, level, headers, deps):
    """The kernels of `headers` (kernels/*_impl.hpp) built for one level, and sealed; see seal.sh."""
    kernel_units(
        name = name + "_units",
        headers = headers,
        tag = LEVELS[level].tag,
    )
    native.cc_library(
        name = name + "_open",
        srcs = [name + "_units"],
        copts = LEVELS[level].copts + select({
            "//loader/bazel:optimised": ["-O3"],
            "//conditions:default": [],
        }),
        linkstatic = True,
        local_defines = ["TENON_COMPILED"],
        deps = deps,
    )
    native.genrule(
        name = name + "_sealed",
        srcs = [name + "_open"],
        outs = ["lib%s_sealed.a" % name],
        cmd = "$(location //loader/bazel:seal.sh) $< $@ " + LEVELS[level].tag,
        tools = ["//loader/bazel:seal.sh"],
    )
    native.cc_library(
        name = name,
        srcs = ["lib%s_sealed.a" % name],
        linkstatic = True,
        deps = deps,
    )

def at_levels(prefix):
    """The targets named prefix + level, of the levels that the processor family aimed at has."""
    return select({
        "//loader/bazel:x86_64": [prefix + level for level in LEVELS],
        "//conditions:default": [prefix + "baseline"],
    })
