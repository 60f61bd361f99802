// Networks for images.
import { Model } from './onnx.mjs';
import { conv, convNorm, gemm, relu, swish } from './layers.mjs';

const pool = (m, x) => m.node('Flatten', [m.node('GlobalAveragePool', [x])], { axis: 1 });

// He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (2015), 50 layers; strides in the 3x3
// convolutions, which is called version 1.5.
export function resnet50() {
  const m = new Model(13);
  let x = relu(m, convNorm(m, m.input('data', ['batch', 3, 224, 224]), 3, 64, 7, 2));
  x = m.node('MaxPool', [x], { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] });
  let channels = 64;
  for (const [stage, blocks] of [3, 4, 6, 3].entries()) {
    const width = 64 << stage;
    for (let block = 0; block < blocks; ++block) {
      const stride = stage > 0 && block === 0 ? 2 : 1;
      let y = relu(m, convNorm(m, x, channels, width, 1));
      y = relu(m, convNorm(m, y, width, width, 3, stride));
      y = convNorm(m, y, width, 4 * width, 1);
      if (block === 0) x = convNorm(m, x, channels, 4 * width, 1, stride);
      channels = 4 * width;
      x = relu(m, m.node('Add', [y, x]));
    }
  }
  m.output(m.node('Softmax', [gemm(m, pool(m, x), 2048, 1000)], { axis: 1 }), ['batch', 1000]);
  return m;
}

// Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (2014), column E.
export function vgg19() {
  const m = new Model(13);
  let x = m.input('data', ['batch', 3, 224, 224]);
  let channels = 3;
  for (const [width, count] of [[64, 2], [128, 2], [256, 4], [512, 4], [512, 4]]) {
    for (let i = 0; i < count; ++i) {
      x = relu(m, conv(m, x, channels, width, 3));
      channels = width;
    }
    x = m.node('MaxPool', [x], { kernel_shape: [2, 2], strides: [2, 2] });
  }
  x = m.node('Flatten', [x], { axis: 1 });
  x = relu(m, gemm(m, x, 512 * 7 * 7, 4096));
  x = relu(m, gemm(m, x, 4096, 4096));
  m.output(m.node('Softmax', [gemm(m, x, 4096, 1000)], { axis: 1 }), ['batch', 1000]);
  return m;
}

// Sandler, Howard, Zhu, Zhmoginov, Chen: MobileNetV2 (2018).
export function mobilenetV2(batch) {
  const m = new Model();
  const relu6 = (x) => m.node('Clip', [x, m.constant(0), m.constant(6)]);
  let x = relu6(conv(m, m.input('data', [batch, 3, 224, 224]), 3, 32, 3, { stride: 2 }));
  for (const { channels, inner, width, stride } of mobilenetV2Blocks()) {
    let y = inner === channels ? x : relu6(conv(m, x, channels, inner, 1));
    y = relu6(conv(m, y, inner, inner, 3, { stride, group: inner }));
    y = conv(m, y, inner, width, 1, { gain: 0.7 });
    x = stride === 1 && channels === width ? m.node('Add', [x, y]) : y;
  }
  x = relu6(conv(m, x, 320, 1280, 1));
  m.output(gemm(m, pool(m, x), 1280, 1000), [batch, 1000]);
  return m;
}

/// The blocks of its table: channels that come in, within, and that go out.
export function mobilenetV2Blocks() {
  let channels = 32;
  return [
    [1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1],
  ].flatMap(([expansion, width, count, first]) => Array.from({ length: count }, (_, block) => {
    const inner = channels * expansion;
    const made = { channels, inner, width, stride: block === 0 ? first : 1 };
    channels = width;
    return made;
  }));
}

// Tan, Le: EfficientNet (2019), B0: Swish, and squeeze-and-excitation in every block.
export function efficientNet() {
  const m = new Model();
  let x = swish(m, conv(m, m.input('data', ['batch', 3, 224, 224]), 3, 32, 3, { stride: 2 }));
  let channels = 32;
  const table = [
    [1, 16, 1, 1, 3], [6, 24, 2, 2, 3], [6, 40, 2, 2, 5], [6, 80, 3, 2, 3], [6, 112, 3, 1, 5], [6, 192, 4, 2, 5],
    [6, 320, 1, 1, 3],
  ];
  for (const [expansion, width, blocks, first, kernel] of table) {
    for (let block = 0; block < blocks; ++block) {
      const stride = block === 0 ? first : 1;
      const inner = channels * expansion;
      let y = expansion === 1 ? x : swish(m, conv(m, x, channels, inner, 1));
      y = swish(m, conv(m, y, inner, inner, kernel, { stride, group: inner }));
      const squeezed = swish(m, conv(m, m.node('GlobalAveragePool', [y]), inner, channels >> 2, 1));
      y = m.node('Mul', [y, m.node('Sigmoid', [conv(m, squeezed, channels >> 2, inner, 1)])]);
      y = conv(m, y, inner, width, 1, { gain: 1.4 });
      x = stride === 1 && channels === width ? m.node('Add', [y, x]) : y;
      channels = width;
    }
  }
  x = swish(m, conv(m, x, channels, 1280, 1));
  m.output(gemm(m, pool(m, x), 1280, 1000), ['batch', 1000]);
  return m;
}

