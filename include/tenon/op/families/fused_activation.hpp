// The activations that ONNX Runtime's fused operators name.
#pragma once

#include <optional>

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/celu.hpp"
#include "tenon/op/math/clip.hpp"
#include "tenon/op/math/elu.hpp"
#include "tenon/op/math/hard_sigmoid.hpp"
#include "tenon/op/math/hard_swish.hpp"
#include "tenon/op/math/leaky_relu.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/selu.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/softplus.hpp"
#include "tenon/op/math/softsign.hpp"
#include "tenon/op/math/tanh.hpp"
#include "tenon/op/math/thresholded_relu.hpp"

namespace tenon::TENON_ABI::op {

/// An activation by its name with its two parameters, as far as they are stated.
struct FusedActivation {
  std::string_view name;
  std::optional<float> first{}, second{};

  /// Adds the nodes that apply it to a value of type `type`; an empty name changes nothing.
  template <class L>
  int32_t lower(L& to, int32_t x, DType type) const {
    if (name == "Relu") return to.add(Relu{}, {x});
    if (name == "Tanh") return to.add(Tanh{}, {x});
    if (name == "Sigmoid") return to.add(Sigmoid{}, {x});
    if (name == "Softplus") return to.add(Softplus{}, {x});
    if (name == "Softsign") return to.add(Softsign{}, {x});
    if (name == "LeakyRelu") return to.add(LeakyRelu{.alpha = first.value_or(0.01f)}, {x});
    if (name == "HardSwish") return to.add(HardSwish{}, {x});
    if (name == "Celu") return to.add(Celu{.alpha = first.value_or(1)}, {x});
    if (name == "Elu") return to.add(Elu{.alpha = first.value_or(1)}, {x});
    if (name == "ThresholdedRelu") return to.add(ThresholdedRelu{.alpha = first.value_or(1)}, {x});
    if (name == "HardSigmoid")
      return to.add(HardSigmoid{.alpha = first.value_or(0.2f), .beta = second.value_or(0.5f)}, {x});
    const auto times = [&](int32_t v, float factor) {
      return to.add(Mul{}, {v, function_body::number(to, type, static_cast<double>(factor))});
    };
    if (name == "ScaledTanh") return times(to.add(Tanh{}, {times(x, second.value_or(1))}), first.value_or(1));
    if (name == "ParametricSoftplus")
      return times(to.add(Softplus{}, {times(x, second.value_or(1))}), first.value_or(1));
    if (name == "Clip") {
      const auto bound = [&](const std::optional<float>& b) {
        return b ? function_body::number(to, type, static_cast<double>(*b)) : -1;
      };
      return to.add(Clip{}, {x, bound(first), bound(second)});
    }
    return x;
  }
};

}  // namespace tenon::TENON_ABI::op
