// The models that bench/compare makes for itself. Weights are random, and scaled so that activations keep
// their size.
import { Model } from './onnx.mjs';

function matmul(n, constant) {
  const m = new Model();
  const a = m.input('a', [n, n]);
  const b = constant ? m.weight([n, n], 0, 1) : m.input('b', [n, n]);
  m.output(m.node('MatMul', [a, b]), [n, n]);
  return m;
}

const scale = (fanIn) => Math.sqrt(6 / fanIn);

function conv(m, x, inputs, outputs, kernel, stride = 1) {
  const bound = scale(inputs * kernel * kernel);
  return [
    m.node('Conv', [
      x, m.weight([outputs, inputs, kernel, kernel], -bound, bound), m.weight([outputs], -0.1, 0.1),
    ], {
      kernel_shape: [kernel, kernel], strides: [stride, stride], pads: Array(4).fill(kernel >> 1), group: 1,
      dilations: [1, 1],
    }),
    outputs,
  ];
}

function gemm(m, x, inputs, outputs) {
  const bound = scale(inputs);
  return m.node('Gemm', [x, m.weight([outputs, inputs], -bound, bound), m.weight([outputs], -0.1, 0.1)], {
    transB: 1,
  });
}

// Convolution and batch normalisation, as networks are exported before either is folded into the other.
function convNorm(m, x, inputs, outputs, kernel, stride = 1) {
  const bound = scale(inputs * kernel * kernel);
  const y = m.node('Conv', [x, m.weight([outputs, inputs, kernel, kernel], -bound, bound)], {
    kernel_shape: [kernel, kernel], strides: [stride, stride], pads: Array(4).fill(kernel >> 1), group: 1,
    dilations: [1, 1],
  });
  return m.node('BatchNormalization', [
    y, m.weight([outputs], 0.5, 1), m.weight([outputs], -0.1, 0.1), m.weight([outputs], -0.1, 0.1),
    m.weight([outputs], 0.8, 1.2),
  ], { epsilon: 1e-5 });
}

// He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (2015), 50 layers, strides in the 3x3
// convolutions.
function resnet50() {
  const m = new Model();
  const relu = (x) => m.node('Relu', [x]);
  let x = relu(convNorm(m, m.input('data', ['batch', 3, 224, 224]), 3, 64, 7, 2));
  x = m.node('MaxPool', [x], { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] });
  let channels = 64;
  for (const [stage, blocks] of [3, 4, 6, 3].entries()) {
    const width = 64 << stage;
    for (let block = 0; block < blocks; ++block) {
      const stride = stage > 0 && block === 0 ? 2 : 1;
      let y = relu(convNorm(m, x, channels, width, 1));
      y = relu(convNorm(m, y, width, width, 3, stride));
      y = convNorm(m, y, width, 4 * width, 1);
      if (block === 0) x = convNorm(m, x, channels, 4 * width, 1, stride);
      channels = 4 * width;
      x = relu(m.node('Add', [y, x]));
    }
  }
  x = m.node('Flatten', [m.node('GlobalAveragePool', [x])], { axis: 1 });
  m.output(m.node('Softmax', [gemm(m, x, 2048, 1000)], { axis: 1 }), ['batch', 1000]);
  return m;
}

// Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (2014), column E.
function vgg19() {
  const m = new Model();
  const relu = (x) => m.node('Relu', [x]);
  let x = m.input('data', ['batch', 3, 224, 224]);
  let channels = 3;
  for (const [width, count] of [[64, 2], [128, 2], [256, 4], [512, 4], [512, 4]]) {
    for (let i = 0; i < count; ++i) {
      [x, channels] = conv(m, x, channels, width, 3);
      x = relu(x);
    }
    x = m.node('MaxPool', [x], { kernel_shape: [2, 2], strides: [2, 2] });
  }
  x = m.node('Flatten', [x], { axis: 1 });
  x = relu(gemm(m, x, 512 * 7 * 7, 4096));
  x = relu(gemm(m, x, 4096, 4096));
  m.output(m.node('Softmax', [gemm(m, x, 4096, 1000)], { axis: 1 }), ['batch', 1000]);
  return m;
}

/// What is measured, by name: a maker, and, where the two sides may differ by more than rounding does, the
/// difference allowed as a share of the greatest output.
export const models = {
  resnet50: { make: resnet50 },
  vgg19: { make: vgg19 },
};

/// The same of single operators.
export const operators = {
  'sgemm-512': { make: () => matmul(512, false) },
  'sgemm-512-constant': { make: () => matmul(512, true) },
  'sgemm-1024': { make: () => matmul(1024, false) },
  'sgemm-1024-constant': { make: () => matmul(1024, true) },
};
