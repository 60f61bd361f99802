"""Tenon for Conan 2: the headers, and with the option `loader` the compiled library and the tool."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps


class Tenon(ConanFile):
    name = "tenon"
    license = "Apache-2.0"
    description = "Typed tensors, ONNX operators and graphs in C++20"
    topics = ("onnx", "tensor", "inference", "simd")
    settings = "os", "arch", "compiler", "build_type"
    options = {"loader": [True, False]}
    default_options = {"loader": True}
    package_type = "static-library"

    @property
    def _tree(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._tree, "include", "tenon", "base", "abi.hpp"))
        self.version = ".".join(re.findall(r"#define TENON_VERSION_\w+ (\d+)", header))

    def export_sources(self):
        for pattern in "CMakeLists.txt", "LICENSE", "include/*", "loader/*":
            copy(self, pattern, self._tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("xsimd/[>=8.1 <15]", transitive_headers=True)
        if self.options.loader:
            self.requires("protobuf/3.21.12")
            self.requires("re2/[>=20220601]")
            self.requires("libjpeg-turbo/[>=2.1]")
            self.requires("libpng/[>=1.6 <2]")
            self.requires("libtiff/[>=4.5 <5]")
            self.requires("libwebp/[>=1.2 <2]")
            self.requires("openjpeg/[>=2.5 <3]")
            self.requires("zlib/[>=1.2.11 <2]")

    def build_requirements(self):
        if self.options.loader:
            self.tool_requires("protobuf/<host_version>")
            self.tool_requires("pkgconf/[>=2]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TENON_LOADER"] = "ON" if self.options.loader else "OFF"
        toolchain.cache_variables["Tenon_XSIMD_INCLUDE_DIR"] = self.dependencies["xsimd"].cpp_info.includedirs[0]
        toolchain.generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        licenses = os.path.join(self.package_folder, "licenses")
        copy(self, "LICENSE", self.source_folder, licenses)
        copy(self, "NOTICE", os.path.join(self.source_folder, "loader"), licenses)
        CMake(self).install()

    def package_id(self):
        if not self.options.loader:
            self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Tenon")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Tenon::tenon")
        headers.set_property("pkg_config_name", "tenon")
        headers.libdirs = []
        headers.system_libs = ["pthread"]
        headers.requires = ["xsimd::xsimd"]
        if self.options.loader:
            loader = self.cpp_info.components["loader"]
            loader.set_property("cmake_target_name", "Tenon::loader")
            loader.set_property("pkg_config_name", "tenon-loader")
            loader.libs = ["tenon-loader"]
            loader.defines = ["TENON_COMPILED", "TENON_COMPILED_SESSION"]
            loader.requires = [
                "headers",
                "protobuf::libprotobuf-lite",
                "re2::re2",
                "libjpeg-turbo::libjpeg-turbo",
                "libpng::libpng",
                "libtiff::libtiff",
                "libwebp::libwebp",
                "openjpeg::openjpeg",
                "zlib::zlib",
            ]
            pack = self.cpp_info.components["com_microsoft"]
            pack.set_property("cmake_target_name", "Tenon::com_microsoft")
            pack.set_property("pkg_config_name", "tenon-com-microsoft")
            pack.libs = ["tenon-com-microsoft"]
            pack.requires = ["loader"]
