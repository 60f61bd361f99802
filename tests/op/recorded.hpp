// Tables of cases whose results ONNX Runtime gave: a text file holds uses of operators, one per line, each
// followed by the results, which tests/op/com.microsoft/record.js writes.
//
//     SkipLayerNormalization <epsilon=0.01> (float[2,3] 1; float[2,3] 0..1 2; float[3] {1,2}; -; float[3] 5)
//     +--+ ~ 1e-4 = float[2,3] 1.5 …
//
// The operand `float[2,3] 0..1 2` has six numbers of seed 2 between 0 and 1, by default between -2 and 2, or
// between the limits of a type of eight bits; the last number of a list in braces repeats. `-` is an operand
// or a result left out. `ai.onnx@14:` before the name is another domain and its opset; `~` states a
// tolerance.
#pragma once

#include <string_view>

#include "tests/op/stated.hpp"

namespace tenon::test {

/// A use that a table states.
struct RecordedUse {
  std::string domain, name;
  int opset;
  std::vector<std::pair<std::string, op::AttributeValue>> attributes;
  std::vector<Value> in;
  int results;
};

/// The uses of every table in tests/data/FOLDER, which is named after the domain of most.
std::vector<RecordedUse> recorded_uses(std::string_view folder);

/// Checks every case of tests/data/FILE, each of which uses one of the operators.
void check_recorded(std::string_view file, std::initializer_list<const OperatorClass*> operators);

}  // namespace tenon::test
