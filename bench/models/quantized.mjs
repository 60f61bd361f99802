// ResNet-50 in QDQ form: every tensor between operators is quantised and dequantised, weights are int8 with a scale
// for each output channel, biases int32.
import { Model } from './onnx.mjs';
import { reluBound } from './layers.mjs';

/// `type` is that of the activations, uint8 or int8; what is not behind a Relu is symmetric around 128 or 0.
export function resnet50Qdq(type) {
  const m = new Model(13);
  const unsigned = type === 'uint8';
  const zeros = { int8: m.constant(0, 'int8'), uint8: m.constant(0, 'uint8'), middle: m.constant(128, 'uint8') };

  // A tensor as its consumers see it, with the scale for its greatest value.
  const quantize = (x, greatest, positive) => {
    const step = positive && unsigned ? greatest / 255 : greatest / 127;
    const scale = m.constant(step);
    const zero = !unsigned ? zeros.int8 : positive ? zeros.uint8 : zeros.middle;
    const value = m.node('DequantizeLinear', [m.node('QuantizeLinear', [x, scale, zero]), scale, zero]);
    return { value, step };
  };
  const weights = (dims, fanIn, gain, step) => {
    const [outputs] = dims;
    const limit = gain * reluBound(fanIn);
    const scales = Array.from({ length: outputs }, (_, i) => (limit / 127) * (0.8 + 0.4 * ((i * 7) % 16) / 16));
    const zeroes = (of) => m.constant(Array(outputs).fill(0), of);
    const weight = m.node('DequantizeLinear', [
      m.weight(dims, -127, 128, 'int8'), m.constant(scales), zeroes('int8'),
    ], { axis: 0 });
    const biasScales = scales.map((s) => s * step);
    const bias = m.node('DequantizeLinear', [
      m.constant(biasScales.map((s, i) => (0.1 * Math.sin(i)) / s), 'int32'), m.constant(biasScales),
      zeroes('int32'),
    ], { axis: 0 });
    return [weight, bias];
  };
  const conv = (x, inputs, outputs, kernel, stride, { greatest = 6, relu = true, gain = 1 } = {}) => {
    const constants = weights([outputs, inputs, kernel, kernel], inputs * kernel * kernel, gain, x.step);
    const y = m.node('Conv', [x.value, ...constants], {
      kernel_shape: [kernel, kernel], strides: [stride, stride], pads: Array(4).fill(kernel >> 1), group: 1,
      dilations: [1, 1],
    });
    return quantize(relu ? m.node('Relu', [y]) : y, greatest, relu);
  };

  let x = quantize(m.input('data', [1, 3, 224, 224]), 1, true);
  x = conv(x, 3, 64, 7, 2);
  x = quantize(m.node('MaxPool', [x.value], { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] }), 6, true);
  let channels = 64;
  for (const [stage, blocks] of [3, 4, 6, 3].entries()) {
    const width = 64 << stage;
    for (let block = 0; block < blocks; ++block) {
      const stride = stage > 0 && block === 0 ? 2 : 1;
      let y = conv(x, channels, width, 1, 1);
      y = conv(y, width, width, 3, stride);
      y = conv(y, width, 4 * width, 1, 1, { relu: false, gain: 0.4 });
      if (block === 0) x = conv(x, channels, 4 * width, 1, stride, { relu: false, gain: 0.8 });
      channels = 4 * width;
      x = quantize(m.node('Relu', [m.node('Add', [y.value, x.value])]), 6, true);
    }
  }
  x = quantize(m.node('GlobalAveragePool', [x.value]), 3, true);
  x = quantize(m.node('Flatten', [x.value], { axis: 1 }), 3, true);
  const y = m.node('Gemm', [x.value, ...weights([1000, 2048], 2048, 1, x.step)], { transB: 1 });
  m.output(quantize(y, 10, false).value, [1, 1000]);
  return m;
}
