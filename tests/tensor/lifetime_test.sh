#!/bin/bash
# clang warns of a view of a temporary tensor or value that outlives it, and of nothing else.
command -v clang++-19 > /dev/null || { echo "skipped: clang++-19 is not installed"; exit 0; }
source=$(mktemp --suffix=.cc)
trap 'rm -f "$source"' EXIT
cat > "$source" << 'END'
#include "tenon/tensor/value.hpp"
using namespace tenon;
using Pair = Tensor<float, Shape<2>>;
Pair pair();
Value value();
float sum(TensorView<const float> x);

float dangling() {
  const TensorView<const float, Shape<2>> converted = pair();  // dangles
  const auto viewed = pair().view();                           // dangles
  const auto read = value().view<float>();                     // dangles
  float y = converted[0] + viewed[0] + read[0];
  for (float x : value().view<float>()) y += x;  // dangles
  return y;
}
float sound() {
  const Pair x = pair();
  const Value v = value();
  const TensorView<const float> of_tensor = x, of_value = v.view<float>();
  const auto taken = value().as<float>();
  const auto moved = pair().as<Shape<dyn>>();
  return sum(pair()) + sum(pair().view()) + value().view<float>()[0] + of_tensor[0] + of_value[0] + taken[0] + moved[0];
}
END
expected=$(grep -n '// dangles' "$source" | cut -d: -f1)
warned=$(clang++-19 -std=c++20 -Iinclude -Wall -Wextra -fsyntax-only "$source" 2>&1 | sed -nE 's/.*\.cc:([0-9]+):.*(warning|error): .*/\1/p')
[ "$warned" = "$expected" ] || { echo "warnings in lines" $warned, not $expected; exit 1; }
