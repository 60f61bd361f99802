// Networks for text.
import { Model } from './onnx.mjs';
import { bound, gelu, layerNorm, linear } from './layers.mjs';

// A product as dynamic quantisation writes it: the activations get their scale in the run.
function quantizedLinear(m, x, inputs, outputs) {
  const [quantized, scale, zero] = m.node('DynamicQuantizeLinear', [x], {}, { outputs: 3 });
  const { name, deviations: [deviation] } = m.quantizedWeight([inputs, outputs]);
  const product = m.node('MatMulInteger', [quantized, name, zero, m.constant(0, 'int8')]);
  const scales = m.node('Mul', [scale, m.constant(bound(inputs) / Math.sqrt(3) / deviation)]);
  const y = m.node('Mul', [m.node('Cast', [product], { to: 1 }), scales]);
  return m.node('Add', [y, m.weight([outputs], -0.1, 0.1)]);
}

// (batch, sequence, heads · 64) to (batch, heads, sequence, 64), and back.
function toHeads(m, x, heads, perm = [0, 2, 1, 3]) {
  return m.node('Transpose', [m.node('Reshape', [x, m.constant([0, 0, heads, 64], 'int64')])], { perm });
}
function fromHeads(m, x, width) {
  return m.node('Reshape', [m.node('Transpose', [x], { perm: [0, 2, 1, 3] }), m.constant([0, 0, width], 'int64')]);
}

// Devlin, Chang, Lee, Toutanova: BERT (2018), base, as PyTorch exports it: normalisation, GELU and attention in
// elementary operators, batch and sequence unknown.
export function bert({ quantized = false } = {}) {
  const m = new Model(14);
  const [width, heads, layers, words, longest] = [768, 12, 12, 30522, 512];
  const dims = ['batch', 'sequence'];
  const at = [1, 128];
  const ids = m.input('input_ids', dims, { type: 'int64', at, high: words });
  const present = Array.from({ length: 128 }, (_, i) => Number(i < 112));
  const mask = m.input('attention_mask', dims, { type: 'int64', at, values: present });
  const kinds = m.input('token_type_ids', dims, { type: 'int64', at });
  const product = quantized ? quantizedLinear : linear;

  const length = m.node('Unsqueeze', [
    m.node('Gather', [m.node('Shape', [ids]), m.constant(1, 'int64')], { axis: 0 }), m.constant([0], 'int64'),
  ]);
  const positions = m.node('Slice', [
    m.constant(Array.from({ length: longest }, (_, i) => i), 'int64', [1, longest]), m.constant([0], 'int64'), length,
    m.constant([1], 'int64'),
  ]);
  const embed = (rows, of) => m.node('Gather', [m.weight([rows, width], -1, 1), of], { axis: 0 });
  let x = m.node('Add', [embed(words, ids), embed(2, kinds)]);
  x = layerNorm(m, m.node('Add', [x, embed(longest, positions)]), width);
  const wide = m.node('Unsqueeze', [m.node('Unsqueeze', [mask, m.constant([1], 'int64')]), m.constant([2], 'int64')]);
  const masked = m.node('Mul', [
    m.node('Sub', [m.constant(1), m.node('Cast', [wide], { to: 1 })]), m.constant(-10000),
  ]);
  for (let layer = 0; layer < layers; ++layer) {
    const query = toHeads(m, product(m, x, width, width), heads);
    const key = toHeads(m, product(m, x, width, width), heads, [0, 2, 3, 1]);
    const value = toHeads(m, product(m, x, width, width), heads);
    let scores = m.node('Div', [m.node('MatMul', [query, key]), m.constant(8)]);
    scores = m.node('Softmax', [m.node('Add', [scores, masked])], { axis: -1 });
    const attended = fromHeads(m, m.node('MatMul', [scores, value]), width);
    x = layerNorm(m, m.node('Add', [product(m, attended, width, width), x]), width);
    const inner = gelu(m, product(m, x, width, 4 * width));
    x = layerNorm(m, m.node('Add', [product(m, inner, 4 * width, width), x]), width);
  }
  m.output(x, [...dims, width]);
  const first = m.node('Gather', [x, m.constant(0, 'int64')], { axis: 1 });
  const limit = bound(width);
  const pooled = m.node('Gemm', [first, m.weight([width, width], -limit, limit), m.weight([width], -0.1, 0.1)], {
    transB: 1,
  });
  m.output(m.node('Tanh', [pooled]), ['batch', width]);
  return m;
}

