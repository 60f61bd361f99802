// Networks in QDQ form: every tensor between operators is quantised and dequantised, weights are int8 with a scale
// for each output channel, biases int32.
import { Model } from './onnx.mjs';
import { reluBound } from './layers.mjs';
import { mobilenetV2Blocks } from './vision.mjs';

/// A network under construction. A tensor is what its consumers see, `value`, with its scale, `step`.
class Quantized {
  model = new Model(13);

  /// `type` is the activations' type, uint8 or int8; values that may be negative are symmetric around 128 or 0.
  constructor(type) {
    this.unsigned = type === 'uint8';
    const zero = (value, of) => this.model.constant(value, of);
    this.zeros = { int8: zero(0, 'int8'), uint8: zero(0, 'uint8'), middle: zero(128, 'uint8') };
  }

  /// The tensor of a value, with the scale for its greatest.
  tensor(x, greatest, positive) {
    const step = positive && this.unsigned ? greatest / 255 : greatest / 127;
    const scale = this.model.constant(step);
    const zero = !this.unsigned ? this.zeros.int8 : positive ? this.zeros.uint8 : this.zeros.middle;
    const quantized = this.model.node('QuantizeLinear', [x, scale, zero]);
    return { value: this.model.node('DequantizeLinear', [quantized, scale, zero]), step };
  }

  /// Weights and bias for an input of this step.
  #weights(dims, fanIn, gain, step) {
    const m = this.model;
    const [outputs] = dims;
    const deviation = (gain * reluBound(fanIn)) / Math.sqrt(3);
    const { name, deviations } = m.quantizedWeight(dims, outputs);
    const scales = deviations.map((d, i) => (deviation / d) * (0.8 + 0.4 * ((i * 7) % 16) / 16));
    const zeroes = (of) => m.constant(Array(outputs).fill(0), of);
    const weight = m.node('DequantizeLinear', [name, m.constant(scales), zeroes('int8')], { axis: 0 });
    const biasScales = scales.map((s) => s * step);
    const bias = m.node('DequantizeLinear', [
      m.constant(biasScales.map((s, i) => (0.1 * Math.sin(i)) / s), 'int32'), m.constant(biasScales),
      zeroes('int32'),
    ], { axis: 0 });
    return [weight, bias];
  }

  conv(x, inputs, outputs, kernel, stride, { group = 1, activation, gain = 1 } = {}) {
    const fanIn = (inputs / group) * kernel * kernel;
    const y = this.model.node('Conv', [
      x.value, ...this.#weights([outputs, inputs / group, kernel, kernel], fanIn, gain, x.step),
    ], {
      kernel_shape: [kernel, kernel], strides: [stride, stride], pads: Array(4).fill(kernel >> 1), group,
      dilations: [1, 1],
    });
    return this.tensor(activation ? activation(y) : y, 6, activation !== undefined);
  }

  /// The mean of each plane, and 1000 outputs of it.
  classify(x, channels) {
    x = this.tensor(this.model.node('GlobalAveragePool', [x.value]), 3, true);
    x = this.tensor(this.model.node('Flatten', [x.value], { axis: 1 }), 3, true);
    const y = this.model.node('Gemm', [x.value, ...this.#weights([1000, channels], channels, 1, x.step)], {
      transB: 1,
    });
    this.model.output(this.tensor(y, 10, false).value, [1, 1000]);
  }
}

export function resnet50Qdq(type) {
  const q = new Quantized(type);
  const m = q.model;
  const activation = (y) => m.node('Relu', [y]);
  let x = q.conv(q.tensor(m.input('data', [1, 3, 224, 224]), 1, true), 3, 64, 7, 2, { activation });
  x = q.tensor(m.node('MaxPool', [x.value], { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] }), 6, true);
  let channels = 64;
  for (const [stage, blocks] of [3, 4, 6, 3].entries()) {
    const width = 64 << stage;
    for (let block = 0; block < blocks; ++block) {
      const stride = stage > 0 && block === 0 ? 2 : 1;
      let y = q.conv(x, channels, width, 1, 1, { activation });
      y = q.conv(y, width, width, 3, stride, { activation });
      y = q.conv(y, width, 4 * width, 1, 1, { gain: 0.4 });
      if (block === 0) x = q.conv(x, channels, 4 * width, 1, stride, { gain: 0.8 });
      channels = 4 * width;
      x = q.tensor(activation(m.node('Add', [y.value, x.value])), 6, true);
    }
  }
  q.classify(x, 2048);
  return m;
}

export function mobilenetV2Qdq(type) {
  const q = new Quantized(type);
  const m = q.model;
  const activation = (y) => m.node('Clip', [y, m.constant(0), m.constant(6)]);
  let x = q.conv(q.tensor(m.input('data', [1, 3, 224, 224]), 1, true), 3, 32, 3, 2, { activation });
  for (const { channels, inner, width, stride } of mobilenetV2Blocks()) {
    let y = inner === channels ? x : q.conv(x, channels, inner, 1, 1, { activation });
    y = q.conv(y, inner, inner, 3, stride, { activation, group: inner });
    y = q.conv(y, inner, width, 1, 1, { gain: 0.7 });
    x = stride === 1 && channels === width ? q.tensor(m.node('Add', [x.value, y.value]), 6, false) : y;
  }
  q.classify(q.conv(x, 320, 1280, 1, 1, { activation }), 1280);
  return m;
}
