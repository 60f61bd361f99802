// A value that may only be read gives no view for writing.
// expect: argument
#include "tenon/tensor/value.hpp"

using namespace tenon;

void f(const Value& v) { v.tensor().out(); }
