"""Translation units and headers that are written from folder listings, so that a new header needs no edit
elsewhere.

Their texts are loader/units/*.in. loader/cmake/units.cmake fills in the same.
"""

def _include(header):
    """How the sources spell it: "tenon/op/math/add.hpp"."""
    return header.short_path.rpartition("include/")[2]

def _includes(headers):
    return "\n".join(["#include \"%s\"" % _include(header) for header in headers])

def _sorted(headers):
    return sorted(headers, key = _include)

def _expand(ctx, name, output, **values):
    ctx.actions.expand_template(
        template = [file for file in ctx.files._templates if file.basename == name][0],
        output = output,
        substitutions = {"@%s@" % key: value for key, value in values.items()},
    )
    return output

_TEMPLATES = {"_templates": attr.label(allow_files = True, default = "//loader:unit_templates")}

def _kernel_units(ctx):
    return [DefaultInfo(files = depset([
        _expand(
            ctx,
            "kernels.cc.in",
            ctx.actions.declare_file("%s/%s.cc" % (
                ctx.label.name,
                _include(header)[:-len(".hpp")].replace("/", "_"),
            )),
            TAG = ctx.attr.tag,
            HEADER = _include(header),
        )
        for header in ctx.files.headers
    ]))]

kernel_units = rule(
    implementation = _kernel_units,
    doc = "For each kernels/**/*_impl.hpp, a unit that instantiates its kernels for the level with that tag.",
    attrs = dict(
        _TEMPLATES,
        headers = attr.label_list(allow_files = True),
        tag = attr.string(mandatory = True),
    ),
)

def _unit_of(header, units):
    """The number of a header's unit follows from its name alone: a new operator recompiles one unit.

    The factor spreads ONNX's operators evenly: at most 16 in each of 20 units. More units would compile more
    often what all of them share.
    """
    name = header.basename[:-len(".hpp")]
    return (7 * len(name) + "abcdefghijklmnopqrstuvwxyz".find(name[0])) % units

def _operator_units(ctx):
    headers_of = {}
    for header in _sorted(ctx.files.headers):
        headers_of.setdefault(_unit_of(header, ctx.attr.units), []).append(header)

    units = []
    functions = []
    for index in sorted(headers_of):
        headers = headers_of[index]
        functions.append("%s_%d" % (ctx.attr.register, index))
        units.append(_expand(
            ctx,
            "operators.cc.in",
            ctx.actions.declare_file("%s/unit_%d.cc" % (ctx.label.name, index)),
            INCLUDES = _includes(headers),
            REGISTERS = "\n".join(["TENON_REGISTERS(\"%s\")" % _include(header) for header in headers]),
            FUNCTION = functions[-1],
            CALLS = "\n".join(["  register_header<\"%s\">(registry);" % _include(header) for header in headers]),
        ))
    units.append(_expand(
        ctx,
        "all.cc.in",
        ctx.actions.declare_file("%s/all.cc" % ctx.label.name),
        DECLARATIONS = "\n".join(["void %s(Registry& registry);" % function for function in functions]),
        FUNCTION = ctx.attr.register,
        CALLS = "\n".join(["  %s(registry);" % function for function in functions]),
    ))
    return [DefaultInfo(files = depset(units))]

operator_units = rule(
    implementation = _operator_units,
    doc = "Units that register the operators of TENON_OPERATORS, and the function that calls them all.",
    attrs = dict(
        _TEMPLATES,
        headers = attr.label_list(allow_files = True),
        register = attr.string(default = "register_all"),
        units = attr.int(default = 20),
    ),
)

def _umbrella(ctx):
    _expand(
        ctx,
        "pack.hpp.in" if ctx.attr.domain else "tenon.hpp.in",
        ctx.outputs.out,
        INCLUDES = _includes(_sorted(ctx.files.headers)),
        DOMAIN = ctx.attr.domain,
        FUNCTION = ctx.attr.register,
    )
    return [DefaultInfo(files = depset([ctx.outputs.out]))]

umbrella = rule(
    implementation = _umbrella,
    doc = "A header that includes operators' headers: ONNX's, or a pack's, with its domain and its function.",
    attrs = dict(
        _TEMPLATES,
        domain = attr.string(),
        headers = attr.label_list(allow_files = True),
        out = attr.output(mandatory = True),
        register = attr.string(),
    ),
)

def joined(sources, most = 10):
    """Translation units of up to `most` sources of one folder.

    Parsing the headers that they share takes longer than compiling the sources. No two sources of a folder
    may therefore give one name to two things, unnamed namespaces included. loader/cmake/loader.cmake does
    the same.
    """
    folders = {}
    for source in sources:
        folders.setdefault(source.rpartition("/")[0], []).append(source)
    units = []
    for folder, files in folders.items():
        count = (len(files) + most - 1) // most
        for k in range(count):
            unit = "joined/%s_%d.cc" % (folder or native.package_name(), k + 1)
            native.genrule(
                name = unit[:-len(".cc")],
                srcs = files[len(files) * k // count:len(files) * (k + 1) // count],
                outs = [unit],
                cmd = "for file in $(SRCS); do echo \"#line 1 \\\"$$file\\\"\"; cat $$file; done > $@",
            )
            units.append(unit)
    return units
