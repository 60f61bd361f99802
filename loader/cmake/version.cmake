# TENON_VERSION, from the header that states it.
set(header "${CMAKE_CURRENT_LIST_DIR}/../../include/tenon/base/abi.hpp")
file(STRINGS "${header}" TENON_VERSION REGEX "^#define TENON_VERSION_[A-Z]+ [0-9]+")
list(TRANSFORM TENON_VERSION REPLACE ".* " "")
list(JOIN TENON_VERSION "." TENON_VERSION)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
