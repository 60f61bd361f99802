// Bodies of cumulate.hpp.
#pragma once

#include "tenon/kernels/reduce/cumulate.hpp"

namespace tenon::kernels {

template <class Arch>
void cumulate_impl(const float* x, float* y, int64_t extent, int64_t step, int64_t columns, bool exclusive) {
  detail::cumulate_columns<Arch, CumulateOp::sum>(x, y, extent, step, columns, exclusive);
}

#ifdef TENON_INSTANTIATE
template void cumulate_impl<TENON_INSTANTIATE>(const float*, float*, int64_t, int64_t, int64_t, bool);
#endif

}  // namespace tenon::kernels
