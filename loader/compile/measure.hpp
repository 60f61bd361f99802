// The working memory that the kernels of a program take.
#pragma once

#include <span>

#include "tenon/graph/session.hpp"
#include "tenon/kernels/variants.hpp"

namespace tenon::TENON_ABI::emission {

/// A number of bytes that suffices for the Scratch of each node of a program but those that run bodies, whose
/// programs are measured by themselves. The given values are `zeros` or, if a node refuses those, `ones`.
/// Those without a feed, and the results of nodes that run bodies, are filled with the number. `used` notes
/// the variants of kernels that ran.
int64_t scratch_of(const Program& program, const tenon::detail::Plan& plan, const Feeds& zeros,
                   const Feeds& ones, kernels::Variants& used);

}  // namespace tenon::TENON_ABI::emission
