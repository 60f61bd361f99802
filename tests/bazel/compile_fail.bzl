"""Tests that a program does not compile, and that the compiler's message can be read."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _compile_fail_test(ctx):
    toolchain = find_cpp_toolchain(ctx)
    source = ctx.file.src
    headers = []
    flags = ["-std=c++20", "-Wall", "-Wextra"]
    for dep in ctx.attr.deps:
        context = dep[CcInfo].compilation_context
        headers.append(context.headers)
        flags += ["-D" + define for define in context.defines.to_list()]
        flags += ["-I" + folder for folder in context.includes.to_list()]
        flags += ["-isystem" + folder for folder in context.system_includes.to_list()]

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
        arguments = [source.path, outcome.path, toolchain.compiler_executable] + flags,
        inputs = depset([source], transitive = headers + [toolchain.all_files]),
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
    doc = """Passes when `src` does not compile and each of its `// expect: TEXT` comments stands in an error's line.""",
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "src": attr.label(allow_single_file = [".cc"], mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    test = True,
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
