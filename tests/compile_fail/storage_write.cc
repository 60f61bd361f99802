// The bytes of a const handle, such as a const tensor's, are not written.
// expect: no matching
// expect: for call to
#include "tenon/tensor/tensor.hpp"

using namespace tenon;

void f(const Storage& s) { s.as<float>()[0] = 7; }
