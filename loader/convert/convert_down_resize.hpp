// Adapters of Resize and Upsample to the previous operator set.
#pragma once

#include "loader/convert/convert_step.hpp"

namespace tenon::TENON_ABI::loader::down {

Rest upsample_7(Step& s);
Rest upsample_9(Step& s);
Rest resize_10(Step& s);
Rest resize_11(Step& s);
Rest resize_13(Step& s);
Rest resize_19(Step& s);

}  // namespace tenon::TENON_ABI::loader::down
