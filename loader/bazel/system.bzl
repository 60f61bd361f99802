"""Repositories made of what the machine has installed, so that nothing is fetched from a network."""

def _system_library(ctx):
    folder, _, name = ctx.attr.header.rpartition("/")
    roots = ["/usr/include", "/usr/local/include"]
    roots += [str(p) for p in ctx.path(roots[0]).readdir() if p.basename.endswith("-linux-gnu")]
    if ctx.attr.override and ctx.os.environ.get(ctx.attr.override):
        roots = [ctx.os.environ[ctx.attr.override]]
    found = [root for root in roots if ctx.path(root + "/" + ctx.attr.header).exists]
    program = ctx.which(ctx.attr.program) if ctx.attr.program else None
    installed = bool(found) and (bool(program) or not ctx.attr.program)
    ctx.file("installed.bzl", "INSTALLED = %s\n" % installed)
    if not installed:
        absent = "%s is not installed; run: apt-get install --no-install-recommends %s" % (ctx.name, ctx.attr.package)
        if not ctx.attr.optional:
            fail(absent)
        ctx.file("BUILD.bazel", """package(default_visibility = ["//visibility:public"])

genrule(
    name = "absent",
    outs = ["absent.h"],
    cmd = "echo '{absent}' >&2; false",
    tags = ["manual"],
)

cc_library(
    name = "{name}",
    hdrs = ["absent.h"],
    tags = ["manual"],
)
""".format(name = ctx.name, absent = absent))
        return

    # A header that lies in no folder of its own is found where the compiler looks anyway.
    top = folder.partition("/")[0]
    if top:
        ctx.symlink(found[0] + "/" + top, "include/" + top)
    includes = [ctx.attr.include] if top else []
    build = """package(default_visibility = ["//visibility:public"])

cc_library(
    name = "{name}",
    hdrs = glob(["include/**"], allow_empty = True),
    includes = {includes},
    linkopts = {linkopts},
)

filegroup(
    name = "headers",
    srcs = glob(["include/**"], allow_empty = True),
)
""".format(name = ctx.name, includes = repr(includes), linkopts = repr(ctx.attr.linkopts))
    if program:
        ctx.symlink(program, ctx.attr.program)
        build += 'exports_files(["%s"])\n' % ctx.attr.program
    ctx.file("BUILD.bazel", build)

system_library = repository_rule(
    implementation = _system_library,
    doc = """An installed C++ library as `@name`: its headers and the flags that link it.

    `include` is the folder that programs' #include starts from, where that is not include/;
    `override` names an environment variable that may point to another include folder,
    `program` a tool which comes with the library and becomes `@name//:program`. Where an
    `optional` library is missing, what depends on it does not build and must be tagged "manual";
    `@name//:installed.bzl` says whether it is there: INSTALLED.""",
    attrs = {
        "header": attr.string(mandatory = True),
        "include": attr.string(default = "include"),
        "linkopts": attr.string_list(),
        "optional": attr.bool(),
        "override": attr.string(),
        "package": attr.string(mandatory = True),
        "program": attr.string(),
    },
    configure = True,
    local = True,
)

def _system_linker(ctx):
    folds = ["-fuse-ld=gold", "-Wl,--icf=safe"] if ctx.which("ld.gold") else []
    ctx.file("BUILD.bazel", """package(default_visibility = ["//visibility:public"])

cc_library(
    name = "{name}",
    linkopts = {folds},
)
""".format(name = ctx.name, folds = repr(folds)))

system_linker = repository_rule(
    implementation = _system_linker,
    doc = """Flags, as a library `@name`, by which equal functions are linked once, where the machine's linker
    can.

    Functions whose addresses are compared stay apart.""",
    configure = True,
    local = True,
)

