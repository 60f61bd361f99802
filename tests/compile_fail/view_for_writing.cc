// A tensor that may only be read gives no view for writing.
// expect: conversion from
// expect: TensorView<float
#include "tenon/tensor/tensor.hpp"

using namespace tenon;

void f(const Tensor<float>& t) { TensorView<float> v = t; }