// A detector after Ultralytics' YOLOv5, its smallest size, at 416x416: cross-stage blocks, pyramid pooling, a path
// that enlarges by Resize and one back down, three heads, boxes by non-maximum suppression.
export function yolo() {
  const m = new Model();
  const side = 416;
  const classes = 80;
  const concat = (...parts) => m.node('Concat', parts, { axis: 1 });
  const unit = (x, from, to, kernel, stride = 1) => swish(m, conv(m, x, from, to, kernel, { stride, gain: 1.05 }));
  const crossStage = (x, from, to, blocks, shortcut = true) => {
    const half = to >> 1;
    let a = unit(x, from, half, 1);
    for (let i = 0; i < blocks; ++i) {
      const y = unit(unit(a, half, half, 1), half, half, 3);
      a = shortcut ? m.node('Add', [a, y]) : y;
    }
    return unit(concat(a, unit(x, from, half, 1)), to, to, 1);
  };
  const enlarge = (x) => m.node('Resize', [x, '', m.constant([1, 1, 2, 2])], {
    mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor',
  });

  let x = unit(m.input('images', [1, 3, side, side]), 3, 16, 5, 2);
  x = crossStage(unit(x, 16, 32, 3, 2), 32, 32, 1);
  const p3 = crossStage(unit(x, 32, 64, 3, 2), 64, 64, 2);
  const p4 = crossStage(unit(p3, 64, 128, 3, 2), 128, 128, 3);
  x = crossStage(unit(p4, 128, 256, 3, 2), 256, 256, 1);
  x = unit(x, 256, 128, 1);
  const pools = [x];
  for (let i = 0; i < 3; ++i) {
    pools.push(m.node('MaxPool', [pools[i]], { kernel_shape: [5, 5], strides: [1, 1], pads: [2, 2, 2, 2] }));
  }
  const top = unit(unit(concat(...pools), 512, 256, 1), 256, 128, 1);
  const middle = unit(crossStage(concat(enlarge(top), p4), 256, 128, 1, false), 128, 64, 1);
  const fine = crossStage(concat(enlarge(middle), p3), 128, 64, 1, false);
  const medium = crossStage(concat(unit(fine, 64, 64, 3, 2), middle), 128, 128, 1, false);
  const coarse = crossStage(concat(unit(medium, 128, 128, 3, 2), top), 256, 256, 1, false);

  const sizes = [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]];
  const heads = [[fine, 64, 8], [medium, 128, 16], [coarse, 256, 32]].map(([y, width, stride], level) => {
    const cells = side / stride;
    const values = 5 + classes;
    // As they start training: objects are rare.
    const bias = m.constant(Array.from({ length: 3 * values }, (_, i) => (i % values < 4 ? 0 : -2.5)));
    y = conv(m, y, width, 3 * values, 1, { bias, gain: 14 });
    y = m.node('Reshape', [y, m.constant([1, 3, values, cells, cells], 'int64')]);
    y = m.node('Sigmoid', [m.node('Transpose', [y], { perm: [0, 1, 3, 4, 2] })]);
    const [centre, extent, score] = m.node('Split', [y, m.constant([2, 2, 1 + classes], 'int64')], { axis: 4 },
      { outputs: 3 });
    const grid = m.constant(Array.from({ length: cells * cells * 2 }, (_, i) =>
      (i % 2 ? Math.floor(i / 2 / cells) : (i / 2 | 0) % cells) - 0.5), 'float', [1, 1, cells, cells, 2]);
    const at = m.node('Mul', [m.node('Add', [m.node('Mul', [centre, m.constant(2)]), grid]), m.constant(stride)]);
    const anchors = m.constant(sizes[level], 'float', [1, 3, 1, 1, 2]);
    const by = m.node('Mul', [m.node('Pow', [m.node('Mul', [extent, m.constant(2)]), m.constant(2)]), anchors]);
    return m.node('Reshape', [m.node('Concat', [at, by, score], { axis: 4 }), m.constant([1, -1, values], 'int64')]);
  });
  const all = m.node('Concat', heads, { axis: 1 });
  m.output(all, [1, 'boxes', 5 + classes]);
  const [boxes, object, classScores] = m.node('Split', [all, m.constant([4, 1, classes], 'int64')], { axis: 2 },
    { outputs: 3 });
  const scores = m.node('Transpose', [m.node('Mul', [object, classScores])], { perm: [0, 2, 1] });
  const selected = m.node('NonMaxSuppression', [
    boxes, scores, m.constant([100], 'int64'), m.constant([0.45]), m.constant([0.25]),
  ], { center_point_box: 1 });
  m.output(selected, ['selected', 3], 'int64');
  return m;
}
