// Ifs whose conditions are constant.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// Puts the nodes of the branch that it takes in the place of each If whose condition is a constant of its
/// graph, or of one around it, in the main graph and its bodies. The results keep their names; a name of the
/// branch that exists elsewhere is replaced. Initializers in `changing` are no constants. Returns whether
/// there was such an If.
bool take_branches(onnx::ModelProto& model, const std::set<std::string, std::less<>>& changing);

}  // namespace tenon::TENON_ABI::loader
