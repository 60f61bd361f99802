"""The instruction-set levels that include/tenon/simd/arch.hpp knows, and libraries built for them."""

load("//loader/bazel:units.bzl", "kernel_units")

# Level, tag, processor family (a config_setting beside this file; None: every one), features added to the row above.
_ROWS = [
    ("baseline", "Baseline", None, []),
    ("avx2", "Avx2", "x86_64", ["avx2", "fma", "f16c"]),
    ("avx512", "Avx512", "x86_64", ["avx512f", "avx512bw", "avx512dq", "avx512vl"]),
]

def _level(index):
    name, tag, family, features = _ROWS[index]
    below = [row for row in _ROWS[:index] if row[2] == family]
    return struct(
        tag = tag,
        features = features,
        copts = ["-m" + feature for row in below + [_ROWS[index]] for feature in row[3]],
        # For target_compatible_with: elsewhere the compiler does not know the flags.
        family = select({
            "//loader/bazel:" + family: [],
            "//conditions:default": ["//loader/bazel:other_family"],
        }) if family else [],
    )

LEVELS = {row[0]: _level(index) for index, row in enumerate(_ROWS)}

def at_levels(items):
    """Of the items by level those of the levels that the processor family aimed at has."""
    found = []
    for name, _, family, _ in _ROWS:
        found = found + (select({
            "//loader/bazel:" + family: [items[name]],
            "//conditions:default": [],
        }) if family else [items[name]])
    return found

def level_library(name, level, headers, deps):
    """The kernels of `headers` (kernels/**/*_impl.hpp) built for one level, and sealed; see seal.sh."""
    level = LEVELS[level]
    kernel_units(
        name = name + "_units",
        headers = headers,
        tag = level.tag,
    )
    native.cc_library(
        name = name + "_open",
        srcs = [name + "_units"],
        copts = level.copts + select({
            "//loader/bazel:optimised": ["-O3"],
            "//conditions:default": [],
        }),
        linkstatic = True,
        local_defines = ["TENON_COMPILED"],
        target_compatible_with = level.family,
        deps = deps,
    )
    native.genrule(
        name = name + "_sealed",
        srcs = [name + "_open"],
        outs = ["lib%s_sealed.a" % name],
        cmd = "$(location //loader/bazel:seal.sh) $< $@ " + level.tag,
        target_compatible_with = level.family,
        tools = ["//loader/bazel:seal.sh"],
    )
    native.cc_library(
        name = name,
        srcs = ["lib%s_sealed.a" % name],
        linkstatic = True,
        target_compatible_with = level.family,
        deps = deps,
    )
