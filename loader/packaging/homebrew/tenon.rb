# Tenon for Homebrew: the headers, the compiled library and the tool.
class Tenon < Formula
  desc "Typed tensors, ONNX operators and graphs in C++20"
  homepage "@URL@"
  url "@URL@", tag: "@VERSION@", revision: "@REF@"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "pkgconf" => :build
  depends_on "jpeg-turbo"
  depends_on "libpng"
  depends_on "libtiff"
  depends_on "openjpeg"
  depends_on "protobuf"
  depends_on "re2"
  depends_on "webp"
  depends_on "xsimd"

  uses_from_macos "zlib"

  def install
    # Kernels of several levels are separated by tools that work on ELF alone.
    level = OS.mac? ? ["-DTENON_LEVEL=baseline"] : []
    system "cmake", "-S", ".", "-B", "build", "-DTENON_LOADER=ON", *level, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tenon --version")
  end
end
