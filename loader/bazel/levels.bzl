"""The instruction-set levels that include/tenon/simd/arch.hpp knows, and libraries built for them."""

load("//loader/bazel:units.bzl", "kernel_units")

# Level, tag, processor family (a config_setting beside this file; None: every one), features added to the row above.
_ROWS = [
    ("baseline", "Baseline", None, []),
    ("avx2", "Avx2", "x86_64", ["avx2", "fma", "f16c"]),
    ("avx512", "Avx512", "x86_64", ["avx512f", "avx512bw", "avx512dq", "avx512vl"]),
]

def _built(name):
    return select(dict({
        "//loader/bazel:only_" + row[0]: ["//loader/bazel:left_out"]
        for row in _ROWS
        if row[0] != name
    }, **{"//conditions:default": []}))

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
        # The same for what runs the kernels of the level.
        built = _built(name),
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

# //loader:level, by which a build has the kernels of one level alone: a third of the time, for one kind of processor.
def _level_setting(ctx):
    values = ["all"] + [row[0] for row in _ROWS]
    if ctx.build_setting_value not in values:
        fail("%s is none of: %s" % (ctx.label, ", ".join(values)))
    return []

level_setting = rule(
    implementation = _level_setting,
    build_setting = config.string(flag = True),
)

def _only(items, otherwise):
    """The item of the level that is built alone, else `otherwise`."""
    return select(dict(
        {"//loader/bazel:only_" + level: item for level, item in items.items()},
        **{"//conditions:default": otherwise}
    ))

def built_levels(items):
    """Of the items by level those of the levels that the build has: what at_levels gives, or the only one."""
    found = []
    for name, _, family, _ in _ROWS:
        alone = {
            "//loader/bazel:only_" + row[0]: [items[name]] if row[0] == name else []
            for row in _ROWS
        }
        every = {
            "//loader/bazel:" + family: [items[name]],
            "//conditions:default": [],
        } if family else {"//conditions:default": [items[name]]}
        found = found + select(dict(alone, **every))
    return found

def only_level(items):
    """The items where the build is of one level alone."""
    return _only({row[0]: items for row in _ROWS}, [])

def only_level_settings():
    """config_settings only_LEVEL. Other processor families have no level to leave out."""
    for row in _ROWS:
        native.config_setting(
            name = "only_" + row[0],
            flag_values = {"//loader:level": row[0]},
            values = {"cpu": "k8"},
        )

def absent_levels(name, deps):
    """Stubs for the kernels of the levels that a build of one level leaves out; see absent.sh and absent.cc."""
    built = _only({row[0]: [] for row in _ROWS}, ["//loader/bazel:other_family"])
    native.genrule(
        name = name + "_stubs",
        srcs = _only({row[0]: ["kernels_%s_sealed" % row[0]] for row in _ROWS}, []),
        outs = [name + ".s"],
        cmd = _only({
            row[0]: "$(location //loader/bazel:absent.sh) $(SRCS) %s > $@" % " ".join(
                [row[1]] + [other[1] for other in _ROWS if other != row],
            )
            for row in _ROWS
        }, "false"),
        target_compatible_with = built,
        tools = ["//loader/bazel:absent.sh"],
    )
    native.cc_library(
        name = name,
        srcs = [
            name + ".s",
            "//loader/bazel:absent.cc",
        ],
        linkstatic = True,
        local_defines = ["TENON_COMPILED"] + _only({row[0]: ["TENON_ONLY_LEVEL=" + row[0]] for row in _ROWS}, []),
        target_compatible_with = built,
        deps = deps,
    )

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
