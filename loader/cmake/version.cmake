# TENON_VERSION, from the header that states it.
set(header "${CMAKE_CURRENT_LIST_DIR}/../../include/tenon/base/version.hpp")
file(STRINGS "${header}" TENON_VERSION REGEX "library_version = \"[0-9.]+\"")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" TENON_VERSION "${TENON_VERSION}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
