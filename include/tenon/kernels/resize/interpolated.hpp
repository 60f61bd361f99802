// The type in which interpolated numbers are computed.
#pragma once

#include "tenon/base/types.hpp"

namespace tenon::TENON_ABI::kernels {

/// Complex numbers stay; others are computed in float if it holds all of them, else in double.
template <class T>
using interpolated_t =
    std::conditional_t<is_complex(dtype_of<T>), T,
                       std::conditional_t<is_float(dtype_of<T>), compute_t<T>,
                                          std::conditional_t<sizeof(T) <= 2, float, double>>>;

}  // namespace tenon::TENON_ABI::kernels
