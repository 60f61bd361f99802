"""The repositories of system.bzl for MODULE.bazel."""

load("//loader/bazel:system.bzl", "system_libraries")

def _system(_ctx):
    system_libraries()

system = module_extension(implementation = _system)
