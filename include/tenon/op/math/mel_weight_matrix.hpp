// MelWeightMatrix: triangles that bring a spectrum to the mel scale.
// onnx.ai/onnx/operators/onnx__MelWeightMatrix.html
#pragma once

#include <cmath>

#include "tenon/base/convert.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The matrix (dft_length / 2 + 1, num_mel_bins) by which spectra of a one-sided transform are multiplied.
/// Band i is a triangle of height 1 from edge i over edge i + 1 to edge i + 2, of num_mel_bins + 2 edges at
/// equal steps on the mel scale, 2595 log10(1 + hertz / 700): from lower_edge_hertz in steps of (upper -
/// lower) / (num_mel_bins + 2), each at the bin floor((dft_length + 1) hertz / sample_rate). What lies
/// outside of the spectrum is left out. All operands are one number each; results are converted to the type
/// of number `output_datatype`. op::MelWeightMatrix{}(int64_t{8}, int64_t{16}, int64_t{8192}, 0.0f, 4096.0f)
/// gives (9,8).
struct MelWeightMatrix {
  int64_t output_datatype = 1;

  static constexpr Spec spec{
      .name = "MelWeightMatrix",
      .since = {17},
      .inputs = {{"num_mel_bins", "T1"},
                 {"dft_length", "T1"},
                 {"sample_rate", "T1"},
                 {"lower_edge_hertz", "T2"},
                 {"upper_edge_hertz", "T2"}},
      .outputs = {{"output", "T3"}},
      .types = {{"T1", types::indices}, {"T2", types::floats_bf16}, {"T3", types::numeric_bf16}}};
  static constexpr Attributes attributes{attr("output_datatype", &MelWeightMatrix::output_datatype)};

  constexpr void infer(Infer& i) const {
    i.out(0).type = i.element_type("output_datatype", output_datatype);
    for (int k = 0; k < 5; ++k)
      if (!i.expect_one(k) || (k < 2 && !i.expect_at_least(i.name(k), i.item(k), 1))) return;
    i.for_runs([&] { i.expect_at_least(i.name(2), i.item(2), 1); });
    i.out(0, {i.item(1) / 2 + 1, i.item(0)});
  }
  /// Error{invalid_argument} if a frequency is not a number above -700, or infinite.
  void compute(AnyView, AnyView dft_length, AnyView sample_rate, AnyView lower, AnyView upper,
               AnyOut output) const {
    const int64_t rows = output.extent(0), bands = output.extent(1);
    const double low = mel(lower), step = (mel(upper) - low) / static_cast<double>(bands + 2);
    const double points = static_cast<double>(int_at(dft_length, 0)) + 1,
                 rate = static_cast<double>(int_at(sample_rate, 0));
    if (!std::isfinite(low) || !std::isfinite(step) || !(rate > 0))
      raise(ErrorCode::invalid_argument, spec.name, "the edges or the sample rate are no frequencies");
    // Edges beyond int64 lie as far outside of the spectrum as any.
    const auto edge = [&](int64_t k) {
      const double hertz = 700 * (std::pow(10.0, (low + static_cast<double>(k) * step) / 2595) - 1);
      return static_cast<int64_t>(std::clamp(std::floor(points * hertz / rate), -0x1p61, 0x1p61));
    };
    // The matrix by bands; a band's bins are adjacent.
    Scratch scratch;
    double* weights = scratch.take<double>(rows);
    const DType d = output.dtype();
    const int64_t strides[] = {bands, 1}, dense[] = {1, 1}, extents[] = {rows, 1};
    void* column = scratch.take<char>(rows * bits_of(d) / 8);
    for (int64_t band = 0; band < bands; ++band) {
      const int64_t left = edge(band), center = edge(band + 1), right = edge(band + 2);
      std::fill_n(weights, rows, 0.0);
      const auto within = [&](int64_t bin) { return std::clamp(bin, int64_t{0}, rows); };
      if (left == center && center >= 0 && center < rows) weights[center] = 1;
      for (int64_t j = within(left); j < within(center + 1); ++j)
        if (left < center) weights[j] = static_cast<double>(j - left) / static_cast<double>(center - left);
      for (int64_t j = within(center); j < within(right); ++j)
        weights[j] = static_cast<double>(right - j) / static_cast<double>(right - center);
      convert_n(d, column, DType::float64, weights, rows);
      kernels::move(d, output.data(), {band, strides}, column, {0, dense}, extents);
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static double mel(AnyView hertz) {
    double x = 0;
    convert_n(DType::float64, &x, hertz.dtype(), hertz.data(), 1);
    return 2595 * std::log10(1 + x / 700);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::MelWeightMatrix)
