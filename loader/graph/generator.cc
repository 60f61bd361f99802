// Generator's bodies, compiled once for every program that links //loader.
#include "tenon/generate/generator_impl.hpp"
