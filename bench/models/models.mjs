// What bench/compare measures by default. An entry holds `make`, and, where the two sides may differ by more than
// rounding of floats does, `tolerance`: the greatest difference allowed, as a share of the greatest output; and
// `unstable`: the outputs that follow from an order among nearly equal values, which are not compared;
// `dnnl`: the same in the words of bench/dnnl.cc.
import { bert, gpt2, llamaBlock } from './language.mjs';
import { dnnl, makers } from './operators.mjs';
import { mobilenetV2Qdq, resnet50Qdq } from './quantized.mjs';
import { branches, chain, lstm, mlp, trees } from './small.mjs';
import { efficientNet, mobilenetV2, resnet50, vgg19, yolo } from './vision.mjs';

export const models = {
  resnet50: { make: resnet50, compiled: ['batch=1'] },
  vgg19: { make: vgg19 },
  mobilenetv2: { make: () => mobilenetV2(1), compiled: [] },
  'mobilenetv2-dynamic': { make: () => mobilenetV2('batch') },
  efficientnet: { make: efficientNet },
  yolo: { make: yolo, tolerance: 1e-3, unstable: /^NonMaxSuppression/ },
  'bert-base-128': { make: bert },
  'gpt2-step': { make: gpt2 },
  'llama-block-64': { make: () => llamaBlock({ tokens: 64, past: 0 }) },
  'llama-block-step': { make: llamaBlock },
  'llama-block-step-fp16': { make: () => llamaBlock({ type: 'float16' }), tolerance: 1e-2 },
  'llama-block-step-int4': { make: () => llamaBlock({ type: 'int4' }), tolerance: 5e-2 },
  mlp: { make: () => mlp([784, 256, 128, 10]), compiled: [] },
  'mlp-16': { make: () => mlp([16, 16, 16, 16, 16]), compiled: [] },
  lstm: { make: lstm },
  'trees-1': { make: () => trees(1) },
  'trees-1000': { make: () => trees(1000) },
  'resnet50-qdq-s8s8': { make: () => resnet50Qdq('int8'), tolerance: 0.1 },
  'resnet50-qdq-u8s8': { make: () => resnet50Qdq('uint8'), tolerance: 0.1 },
  'mobilenetv2-qdq-s8s8': { make: () => mobilenetV2Qdq('int8'), tolerance: 0.1 },
  'mobilenetv2-qdq-u8s8': { make: () => mobilenetV2Qdq('uint8'), tolerance: 0.1 },
  'bert-base-128-int8': { make: () => bert({ quantized: true }), tolerance: 0.1 },
  'chain-1000': { make: () => chain(1000) },
  'branches-5000': { make: () => branches(5000) },
};

// ONNX Runtime's products of uint8 and int8 saturate in pairs where the processor has no VNNI.
const tolerances = { 'matmul-fp16-512': 1e-2, 'matmul-u8s8-512': 0.1 };

export const operators = Object.fromEntries(Object.entries(makers).map(([name, make]) =>
  [name, { make, dnnl: dnnl[name], tolerance: tolerances[name] }]));