// Radford and others: Language Models are Unsupervised Multitask Learners (2019), small: one token after 256 others,
// whose keys and values are inputs.
export function gpt2() {
  const m = new Model(14);
  const [width, heads, layers, words, past] = [768, 12, 12, 50257, 256];
  const ids = m.input('input_ids', ['batch', 'sequence'], { type: 'int64', high: words });
  const positions = m.input('position_ids', ['batch', 'sequence'], { type: 'int64', values: [past] });
  const pair = ['key', 'value'];
  const pasts = Array.from({ length: layers }, (_, layer) => pair.map((kind) =>
    m.input(`past_key_values.${layer}.${kind}`, ['batch', heads, 'past', 64], { at: [1, heads, past, 64], low: -1 })));
  const embed = (rows, of) => m.node('Gather', [m.weight([rows, width], -1, 1), of], { axis: 0 });
  // Conv1D, in transformers' words: a Gemm between two Reshapes.
  const project = (x, inputs, outputs) => {
    const limit = bound(inputs);
    const y = m.node('Gemm', [
      m.node('Reshape', [x, m.constant([-1, inputs], 'int64')]), m.weight([inputs, outputs], -limit, limit),
      m.weight([outputs], -0.1, 0.1),
    ]);
    return m.node('Reshape', [y, m.constant([1, -1, outputs], 'int64')]);
  };
  // 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
  const gelu = (x) => {
    const cube = m.node('Mul', [m.node('Pow', [x, m.constant(3)]), m.constant(0.044715)]);
    const inner = m.node('Mul', [m.node('Add', [x, cube]), m.constant(Math.sqrt(2 / Math.PI))]);
    const gate = m.node('Add', [m.node('Tanh', [inner]), m.constant(1)]);
    return m.node('Mul', [m.node('Mul', [x, m.constant(0.5)]), gate]);
  };
  let x = m.node('Add', [embed(words, ids), embed(1024, positions)]);
  const presents = [];
  for (const [pastKey, pastValue] of pasts) {
    const [query, key, value] = m.node('Split', [
      project(layerNorm(m, x, width), width, 3 * width), m.constant([width, width, width], 'int64'),
    ], { axis: 2 }, { outputs: 3 });
    const keys = m.node('Concat', [pastKey, toHeads(m, key, heads)], { axis: 2 });
    const values = m.node('Concat', [pastValue, toHeads(m, value, heads)], { axis: 2 });
    presents.push(keys, values);
    const scores = m.node('Div', [
      m.node('MatMul', [toHeads(m, query, heads), m.node('Transpose', [keys], { perm: [0, 1, 3, 2] })]), m.constant(8),
    ]);
    const attended = m.node('MatMul', [m.node('Softmax', [scores], { axis: -1 }), values]);
    x = m.node('Add', [project(fromHeads(m, attended, width), width, width), x]);
    const inner = gelu(project(layerNorm(m, x, width), width, 4 * width));
    x = m.node('Add', [x, project(inner, 4 * width, width)]);
  }
  const limit = bound(width);
  const logits = m.node('MatMul', [layerNorm(m, x, width), m.weight([width, words], -limit, limit)]);
  m.output(logits, ['batch', 'sequence', words]);
  for (const present of presents) m.output(present, ['batch', heads, 'total', 64]);
  return m;
}

// A block of Llama 3.2 1B in opset 23: `tokens` tokens after `past` others. Weights are `type`, or 'int4' with a
// float scale for 32 of them.
export function llamaBlock({ type = 'float', tokens = 1, past = 512 } = {}) {
  const m = new Model(23);
  const [width, heads, pairs, head, inner] = [2048, 32, 8, 64, 8192];
  const element = type === 'int4' ? 'float' : type;
  const product = (x, inputs, outputs) => {
    const limit = bound(inputs);
    if (type !== 'int4') return m.node('MatMul', [x, m.weight([inputs, outputs], -limit, limit, element)]);
    const weights = m.node('DequantizeLinear', [
      m.weight([inputs, outputs], -7, 8, 'int4'), m.weight([inputs / 32, outputs], limit / 9, limit / 6),
    ], { axis: 0, block_size: 32 });
    return m.node('MatMul', [x, weights]);
  };
  const norm = (x) => m.node('RMSNormalization', [x, m.weight([width], 0.8, 1.2, element)], {
    axis: -1, epsilon: 1e-5,
  });
  const angles = (f) => m.constant(Array.from({ length: 1024 * head / 2 }, (_, i) =>
    f(Math.floor(i / (head / 2)) * 500000 ** (-(i % (head / 2)) / (head / 2)))), element, [1024, head / 2]);
  const cosines = angles(Math.cos);
  const sines = angles(Math.sin);

  const x = m.input('x', ['batch', 'sequence', width], { type: element, at: [1, tokens, width], low: -1 });
  const positions = m.input('position_ids', ['batch', 'sequence'], {
    type: 'int64', at: [1, tokens], values: Array.from({ length: tokens }, (_, i) => past + i),
  });
  const cache = (name) => m.input(name, ['batch', pairs, 'past', head], {
    type: element, at: [1, pairs, past, head], low: -1,
  });
  const before = past === 0 ? [] : ['', cache('past_key'), cache('past_value')];
  const turn = (y, count) => m.node('RotaryEmbedding', [y, cosines, sines, positions], { num_heads: count });
  const normal = norm(x);
  const [attended, ...presents] = m.node('Attention', [
    turn(product(normal, width, width), heads), turn(product(normal, width, pairs * head), pairs),
    product(normal, width, pairs * head), ...before,
  ], { q_num_heads: heads, kv_num_heads: pairs, is_causal: Number(tokens > 1), scale: 1 / 8 }, { outputs: 3 });
  const middle = m.node('Add', [x, product(attended, width, width)]);
  const normed = norm(middle);
  const gate = product(normed, width, inner);
  const gated = m.node('Mul', [m.node('Mul', [gate, m.node('Sigmoid', [gate])]), product(normed, width, inner)]);
  m.output(m.node('Add', [middle, product(gated, inner, width)]), ['batch', 'sequence', width], element);
  for (const present of presents) m.output(present, ['batch', pairs, 'total', head], element);
  return m;
}

