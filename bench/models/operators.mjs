// Models of one operator, or of the few that stand for one.
import { Model } from './onnx.mjs';
import { gelu, layerNorm } from './layers.mjs';

const size = (dims) => dims.reduce((a, b) => a * b, 1);

/// One node: inputs by extents, or what make(m) returns, whose values lie in [low, high).
function one(op, inputs, attributes = {}, { outputs = 1, output = [], low = -2, high = 2, opset = 20 } = {}) {
  const m = new Model(opset);
  const names = inputs.map((input, k) =>
    (typeof input === 'function' ? input(m) : m.input(`x${k}`, input, { low, high })));
  const results = [m.node(op, names, attributes, { outputs })].flat();
  results.forEach((name, k) => m.output(name, (outputs === 1 ? output : output[k])));
  return m;
}

// Element by element, on as many floats as a feed-forward layer of BERT holds.
const wide = [1, 128, 3072];
const unary = (op, attributes, range) => () => one(op, [wide], attributes, { output: wide, ...range });
const binary = (op, range) => () => one(op, [wide, wide], {}, { output: wide, ...range });

function matmul([rows, inner, columns], constant) {
  const b = [inner, columns];
  return one('MatMul', [[rows, inner], constant ? (m) => m.weight(b, -1, 1) : b], {}, {
    output: [rows, columns], low: -1, high: 1,
  });
}

function halfMatmul(n) {
  const m = new Model();
  const names = ['a', 'b'].map((name) => m.input(name, [n, n], { type: 'float16', low: -1 }));
  m.output(m.node('MatMul', names), [n, n], 'float16');
  return m;
}

function integerMatmul(a, b, n = 512) {
  const m = new Model();
  const range = { int8: [-127, 128], uint8: [0, 256], int32: [-1000, 1000] };
  const input = (name, type) => m.input(name, [n, n], { type, low: range[type][0], high: range[type][1] });
  const names = [input('a', a), input('b', b)];
  m.output(m.node(a === 'int32' ? 'MatMul' : 'MatMulInteger', names), [n, n], 'int32');
  return m;
}

function conv(x, outputs, kernel, { stride = 1, group = 1, bias = true } = {}) {
  const spatial = x.slice(2);
  const channels = x[1];
  const limit = Math.sqrt(3 / ((channels / group) * size(kernel)));
  const pads = kernel.map((k) => k >> 1);
  return one('Conv', [
    x, (m) => m.weight([outputs, channels / group, ...kernel], -limit, limit),
    ...(bias ? [(m) => m.weight([outputs], -0.1, 0.1)] : []),
  ], { kernel_shape: kernel, strides: kernel.map(() => stride), pads: [...pads, ...pads], group }, {
    output: [x[0], outputs, ...spatial.map((s, i) => Math.floor((s + 2 * pads[i] - kernel[i]) / stride) + 1)],
  });
}

// Scores of 12 heads, a quarter of them masked by -100, whose exponentials are denormal numbers.
function maskedSoftmax() {
  const dims = [1, 12, 128, 128];
  const m = new Model();
  const values = Array.from({ length: 128 }, (_, i) => (i < 96 ? 0 : -100));
  const mask = m.input('mask', [1, 1, 1, 128], { values });
  m.output(m.node('Softmax', [m.node('Add', [m.input('x', dims, { low: -2, high: 2 }), mask])], { axis: -1 }), dims);
  return m;
}

function built(dims, build, opset = 17) {
  const m = new Model(opset);
  m.output(build(m, m.input('x', dims, { low: -2, high: 2 })), dims);
  return m;
}

// Six operators that are each nothing but memory traffic on 16 million floats.
const sixOperators = () => built([16, 1 << 20], (m, x) => {
  x = m.node('Mul', [x, m.constant(1.5)]);
  x = m.node('Add', [x, m.constant(0.25)]);
  x = m.node('Abs', [x]);
  x = m.node('Sqrt', [x]);
  x = m.node('Sub', [x, m.constant(0.5)]);
  return m.node('Relu', [x]);
});

