"""Test programs from folder listings; see //tests."""

load("//loader/bazel:levels.bzl", "LEVELS")

# Limits. A test takes at most a sixth of its limit on a machine half as fast as a core of 2.5 GHz (Cascade
# Lake): "small" (60 s) is for what takes 5 s on such a core, "medium" (300 s) for 25 s, timeout = "long" (900
# s) for 75 s.

def _at_level(name, level, program, built = []):
    native.sh_test(
        name = name + "_" + level,
        size = "medium",
        timeout = "long",  # kernels of every type, form and remainder
        srcs = ["//tests/bazel:levels"],
        args = [level, "$(location %s)" % program],
        data = [program],
        target_compatible_with = LEVELS[level].family + built,
    )

def tenon_tests(folder, deps, copts = [], timeout = "moderate", more_deps = {}):
    """A cc_test for every *_test.cc in `folder`. `more_deps` has dependencies that only some sources need."""
    for source in native.glob([folder + "/*_test.cc"]):
        native.cc_test(
            name = source[:-len(".cc")],
            size = "medium",
            timeout = timeout,
            srcs = [source],
            copts = copts,
            deps = deps + more_deps.get(source, []) + [":support"],
        )

def tenon_joined_tests(folder, deps, copts = [], more_deps = {}, together = 12, alone = [], exclude = []):
    """Programs of up to `together` *_test.cc that lie in the same folder, in or below `folder`.

    Parsing the headers takes most of such a source's time. Each has a program of its own as well, which is
    built when it is named: //tests:op/math/acos_test. Sources `alone` have only that.
    """
    sources_of = {}
    for source in native.glob([folder + "/**/*_test.cc"], exclude = exclude):
        is_alone = source in alone
        if not is_alone:
            sources_of.setdefault(source.rpartition("/")[0], []).append(source)
        native.cc_test(
            name = source[:-len(".cc")],
            size = "medium",
            timeout = "long",
            srcs = [source],
            copts = copts,
            tags = [] if is_alone else ["manual"],
            deps = deps + more_deps.get(source, []) + [":support"],
        )
    for path, sources in sources_of.items():
        for first in range(0, len(sources), together):
            joined = sources[first:first + together]
            name = "%s/tests_%d" % (path, first // together + 1)
            native.genrule(
                name = name + "_unit",
                testonly = True,
                srcs = joined,
                outs = [name + ".cc"],
                cmd = "awk -f $(location //tests/bazel:join.awk) $(SRCS) > $@",
                tools = ["//tests/bazel:join.awk"],
            )
            native.cc_test(
                name = name,
                size = "medium",
                timeout = "long",
                srcs = [name + ".cc"],
                copts = copts,
                deps = deps + [":support"] + {dep: None for source in joined for dep in more_deps.get(source, [])}.keys(),
            )

def tenon_level_run_tests(folder, deps, copts = []):
    """Every *_test.cc in `folder` built once, with kernels of all levels, and run at each level."""
    for source in native.glob([folder + "/*_test.cc"], allow_empty = True):
        name = source[:-len(".cc")]
        native.cc_binary(
            name = name,
            testonly = True,
            srcs = [source],
            copts = copts,
            deps = deps + [":support"],
        )
        for level in LEVELS:
            _at_level(name, level, name, LEVELS[level].built)

def tenon_level_built_tests(folder, deps):
    """Every *_test.cc below `folder` built with each level's flags, as a header-only user does, and run."""
    for source in native.glob([folder + "/**/*_test.cc"], allow_empty = True):
        name = source[:-len(".cc")]
        for level in LEVELS:
            native.cc_binary(
                name = name + "_built_" + level,
                testonly = True,
                srcs = [source],
                copts = LEVELS[level].flags,
                target_compatible_with = LEVELS[level].family,
                deps = deps + [":support"],
            )
            _at_level(name, level, name + "_built_" + level)
