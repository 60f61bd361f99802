"""Packs of operators; see include/tenon/op/README.md."""

load("//loader/bazel:units.bzl", "operator_units", operator_umbrella = "umbrella")

def operator_pack(name, domain, include = "include", most_bytes = None, deps = [], **kwargs):
    """The operators of a domain, whose headers are INCLUDE/tenon/op/DOMAIN/*.hpp.

    NAME            the headers, with tenon/op/DOMAIN.hpp, which includes them all
    NAME_operators  the same compiled, with tenon::register_NAME, which adds them to a Registry
    NAME_headers    their texts, for a tool that writes headers: tenon::tool::NAME_headers()

    Args:
      name: a C++ identifier.
      domain: as models import it, with a dot in it.
      include: the folder that #include starts from.
      most_bytes: fails the test NAME_size_test when the compiled operators are larger.
      deps: libraries that the headers include, other than Tenon.
      **kwargs: visibility, testonly.
    """
    headers = native.glob(["%s/tenon/op/%s/*.hpp" % (include, domain)], allow_empty = False)
    register = "register_" + name
    umbrella = "%s/tenon/op/%s.hpp" % (include, domain)
    operator_umbrella(
        name = name + "_umbrella",
        out = umbrella,
        domain = domain,
        headers = headers,
        register = register,
        **kwargs
    )
    native.cc_library(
        name = name,
        hdrs = headers + [umbrella],
        strip_include_prefix = include,
        deps = ["//:tenon"] + deps,
        **kwargs
    )
    operator_units(
        name = name + "_units",
        headers = headers,
        register = register,
        units = 8,
        **kwargs
    )
    native.cc_library(
        name = name + "_operators",
        srcs = [name + "_units"],
        local_defines = ["TENON_COMPILED_SESSION"],  # ONNX's operators are compiled
        deps = [
            name,
            "//loader:operators",
        ],
        **kwargs
    )
    native.genrule(
        name = name + "_headers_cc",
        srcs = headers,
        outs = [name + "_headers.cc"],
        cmd = "$(location //loader/bazel:embed) -o $@ --as %s_headers $(SRCS)" % name,
        tools = ["//loader/bazel:embed"],
        **kwargs
    )
    native.cc_library(
        name = name + "_headers",
        srcs = [name + "_headers.cc"],
        deps = ["//loader:embedded_headers"],
        **kwargs
    )
    if most_bytes != None:
        native.genrule(
            name = name + "_size",
            srcs = [name + "_operators"],
            outs = [name + "_size.txt"],
            cmd = "size -t $(SRCS) > $@",
            **kwargs
        )
        native.sh_test(
            name = name + "_size_test",
            size = "small",
            srcs = ["//loader/bazel:size_test.sh"],
            args = [str(most_bytes), "$(location %s_size.txt)" % name],
            data = [name + "_size.txt"],
            # Sanitizers, debuggers and clang's code have sizes of their own.
            target_compatible_with = select({
                "//loader/bazel:optimised_by_clang": ["//loader/bazel:other_family"],
                "//loader/bazel:optimised": [],
                "//conditions:default": ["//loader/bazel:other_family"],
            }),
        )
