"""Translation units that are written from folder listings, so that a new header needs no edit elsewhere."""

def _include(header):
    """How the sources spell it: "tenon/op/math/add.hpp"."""
    return header.short_path.rpartition("include/")[2]

def _name(header):
    return _include(header)[:-len(".hpp")].replace("/", "_")

def _kernel_units(ctx):
    units = []
    for header in ctx.files.headers:
        unit = ctx.actions.declare_file("%s/%s.cc" % (ctx.label.name, _name(header)))
        ctx.actions.write(unit, "#define TENON_INSTANTIATE tenon::simd::%s\n#include \"%s\"\n" % (
            ctx.attr.tag,
            _include(header),
        ))
        units.append(unit)
    return [DefaultInfo(files = depset(units))]

kernel_units = rule(
    implementation = _kernel_units,
    doc = "For each kernels/**/*_impl.hpp, a unit that instantiates its kernels for the level with that tag.",
    attrs = {
        "headers": attr.label_list(allow_files = True),
        "tag": attr.string(mandatory = True),
    },
)

def _operator_units(ctx):
    # A header's unit follows from its path alone, so that a new operator recompiles one unit and not all.
    headers_of = [[] for _ in range(ctx.attr.count)]
    for header in ctx.files.headers:
        headers_of[hash(_include(header)) % ctx.attr.count].append(header)

    units = []
    for index, headers in enumerate(headers_of):
        if not headers:
            continue
        unit = ctx.actions.declare_file("%s/unit_%d.cc" % (ctx.label.name, index))
        ctx.actions.run_shell(
            command = 'awk -v register="$1" -v unit="$2" -f "$3" "${@:5}" > "$4"',
            arguments = [ctx.attr.register, str(index), ctx.file._script.path, unit.path] +
                        [header.path for header in headers],
            inputs = headers + [ctx.file._script],
            outputs = [unit],
            mnemonic = "OperatorUnit",
        )
        units.append((index, unit))

    every = ctx.actions.declare_file("%s/all.cc" % ctx.label.name)
    ctx.actions.write(every, "\n".join(
        ["#include \"tenon/op/framework/registry.hpp\"", "", "namespace tenon::TENON_ABI {", ""] +
        ["void %s_%d(Registry& registry);" % (ctx.attr.register, index) for index, _ in units] +
        ["", "void %s(Registry& registry) {" % ctx.attr.register] +
        ["  %s_%d(registry);" % (ctx.attr.register, index) for index, _ in units] +
        ["}", "", "}  // namespace tenon::TENON_ABI", ""],
    ))
    return [DefaultInfo(files = depset([every] + [unit for _, unit in units]))]

operator_units = rule(
    implementation = _operator_units,
    doc = """Units that register every operator of the headers, and the function of tenon that calls them all.

    An operator is a struct that opens at the start of a line in one of the headers; see register.awk.""",
    attrs = {
        "count": attr.int(default = 40),
        "headers": attr.label_list(allow_files = True),
        "register": attr.string(default = "register_all"),
        "_script": attr.label(default = "//loader/bazel:register.awk", allow_single_file = True),
    },
)
