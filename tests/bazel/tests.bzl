"""One small test program per *_test.cc; see //tests."""

load("//loader/bazel:levels.bzl", "LEVELS")

def _at_level(name, level, program):
    native.sh_test(
        name = name + "_" + level,
        size = "small",
        srcs = ["//tests/bazel:levels"],
        args = [level, "$(location %s)" % program],
        data = [program],
        target_compatible_with = LEVELS[level].family,
    )

def tenon_tests(folder, deps, copts = [], size = "small", more_deps = {}):
    """A cc_test for every *_test.cc below `folder`. `more_deps` has those that only some sources need."""
    for source in native.glob([folder + "/**/*_test.cc"], allow_empty = True):
        native.cc_test(
            name = source[:-len(".cc")],
            size = size,
            srcs = [source],
            copts = copts,
            deps = deps + more_deps.get(source, []) + [":support"],
        )

def tenon_level_run_tests(folder, deps, copts = []):
    """Every *_test.cc below `folder` built once, against kernels that choose their level at run time, and run at each."""
    for source in native.glob([folder + "/**/*_test.cc"], allow_empty = True):
        name = source[:-len(".cc")]
        native.cc_binary(
            name = name,
            testonly = True,
            srcs = [source],
            copts = copts,
            deps = deps + [":support"],
        )
        for level in LEVELS:
            _at_level(name, level, name)

def tenon_level_built_tests(folder, deps):
    """Every *_test.cc below `folder` built with the flags of each level, as a header-only user does, and run."""
    for source in native.glob([folder + "/**/*_test.cc"], allow_empty = True):
        name = source[:-len(".cc")]
        for level in LEVELS:
            native.cc_binary(
                name = name + "_built_" + level,
                testonly = True,
                srcs = [source],
                copts = LEVELS[level].copts,
                target_compatible_with = LEVELS[level].family,
                deps = deps + [":support"],
            )
            _at_level(name, level, name + "_built_" + level)
