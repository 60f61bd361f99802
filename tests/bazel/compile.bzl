"""Checks of what compiles and what does not, which need no program."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _compiler(ctx):
    """The compiler with its arguments, and the files that it reads, including headers of ctx.attr.deps."""
    toolchain = find_cpp_toolchain(ctx)
    files = [toolchain.all_files]
    command = [toolchain.compiler_executable, "-std=c++20", "-Wall", "-Wextra"]
    command += ["--param=ggc-min-heapsize=1048576", "-Wno-unused-command-line-argument"]  # as .bazelrc has them
    for dep in ctx.attr.deps:
        context = dep[CcInfo].compilation_context
        files.append(context.headers)
        command += ["-D" + define for define in context.defines.to_list()]
        command += ["-I" + folder for folder in context.includes.to_list()]
        command += ["-isystem" + folder for folder in context.system_includes.to_list()]
    return command, depset(transitive = files)

_COMPILER = {
    "deps": attr.label_list(providers = [CcInfo]),
    "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
}

def _compile_fail_test(ctx):
    command, files = _compiler(ctx)
    source = ctx.file.src

    # Compiled while building, where the headers are; the test itself only tells the outcome.
    outcome = ctx.actions.declare_file(ctx.label.name + ".outcome")
    ctx.actions.run_shell(
        command = """
source=$1 outcome=$2; shift 2
if "$@" -x c++ -fsyntax-only "$source" 2> "$outcome.txt"; then
  echo "FAILED: it compiles" > "$outcome"
elif ! grep -q '^// expect: ' "$source"; then
  echo "FAILED: no '// expect: ...' comment says which message is due" > "$outcome"
else
  sed -n 's#^// expect: ##p' "$source" | while IFS= read -r expected; do
    grep -F -- "$expected" "$outcome.txt" | grep -q 'error: ' || echo "FAILED: no error says: $expected"
  done > "$outcome"
  if [ -s "$outcome" ]; then cat "$outcome.txt" >> "$outcome"; fi
fi
rm -f "$outcome.txt"
""",
        arguments = [source.path, outcome.path] + command,
        inputs = depset([source], transitive = [files]),
        outputs = [outcome],
        mnemonic = "CompileFail",
        progress_message = "Expecting %s not to compile" % source.short_path,
    )

    program = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        program,
        "#!/bin/sh\ncat %s\n! grep -q . %s\n" % (outcome.short_path, outcome.short_path),
        is_executable = True,
    )
    return [DefaultInfo(executable = program, runfiles = ctx.runfiles([outcome]))]

compile_fail_test = rule(
    implementation = _compile_fail_test,
    doc = """Passes if `src` does not compile and each TEXT of its `// expect: TEXT` is in an error.""",
    attrs = dict(_COMPILER, src = attr.label(allow_single_file = [".cc"], mandatory = True)),
    test = True,
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

_GROUP = """
units=$1 common=$2; shift 2
wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
while [ "$1" != -- ]; do echo "$1"; shift; done > "$wanted"
shift
awk -f "$1" "common=$common" "wanted=$wanted" "$wanted" "${@:2}" > "$units"
"""

# Every `of`th of the units.
_ALONE = """
stamp=$1 units=$2 common=$3 of=$4 part=$5; shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/common.hpp"
if [ -n "$common" ]; then
  echo '#include "'$common'"' > "$work/common.hpp"
  "$@" -x c++-header "$work/common.hpp" -o "$work/common.hpp.gch" || exit 1
fi
awk -v "of=$of" -v "part=$part" 'NR % of == part' "$units" > "$work/units"
while read -r -a headers; do
  printf '#include "%s"\\n' "${headers[@]}" > "$work/alone.cc"
  "$@" -fsyntax-only -Werror -include "$work/common.hpp" "$work/alone.cc" || exit 1
done < "$work/units"
touch "$stamp"
"""

def _self_contained(ctx):
    command, files = _compiler(ctx)
    names = [header.short_path.rpartition("include/")[2] for header in ctx.files.headers]
    wanted = [
        name
        for name in names
        if any([name.startswith("tenon/" + place) for place in ctx.attr.places]) and
           name not in ["tenon/" + header for header in ctx.attr.without]
    ]
    units = ctx.actions.declare_file(ctx.label.name + "/units")
    ctx.actions.run_shell(
        command = _GROUP,
        arguments = [units.path, ctx.attr.common] + wanted +
                    ["--", ctx.file._alone.path] + [header.path for header in ctx.files.headers],
        inputs = ctx.files.headers + [ctx.file._alone],
        outputs = [units],
        mnemonic = "SelfContainedUnits",
    )
    stamps = []
    parts = (len(wanted) + 95) // 96
    for part in range(parts):
        stamp = ctx.actions.declare_file("%s/%d" % (ctx.label.name, part))
        ctx.actions.run_shell(
            command = _ALONE,
            arguments = [stamp.path, units.path, ctx.attr.common, str(parts), str(part)] + command +
                        ["-D" + define for define in ctx.attr.defines],
            inputs = depset(ctx.files.headers + [units], transitive = [files]),
            outputs = [stamp],
            mnemonic = "SelfContained",
            progress_message = "Including headers alone, %s, part %d of %d" % (ctx.label.name, part + 1, parts),
        )
        stamps.append(stamp)
    return [DefaultInfo(files = depset(stamps))]

self_contained = rule(
    implementation = _self_contained,
    doc = "Builds where each header whose path in include/tenon begins like one of `places` compiles alone.",
    attrs = dict(
        _COMPILER,
        _alone = attr.label(allow_single_file = True, default = "//tests/bazel:alone.awk"),
        common = attr.string(doc = "A header that all of them include: it is parsed once for many of them."),
        defines = attr.string_list(),
        headers = attr.label_list(allow_files = True),
        places = attr.string_list(mandatory = True),
        without = attr.string_list(doc = "Headers of these places that include what `deps` lack."),
    ),
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
