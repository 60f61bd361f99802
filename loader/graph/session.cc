// Session's bodies, compiled once for every program that links //loader.
#include "tenon/graph/session_impl.hpp"
