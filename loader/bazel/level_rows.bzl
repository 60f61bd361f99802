"""The instruction-set levels that include/tenon/simd knows, for levels.bzl and for loader/cmake/levels.cmake.

A row has blanks between its words: level, tag, processor family (a config_setting of this folder's; any:
every one), and all flags by which the compiler may use the level. A family's rows ascend. They are text, for
neither build can read data in the other's language: Bazel reads files only as Starlark when it loads build
files, and CMake splits lines.
"""

LEVEL_ROWS = """
baseline Baseline any
avx2     Avx2     x86_64  -mavx2 -mfma -mf16c
avx512   Avx512   x86_64  -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl
dotprod  Dotprod  aarch64 -march=armv8.2-a+dotprod
i8mm     I8mm     aarch64 -march=armv8.2-a+dotprod -march=armv8.2-a+dotprod+i8mm+bf16
"""

# Levels of other families, TENON_LAYOUTS in include/tenon/simd. Their kernels run on processors of the family
# of the row, to lay out models for machines that are not at hand, so that only their size matters.
LAYOUT_ROWS = """
foreign  Foreign  x86_64  -Os
"""
