// The operators of com.microsoft. Written from loader/units/pack.hpp.in.
#pragma once

#include "tenon/op/com.microsoft/bias_gelu.hpp"
#include "tenon/op/com.microsoft/fast_gelu.hpp"
#include "tenon/op/com.microsoft/gelu.hpp"
#include "tenon/op/com.microsoft/quick_gelu.hpp"
#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI {

/// Adds the operators of com.microsoft, from the library that compiles them.
void register_com_microsoft(Registry& registry);

}  // namespace tenon::TENON_ABI