const transpose = (dims, perm) => () => one('Transpose', [dims], { perm }, { output: perm.map((p) => dims[p]) });
const reduce = (op, dims, axis) => () => one(op, [dims, (m) => m.constant([axis], 'int64')], { keepdims: 0 }, {
  output: dims.filter((_, i) => i !== axis),
});
const indices = (count, below) => (m) =>
  m.constant(Array.from({ length: count }, (_, i) => (i * 7919) % below), 'int64');
const ints = (...values) => (m) => m.constant(values, 'int64');

const rows = [512, 768];
const scale = (m) => m.weight([768], 0.8, 1.2);
const shift = (m) => m.weight([768], -0.1, 0.1);

const products = [
  [256, 256, 256], [512, 512, 512], [1024, 1024, 1024], [1, 4096, 4096], [8, 4096, 4096], [4096, 4096, 1],
  [32, 1024, 1024], [196, 768, 3072],
];
const entries = products.flatMap((extents) => {
  const name = `sgemm-${new Set(extents).size === 1 ? extents[0] : extents.join('x')}`;
  return [[name, () => matmul(extents, false)], [`${name}-constant`, () => matmul(extents, true)]];
});

/// Makers by name.
export const makers = {
  ...Object.fromEntries(entries),
  'matmul-fp16-512': () => halfMatmul(512),
  'matmul-u8s8-512': () => integerMatmul('uint8', 'int8'),
  'matmul-s8s8-512': () => integerMatmul('int8', 'int8'),
  'matmul-u8u8-512': () => integerMatmul('uint8', 'uint8'),
  'matmul-int32-256': () => integerMatmul('int32', 'int32', 256),

  'conv-3x3-64-56': () => conv([1, 64, 56, 56], 64, [3, 3]),
  'conv-1x1-256-64-56': () => conv([1, 256, 56, 56], 64, [1, 1]),
  'conv-7x7-stem': () => conv([1, 3, 224, 224], 64, [7, 7], { stride: 2 }),
  'conv-depthwise-144-56': () => conv([1, 144, 56, 56], 144, [3, 3], { group: 144 }),
  'conv-depthwise-stride-2': () => conv([1, 96, 112, 112], 96, [3, 3], { group: 96, stride: 2 }),
  'conv-depthwise-1d': () => conv([1, 512, 256], 512, [9], { group: 512 }),
  'conv-grouped': () => conv([1, 128, 56, 56], 128, [3, 3], { group: 8 }),
  'conv-one-output': () => conv([1, 64, 112, 112], 1, [3, 3]),

  add: binary('Add'),
  'add-bias': () => one('Add', [rows, [768]], {}, { output: rows }),
  pow: binary('Pow', { low: 0.5, high: 2 }),
  mod: () => one('Mod', [wide, wide], { fmod: 1 }, { output: wide, low: 0.5, high: 20 }),
  prelu: () => one('PRelu', [[1, 64, 112, 112], (m) => m.weight([64, 1, 1], 0, 0.3)], {}, {
    output: [1, 64, 112, 112],
  }),
  exp: unary('Exp'),
  erf: unary('Erf'),
  tanh: unary('Tanh'),
  sigmoid: unary('Sigmoid'),
  sqrt: unary('Sqrt', {}, { low: 0, high: 10 }),
  softplus: unary('Softplus'),
  mish: unary('Mish'),
  sinh: unary('Sinh'),
  gelu: unary('Gelu'),
  'gelu-exported': () => built(wide, gelu),
  'six-operators-16m': sixOperators,

  softmax: () => one('Softmax', [[1, 12, 128, 128]], { axis: -1 }, { output: [1, 12, 128, 128] }),
  'softmax-wide': () => one('Softmax', [[128, 4096]], { axis: -1 }, { output: [128, 4096] }),
  'softmax-masked': maskedSoftmax,
  'layer-norm': () => one('LayerNormalization', [rows, scale, shift], {}, { output: rows }),
  'layer-norm-exported': () => built(rows, (m, x) => layerNorm(m, x, 768)),
  'reduce-mean-rows': reduce('ReduceMean', rows, 1),
  'reduce-sum-columns': reduce('ReduceSum', rows, 0),
  'reduce-log-sum-exp': reduce('ReduceLogSumExp', rows, 1),
  lrn: () => one('LRN', [[1, 64, 56, 56]], { size: 5, alpha: 1e-4, beta: 0.75 }, { output: [1, 64, 56, 56] }),
  'resize-cubic': () => one('Resize', [[1, 3, 224, 224], () => '', (m) => m.constant([1, 1, 2, 2])], {
    mode: 'cubic', coordinate_transformation_mode: 'half_pixel',
  }, { output: [1, 3, 448, 448] }),

  'transpose-12-128-128': transpose([12, 128, 128], [0, 2, 1]),
  'transpose-512-768': transpose(rows, [1, 0]),
  'transpose-1-512-768': transpose([1, 512, 768], [0, 2, 1]),
  'transpose-heads': transpose([1, 512, 12, 64], [0, 2, 1, 3]),
  'transpose-reverse': transpose([16, 32, 24, 40], [3, 2, 1, 0]),
  concat: () => one('Concat', [rows, rows, rows], { axis: 1 }, { output: [512, 3 * 768] }),
  slice: () => one('Slice', [rows, ints(64), ints(704), ints(1)], {}, { output: [512, 640] }),
  'gather-rows': () => one('Gather', [[30522, 768], indices(512, 30522)], { axis: 0 }, { output: rows }),
  'gather-columns': () => one('Gather', [rows, indices(256, 768)], { axis: 1 }, { output: [512, 256] }),
  pad: () => one('Pad', [[1, 64, 56, 56], ints(0, 0, 1, 1, 0, 0, 1, 1)], {}, { output: [1, 64, 58, 58] }),
  split: () => one('Split', [[512, 3 * 768], ints(768, 768, 768)], { axis: 1 }, {
    outputs: 3, output: [rows, rows, rows],
  }),
};

