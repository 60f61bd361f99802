// BitCast: the bits of elements as another type.   onnx.ai/onnx/operators/onnx__BitCast.html
#pragma once

#include <cstring>

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// output = the bits of input as elements of type `to`, one of ONNX's numbers, which has as many bits. As
/// bools, all bytes but 0 are true. op::BitCast{.to = dtype<int32_t>}(1.0f) gives 0x3f800000.
struct BitCast {
  Opt<int64_t> to{};

 private:
  static constexpr TypeSet all_but_strings = [] {
    TypeSet set = types::all_ir13;
    set.tensor &= ~types::string.tensor;
    return set;
  }();

 public:
  static constexpr Spec spec{.name = "BitCast",
                             .since = {26},
                             .inputs = {{"input", "T1"}},
                             .outputs = {{"output", "T2"}},
                             .types = {{"T1", all_but_strings}, {"T2", all_but_strings}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("to", &BitCast::to).required()};

  constexpr void infer(Infer& i) const {
    if (!to) return i.fail("attribute 'to' is missing");
    const DType from = i.dtype(0), type = i.element_type("to", *to);
    if (i.failed()) return;
    if (from != DType::undefined && type != DType::string && bits_of(from) != bits_of(type))
      return i.fail_type("elements of ", from, " have ", bits_of(from), " bits, of ", type, " ",
                         bits_of(type));
    i.out(0, type, i.dims(0));
  }
  void compute(AnyView input, AnyOut output) const {
    if (input.empty() || input.data() == output.data()) return;
    if (output.dtype() == DType::bool_) {
      // A bool is 0 or 1; no other byte may represent it.
      const auto* bytes = static_cast<const unsigned char*>(input.data());
      std::transform(bytes, bytes + input.size(), static_cast<bool*>(output.data()),
                     [](unsigned char byte) { return byte != 0; });
    } else {
      std::memcpy(output.data(), input.data(), static_cast<std::size_t>(input.bytes()));
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::BitCast)
