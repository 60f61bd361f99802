// State's constructor and the pass that it names, compiled once for every program that links //loader.
#include "tenon/graph/state_impl.hpp"
