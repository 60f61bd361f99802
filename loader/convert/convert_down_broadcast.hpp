// Adapters to the operator sets before numpy's broadcasting.
#pragma once

#include "loader/convert/convert_step.hpp"

namespace tenon::TENON_ABI::loader::down {

Rest broadcast_before_numpy(Step& s);
Rest gemm_7(Step& s);
Rest p_relu_7(Step& s);
Rest without_broadcasting(Step& s);

}  // namespace tenon::TENON_ABI::loader::down
