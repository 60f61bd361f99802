// State's constructor, the pass that it names, and truncation, compiled once for every program that links
// //loader.
#include "tenon/graph/state_impl.hpp"
