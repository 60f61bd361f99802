# The loader's tests of files as one program, tenon_tests, for another platform: tests/target_loader names this file as
# CMAKE_PROJECT_Tenon_INCLUDE.
function(tenon_add_tests)
  set(folder "${PROJECT_SOURCE_DIR}/tests")
  add_executable(tenon_tests EXCLUDE_FROM_ALL "${folder}/main.cc" "${folder}/loader/external_test.cc"
    "${folder}/loader/os_test.cc" "${folder}/loader/packed_file_test.cc")
  target_include_directories(tenon_tests PRIVATE "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(tenon_tests PRIVATE tenon_loader PkgConfig::TENON_LOADER)
  target_compile_definitions(tenon_tests PRIVATE DOCTEST_CONFIG_NO_POSIX_SIGNALS)
  target_compile_options(tenon_tests PRIVATE ${TENON_LEVEL_OPTIONS_${TENON_ONLY_LEVEL}} -O1)
endfunction()
cmake_language(DEFER CALL tenon_add_tests)