def system_libraries():
    """All that the tree is made of, for WORKSPACE and MODULE.bazel."""
    system_linker(name = "linker")

    system_library(
        name = "xsimd",
        header = "xsimd/xsimd.hpp",
        override = "TENON_XSIMD",
        package = "libxsimd-dev",
    )

    system_library(
        name = "protobuf",
        header = "google/protobuf/message_lite.h",
        linkopts = ["-lprotobuf-lite"],
        package = "libprotobuf-dev protobuf-compiler",
        program = "protoc",
    )

    # Of the tool, which has all headers in itself.
    system_library(
        name = "zlib",
        header = "zlib.h",
        linkopts = ["-lz"],
        package = "zlib1g-dev",
    )

    # What //loader:text and //loader:image are made of.
    system_library(
        name = "re2",
        header = "re2/re2.h",
        linkopts = ["-lre2"],
        package = "libre2-dev",
    )

    system_library(
        name = "jpeg",
        header = "jpeglib.h",
        linkopts = ["-ljpeg"],
        package = "libjpeg-dev",
    )

    system_library(
        name = "png",
        header = "png.h",
        linkopts = ["-lpng"],
        package = "libpng-dev",
    )

    system_library(
        name = "tiff",
        header = "tiffio.h",
        linkopts = ["-ltiff"],
        package = "libtiff-dev",
    )

    system_library(
        name = "webp",
        header = "webp/decode.h",
        linkopts = [
            "-lwebpdemux",
            "-lwebp",
        ],
        package = "libwebp-dev",
    )

    # For tests, which write animations.
    system_library(
        name = "webpmux",
        header = "webp/mux.h",
        linkopts = [
            "-lwebpmux",
            "-lwebp",
        ],
        package = "libwebp-dev",
    )

    system_library(
        name = "openjpeg",
        header = "openjpeg-2.5/openjpeg.h",
        include = "include/openjpeg-2.5",
        linkopts = ["-lopenjp2"],
        package = "libopenjp2-7-dev",
    )

    # Of //loader:mpi alone.
    system_library(
        name = "mpi",
        header = "mpi/mpi.h",
        include = "include/mpi",
        linkopts = ["-lmpi"],
        optional = True,
        package = "libopenmpi-dev openmpi-bin",
    )

    system_library(
        name = "doctest",
        header = "doctest/doctest.h",
        package = "doctest-dev",
    )

    # ONNX's own messages, for a test that links them together with Tenon's.
    system_library(
        name = "onnx",
        header = "onnx/onnx_pb.h",
        linkopts = [
            "-lonnx_proto",
            "-lprotobuf",
        ],
        package = "libonnx-dev",
    )

    system_library(
        name = "benchmark",
        header = "benchmark/benchmark.h",
        linkopts = ["-lbenchmark"],
        package = "libbenchmark-dev",
    )

def _stand_in(ctx):
    for path, text in ctx.attr.files.items():
        ctx.file(path, text)

_stand_in_repository = repository_rule(
    implementation = _stand_in,
    attrs = {"files": attr.string_dict()},
)

def _rules(names):
    return "\n".join(["%s = native.%s" % (name, name) for name in names]) + "\n"

def bazel_stand_ins():
    """What Bazel's own build files load, in terms of its native rules."""
    _stand_in_repository(
        name = "rules_cc",
        files = {
            "BUILD.bazel": "",
            "cc/BUILD.bazel": "",
            "cc/defs.bzl": _rules([
                "cc_binary",
                "cc_import",
                "cc_library",
                "cc_test",
                "cc_toolchain",
                "cc_toolchain_suite",
            ]),
        },
    )
    _stand_in_repository(
        name = "rules_java",
        files = {
            "BUILD.bazel": "",
            "java/BUILD.bazel": "",
            "java/defs.bzl": _rules([
                "java_binary",
                "java_import",
                "java_library",
                "java_runtime",
                "java_test",
                "java_toolchain",
            ]),
        },
    )
    _stand_in_repository(
        name = "remote_coverage_tools",
        files = {
            "BUILD.bazel": """package(default_visibility = ["//visibility:public"])

filegroup(name = "coverage_report_generator")

filegroup(name = "lcov_merger")
""",
        },
    )