/// The same in oneDNN, where it has it, in the words of bench/dnnl.cc.
export const dnnl = {
  ...Object.fromEntries(products.flatMap((extents, k) => ['varying', 'constant'].map((kind, i) =>
    [entries[2 * k + i][0], `matmul f32 ${extents.join('x')} ${kind}`]))),
  'matmul-u8s8-512': 'matmul u8s8 512x512x512 varying',
  'matmul-s8s8-512': 'matmul s8s8 512x512x512 varying',
  'conv-3x3-64-56': 'convolution 1x64x56x56 64x3x3 1 1',
  'conv-1x1-256-64-56': 'convolution 1x256x56x56 64x1x1 1 1',
  'conv-7x7-stem': 'convolution 1x3x224x224 64x7x7 2 1',
  'conv-depthwise-144-56': 'convolution 1x144x56x56 144x3x3 1 144',
  'conv-depthwise-stride-2': 'convolution 1x96x112x112 96x3x3 2 96',
  'conv-depthwise-1d': 'convolution 1x512x256 512x9 1 512',
  'conv-grouped': 'convolution 1x128x56x56 128x3x3 1 8',
  'conv-one-output': 'convolution 1x64x112x112 1x3x3 1 1',
  add: 'add 1x128x3072 1x128x3072',
  'add-bias': 'add 512x768 1x768',
  exp: 'eltwise exp 1x128x3072',
  tanh: 'eltwise tanh 1x128x3072',
  sigmoid: 'eltwise logistic 1x128x3072',
  sqrt: 'eltwise sqrt 1x128x3072',
  softplus: 'eltwise soft_relu 1x128x3072',
  mish: 'eltwise mish 1x128x3072',
  gelu: 'eltwise gelu_erf 1x128x3072',
  softmax: 'softmax 1x12x128x128',
  'softmax-wide': 'softmax 128x4096',
  'layer-norm': 'layer_normalization 512x768',
  'reduce-mean-rows': 'reduce mean 512x768 1',
  'reduce-sum-columns': 'reduce sum 512x768 0',
};
