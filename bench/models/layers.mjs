// What several models are made of. Weights are random, and scaled so that activations keep their size.

/// The bound of uniform weights that keep the mean square of activations: through a layer alone, or with Relu.
export const bound = (fanIn) => Math.sqrt(3 / fanIn);
export const reluBound = (fanIn) => Math.sqrt(6 / fanIn);

const window = (kernel, stride, group) => ({
  kernel_shape: [kernel, kernel], strides: [stride, stride], pads: Array(4).fill(kernel >> 1), group,
  dilations: [1, 1],
});

/// A convolution with bias, as it is exported after batch normalisation was folded into it.
export function conv(m, x, inputs, outputs, kernel, { stride = 1, group = 1, gain = 1, bias } = {}) {
  const fanIn = (inputs / group) * kernel * kernel;
  const limit = gain * reluBound(fanIn);
  return m.node('Conv', [
    x, m.weight([outputs, inputs / group, kernel, kernel], -limit, limit), bias ?? m.weight([outputs], -0.1, 0.1),
  ], window(kernel, stride, group));
}

/// Convolution and batch normalisation, as networks are exported before either is folded into the other.
export function convNorm(m, x, inputs, outputs, kernel, stride = 1) {
  const limit = reluBound(inputs * kernel * kernel);
  const y = m.node('Conv', [x, m.weight([outputs, inputs, kernel, kernel], -limit, limit)], window(kernel, stride, 1));
  return m.node('BatchNormalization', [
    y, m.weight([outputs], 0.5, 1), m.weight([outputs], -0.1, 0.1), m.weight([outputs], -0.1, 0.1),
    m.weight([outputs], 0.8, 1.2),
  ], { epsilon: 1e-5 });
}

export function gemm(m, x, inputs, outputs) {
  const limit = reluBound(inputs);
  return m.node('Gemm', [x, m.weight([outputs, inputs], -limit, limit), m.weight([outputs], -0.1, 0.1)], {
    transB: 1,
  });
}

export const relu = (m, x) => m.node('Relu', [x]);

/// x · sigmoid(x), as exporters write it before opset 24.
export const swish = (m, x) => m.node('Mul', [x, m.node('Sigmoid', [x])]);

/// The product with a weight matrix, and a bias.
export function linear(m, x, inputs, outputs) {
  const limit = bound(inputs);
  const y = m.node('MatMul', [x, m.weight([inputs, outputs], -limit, limit)]);
  return m.node('Add', [m.weight([outputs], -0.1, 0.1), y]);
}

/// Layer normalisation over the last axis, decomposed as exporters do before opset 17.
export function layerNorm(m, x, width) {
  const mean = (v) => m.node('ReduceMean', [v], { axes: [-1], keepdims: 1 });
  const centred = m.node('Sub', [x, mean(x)]);
  const variance = mean(m.node('Pow', [centred, m.constant(2)]));
  const deviation = m.node('Sqrt', [m.node('Add', [variance, m.constant(1e-5)])]);
  const normal = m.node('Div', [centred, deviation]);
  return m.node('Add', [m.node('Mul', [normal, m.weight([width], 0.8, 1.2)]), m.weight([width], -0.1, 0.1)]);
}

/// x/2 · (1 + erf(x/√2)), decomposed as exporters do before opset 20.
export function gelu(m, x) {
  const erf = m.node('Erf', [m.node('Div', [x, m.constant(Math.SQRT2)])]);
  return m.node('Mul', [m.node('Mul', [x, m.node('Add', [erf, m.constant(1)])]), m.constant(0.5)]);
}
