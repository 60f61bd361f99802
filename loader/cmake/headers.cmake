# Tenon::tenon: the headers. They need xsimd and threads.
include("${CMAKE_CURRENT_LIST_DIR}/TenonDependencies.cmake")
tenon_find_xsimd()
if(NOT TARGET Tenon::xsimd)
  message(FATAL_ERROR "Tenon needs xsimd's headers (Debian: apt-get install libxsimd-dev). If they are elsewhere, set "
    "Tenon_XSIMD_INCLUDE_DIR, or TENON_XSIMD in the environment, to the folder that has xsimd/xsimd.hpp.")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Operators: what BUILD.bazel's //:operator_headers lists.
file(GLOB TENON_OPERATOR_HEADERS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tenon/op/*/*.hpp")
list(FILTER TENON_OPERATOR_HEADERS EXCLUDE REGEX "/op/(families|framework|[^/]*[.][^/]*)/[^/]*$")

# The umbrella takes the place of the file of that name in the tree, which may lack an operator added since.
include("${CMAKE_CURRENT_LIST_DIR}/units.cmake")
tenon_write_unit("${PROJECT_BINARY_DIR}/include/tenon/tenon.hpp" tenon.hpp.in ${TENON_OPERATOR_HEADERS})
file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tenon/op/com.microsoft/*.hpp")
set(DOMAIN com.microsoft)
set(FUNCTION register_com_microsoft)
tenon_write_unit("${PROJECT_BINARY_DIR}/include/tenon/op/com.microsoft.hpp" pack.hpp.in ${headers})

include(GNUInstallDirs)
add_library(tenon INTERFACE)
add_library(Tenon::tenon ALIAS tenon)
target_compile_features(tenon INTERFACE cxx_std_20)
target_include_directories(tenon INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(tenon INTERFACE Tenon::xsimd Threads::Threads)
# Large units have more sections than the usual format of objects on Windows has numbers. MinGW's g++ aligns the stack to
# 16 bytes only, and stores registers of 32 and 64 bytes there as if it were aligned to their size (GCC's bug 54412).
if(MSVC)
  target_compile_options(tenon INTERFACE /bigobj $<$<CXX_COMPILER_ID:MSVC>:/Zc:preprocessor>)
elseif(MINGW)
  target_compile_options(tenon INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wa,-muse-unaligned-vector-move,-mbig-obj>)
endif()
