// A tensor of other extents.
// expect: conversion from
#include "tenon/tensor/tensor.hpp"

using namespace tenon;

void f() {
  Tensor<float, Shape<2, 2>> square;
  Tensor<float, Shape<2, 3>> oblong = std::move(square);
}
