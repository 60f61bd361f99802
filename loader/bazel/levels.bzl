"""Libraries built for the instruction-set levels of level_rows.bzl."""

load("//loader/bazel:level_rows.bzl", "LAYOUT_ROWS", "LEVEL_ROWS")
load("//loader/bazel:units.bzl", "kernel_units")

def _row(line):
    words = [word for word in line.split(" ") if word]
    return struct(
        name = words[0],
        tag = words[1],
        family = words[2] if words[2] != "any" else None,
        flags = words[3:],
    )

# The processor families that have several levels, and Bazel's names for their processors.
FAMILIES = {
    "aarch64": "aarch64",
    "x86_64": "k8",
}

_ROWS = [_row(line) for line in LEVEL_ROWS.split("\n") if line]

_LAYOUT_ROWS = [_row(line) for line in LAYOUT_ROWS.split("\n") if line]

def _of_family(family, items, otherwise = []):
    """The items where the processor family is aimed at, or everywhere if there is none."""
    return select({
        "//loader/bazel:" + family: items,
        "//conditions:default": otherwise,
    }) if family else items

# For each family and each level that it has: the config_setting of a build of that level alone.
_ONLY = [
    struct(row = row, cpu = cpu, name = "only_%s_%s" % (row.name, family))
    for row in _ROWS
    for family, cpu in FAMILIES.items()
    if row.family in [None, family]
]

def _where_only(row, items, otherwise):
    """For select: the items where the row's level is the only one, others where another is."""
    return {
        "//loader/bazel:" + only.name: items if only.row == row else otherwise
        for only in _ONLY
    }

def _level(row):
    return struct(
        tag = row.tag,
        flags = row.flags,
        # For target_compatible_with: elsewhere the compiler does not know the flags.
        family = _of_family(row.family, [], ["//loader/bazel:other_family"]),
        # The same for what runs the kernels of the level.
        built = select(dict(
            _where_only(row, [], ["//loader/bazel:left_out"]),
            **{"//conditions:default": []}
        )),
    )

LEVELS = {row.name: _level(row) for row in _ROWS}

LAYOUTS = {row.name: _level(row) for row in _LAYOUT_ROWS}

def at_levels(items):
    """The items, given by level, whose levels the target's processor family has."""
    found = []
    for row in _ROWS:
        found = found + _of_family(row.family, [items[row.name]])
    return found

def at_layouts(items):
    """The same for layouts."""
    found = []
    for row in _LAYOUT_ROWS:
        found = found + _of_family(row.family, [items[row.name]])
    return found

# //loader:level, by which a build has the kernels of one level alone: a third of the time, for one kind of
# processor.
def _level_setting(ctx):
    values = ["all"] + LEVELS.keys()
    if ctx.build_setting_value not in values:
        fail("%s is none of: %s" % (ctx.label, ", ".join(values)))
    return []

level_setting = rule(
    implementation = _level_setting,
    build_setting = config.string(flag = True),
)

def only_level_settings():
    """The config_settings of _ONLY. Other processor families have no level to leave out."""
    for only in _ONLY:
        native.config_setting(
            name = only.name,
            flag_values = {"//loader:level": only.row.name},
            values = {"cpu": only.cpu},
        )

def built_levels(items):
    """The items, given by level, whose levels the build has: at_levels, or the only level's."""
    found = []
    for row in _ROWS:
        alone = _where_only(row, [items[row.name]], [])
        every = {
            "//loader/bazel:" + row.family: [items[row.name]],
            "//conditions:default": [],
        } if row.family else {"//conditions:default": [items[row.name]]}
        found = found + select(dict(alone, **every))
    return found

def built_layouts(items):
    """The same for layouts, which a build of one level leaves out."""
    found = []
    for row in _LAYOUT_ROWS:
        found = found + select(dict(_where_only(row, [], []), **{
            "//loader/bazel:" + row.family: [items[row.name]],
            "//conditions:default": [],
        }))
    return found

# What every unit that calls kernels is compiled with.
KERNEL_DEFINES = ["TENON_COMPILED"] + select(dict({
    "//loader/bazel:" + only.name: ["TENON_ONLY_LEVEL=" + only.row.name]
    for only in _ONLY
}, **{"//conditions:default": []}))

def level_library(name, level, headers, deps):
    """The kernels of `headers` (kernels/**/*_impl.hpp) built for one level or layout, and sealed; see seal.sh."""
    level = LEVELS[level] if level in LEVELS else LAYOUTS[level]
    kernel_units(
        name = name + "_units",
        headers = headers,
        tag = level.tag,
    )
    native.cc_library(
        name = name + "_open",
        srcs = [name + "_units"],
        # A layout's flags have the last word.
        copts = select({
            "//loader/bazel:optimised": ["-O3"],
            "//conditions:default": [],
        }) + level.flags,
        linkstatic = True,
        local_defines = KERNEL_DEFINES,
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
