// Session's bodies, compiled once for all that link //loader.
#include "tenon/graph/session_impl.hpp"
