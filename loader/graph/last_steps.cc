// LastSteps' constructor and the pass that it names, compiled once for every program that links //loader.
#include "tenon/graph/last_steps.hpp"