/// The steps for which language models have angles.
export const longestText = 4096;

/// The extents of language models that bench/compare decodes with.
export const decoders = {
  small: { layers: 8, width: 1024, heads: 16, pairs: 4, inner: 4096, words: 32000 },
  'llama-3.2-1b': { layers: 16, width: 2048, heads: 32, pairs: 8, inner: 8192, words: 128256 },
};

/// Inputs, outputs and number of the products of a step. Queries, keys and values are one product.
export function decoderProducts({ layers, width, heads, pairs, inner, words }) {
  const head = 64;
  return [
    [width, (heads + 2 * pairs) * head, layers], [heads * head, width, layers], [width, inner, 2 * layers],
    [inner, width, layers], [width, words, 1],
  ];
}

// A Llama as ONNX Runtime GenAI's builder writes it for processors, in int4: MatMulNBits with a scale for 32 weights,
// and GroupQueryAttention, whose present is the past's memory. `rounds`: activations may be rounded to bytes.
export function decoder({ layers, width, heads, pairs, inner, words }, rounds) {
  const m = new Model(21);
  const [head, longest, domain] = [64, longestText, 'com.microsoft'];
  const ids = m.input('input_ids', ['batch', 'sequence'], { type: 'int64' });
  const mask = m.input('attention_mask', ['batch', 'total'], { type: 'int64' });
  const int32 = (x) => m.node('Cast', [x], { to: 6 });
  const counted = m.node('ReduceSum', [mask, m.constant([1], 'int64')], { keepdims: 0 });
  const lengths = int32(m.node('Sub', [counted, m.constant([1], 'int64')]));
  const total = int32(m.node('Gather', [m.node('Shape', [mask]), m.constant(1, 'int64')], { axis: 0 }));
  const angles = (f) => m.constant(Array.from({ length: longest * head / 2 }, (_, i) =>
    f(Math.floor(i / (head / 2)) * 500000 ** (-(i % (head / 2)) / (head / 2)))), 'float', [longest, head / 2]);
  const [cosines, sines] = [angles(Math.cos), angles(Math.sin)];
  // Uniform integers from 1 to 15 have the deviation 4.3.
  const scales = (rows, columns, deviation) =>
    m.weight([rows, columns / 32], 0.7 * deviation / 4.3, 1.3 * deviation / 4.3);
  const product = (x, inputs, outputs, deviation = 1 / Math.sqrt(inputs)) => m.node('MatMulNBits', [
    x, m.packedWeight([outputs, inputs / 32, 16]), scales(outputs, inputs, deviation),
  ], { K: inputs, N: outputs, bits: 4, block_size: 32, ...(rounds ? { accuracy_level: 4 } : {}) }, { domain });
  const norm = { epsilon: 1e-5 };
  const scale = () => m.weight([width], 0.8, 1.2);
  const add = (x, y) => {
    const [normal, , , sum] = m.node('SkipSimplifiedLayerNormalization', [x, y, scale()], norm, {
      domain, outputs: [undefined, '', '', undefined],
    });
    return [normal, sum];
  };

  let x = m.node('GatherBlockQuantized', [
    m.packedWeight([words, width / 2]), ids, scales(words, width, 1),
  ], { bits: 4, block_size: 32 }, { domain });
  let normal = m.node('SimplifiedLayerNormalization', [x, scale()], { axis: -1, ...norm });
  for (let layer = 0; layer < layers; ++layer) {
    const [key, value] = ['key', 'value'].map((kind) =>
      m.input(`past_key_values.${layer}.${kind}`, ['batch', pairs, 'past', head]));
    const [attended] = m.node('GroupQueryAttention', [
      product(normal, width, (heads + 2 * pairs) * head), '', '', key, value, lengths, total, cosines, sines,
    ], { num_heads: heads, kv_num_heads: pairs, do_rotary: 1 }, {
      domain, outputs: [undefined, `present.${layer}.key`, `present.${layer}.value`],
    });
    for (const kind of ['key', 'value']) m.output(`present.${layer}.${kind}`, ['batch', pairs, 'rows', head]);
    [normal, x] = add(x, product(attended, heads * head, width));
    const gate = product(normal, width, inner);
    const gated = m.node('Mul', [m.node('Mul', [gate, m.node('Sigmoid', [gate])]), product(normal, width, inner)]);
    [normal, x] = add(x, product(gated, inner, width));
  }
  const logits = product(normal, width, words, 3 / Math.sqrt(width));
  m.output(m.node('Identity', [logits], {}, { outputs: ['logits'] }), ['batch', 'sequence', words]);
  return m;
}
