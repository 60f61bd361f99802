// Graphs of operators that ONNX Runtime's CPU has, drawn from a seed: of a few nodes, each of which takes results of
// earlier nodes where they suit it. All results are the graph's.
'use strict';
const cases = require('./cases.js');

// Numbers of a seed.
class Draw {
  constructor(seed) { this.state = Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995; }
  bits() {
    let h = this.state = this.state + 0x6d2b79f5 | 0;
    h = Math.imul(h ^ h >>> 15, h | 1);
    h ^= h + Math.imul(h ^ h >>> 7, h | 61);
    return (h ^ h >>> 14) >>> 0;
  }
  below(n) { return this.bits() % n; }
  between(low, high) { return low + this.below(high - low + 1); }
  of(list) { return list[this.below(list.length)]; }
  oneIn(n) { return this.below(n) === 0; }
  real(low, high) { return low + (high - low) * this.below(257) / 256; }
}

// ONNX Runtime's sums of bytes saturate beyond these limits of int8 on processors without VNNI.
const limits = {uint8: [0, 255], int8: [-64, 63], int16: [-300, 300], int32: [-100, 100], int64: [0, 1], bool: [0, 1]};
const size = extents => extents.reduce((a, b) => a * b, 1);

class Graph {
  constructor(draw) {
    Object.assign(this, {draw, pool: [], nodes: [], names: [], constants: [], inputs: [], outputs: [], feeds: {}});
  }
  // A new operand of these extents, a constant or an input.
  fresh(type, extents, low, high) {
    const d = this.draw, real = type.startsWith('float');
    const [least, most] = low !== undefined ? [low, high] : real ? [-2, 2] : limits[type];
    return this.given(type, extents, Array.from({length: size(extents)}, () => real ? d.real(least, most) : d.between(least, most)));
  }
  given(type, extents, values, constant = this.draw.oneIn(2)) {
    const name = 'x' + (this.constants.length + this.inputs.length), t = {type, extents, values};
    if (constant) this.constants.push(cases.tensor(name, t));
    else {
      this.inputs.push(cases.value(name, type, extents));
      this.feeds[name] = t;
    }
    return {name, type, extents};
  }
  constant(type, extents, ...values) {
    while (values.length < size(extents)) values.push(values[values.length - 1]);
    return this.given(type, extents, values, true);
  }
  // An earlier result that suits, or a new operand of the extents that `make` gives.
  any(type, suits, make) {
    const found = this.pool.filter(v => v.type === type && suits(v.extents));
    return found.length && !this.draw.oneIn(3) ? this.draw.of(found) : this.fresh(type, make());
  }
  like(type, extents) { return this.any(type, e => String(e) === String(extents), () => extents); }
  // Adds a node; results are [type, extents], null for one left out.
  add(name, attributes, operands, results, domain = 'com.microsoft') {
    const outputs = results.map(r => {
      if (!r) return '';
      const value = {name: 'y' + this.outputs.length, type: r[0], extents: r[1], op: name};
      this.outputs.push(cases.value(value.name, value.type));
      this.pool.push(value);
      return value.name;
    });
    while (outputs[outputs.length - 1] === '') outputs.pop();
    this.names.push(name);
    const texts = Object.entries(attributes).filter(([, v]) => v !== undefined).map(([k, v]) => [k, text(v)]);
    this.nodes.push(cases.node(name, domain, texts, operands.map(o => o ? o.name : ''), outputs));
  }
  model() { return cases.model(this.nodes, this.constants, this.inputs, this.outputs, 17); }
}
// An attribute as cases state it: real(v) for a float.
const real = v => ({real: v});
function text(v) {
  if (Array.isArray(v)) return `[${v.map(text).join(';')}]`;
  if (typeof v === 'string') return `"${v}"`;
  if (typeof v === 'object') return /^-?\d+$/.test(v.real) ? v.real + '.0' : String(v.real);
  return String(v);
}

const maybe = (g, v) => g.draw.oneIn(2) ? undefined : v;
const optional = (g, make) => g.draw.oneIn(3) ? null : make();
const rank = (...ranks) => e => ranks.includes(e.length) && e.every(n => n > 0 && n < 100);
const shape = (g, n, most = 6) => () => Array.from({length: n}, () => g.draw.between(1, most));
const last = e => e[e.length - 1];
const byte = g => g.draw.of(['uint8', 'int8']);
const zero = (g, type, extents = []) => g.constant(type, extents, ...Array.from({length: size(extents)}, () => type === 'uint8' ? g.draw.between(90, 160) : g.draw.between(-20, 20)));
const scale = (g, low = 0.01, high = 0.08, extents = []) => g.constant('float', extents, ...Array.from({length: size(extents)}, () => g.draw.real(low, high)));
// A float tensor of rank 3 (batch, steps, heads * size).
function sequence(g, heads, least = 1, most = 6) {
  return g.any('float', e => rank(3)(e) && e[2] % heads === 0 && e[2] / heads >= least,
    () => [g.draw.between(1, 3), g.draw.between(1, 5), heads * g.draw.between(least, most)]);
}
const float = type => type === 'float' ? 'float' : 'float16';
const unary = (name, attributes) => g => {
  const x = g.any('float', rank(1, 2, 3, 4), shape(g, g.draw.between(1, 3)));
  g.add(name, attributes(g), [x], [['float', x.extents]]);
};
const biased = (name, needed) => g => {
  const x = g.any('float', rank(2, 3), shape(g, g.draw.between(2, 3)));
  g.add(name, {}, [x, needed || g.draw.oneIn(2) ? g.like('float', [last(x.extents)]) : null], [['float', x.extents]]);
};
const skip = (name, beta) => g => {
  const type = g.draw.oneIn(4) ? 'float16' : 'float', x = g.any(type, rank(2, 3), shape(g, g.draw.between(2, 3), 9)), n = [last(x.extents)];
  const e = x.extents.length === 3 && g.draw.oneIn(3) ? g.draw.of([x.extents.slice(1), [1, ...x.extents.slice(1)]]) : x.extents;
  const v = () => g.like(type, n);
  g.add(name, {epsilon: real(g.draw.of([1e-5, 0.01]))}, [x, g.like(type, e), v(), ...(beta ? [optional(g, v)] : []), optional(g, v)],
    [[type, x.extents], null, null, g.draw.oneIn(2) ? [type, x.extents] : null]);
};
const quantizedUnary = (name, attributes, least = 1) => g => {
  const type = byte(g), x = g.any(type, e => rank(1, 2, 3, 4)(e) && last(e) >= least, () => [...shape(g, g.draw.below(3))(), g.draw.between(least, 6)]);
  g.add(name, attributes(g), [x, scale(g), zero(g, type), scale(g, 0.004, 0.05), zero(g, type)], [[type, x.extents]]);
};
const quantizedBinary = name => g => {
  const type = byte(g), x = g.any(type, rank(1, 2, 3), shape(g, g.draw.between(1, 3))), e = x.extents.map(n => g.draw.oneIn(4) ? 1 : n).slice(g.draw.below(x.extents.length));
  g.add(name, {}, [x, scale(g), zero(g, type), g.like(type, e), scale(g), zero(g, type), scale(g, 0.03, 0.1), zero(g, type)], [[type, x.extents]]);
};
const experts = quantized => g => {
  const d = g.draw, bits = quantized ? d.of([2, 4, 8]) : 0, each = quantized ? 8 / bits : 1, n = d.between(2, 5), k = d.between(1, 2);
  const block = quantized && d.oneIn(2) ? d.of([16, 32]) : 0, activation = d.of(['relu', 'gelu', 'silu', 'identity', 'swiglu']);
  const unit = 4, hidden = unit * d.between(1, block ? 16 : 4), inter = unit * d.between(1, block ? 16 : 4), rows = activation === 'swiglu' ? 2 * inter : inter;
  const x = g.any('float', e => rank(2, 3)(e) && last(e) === hidden, () => d.oneIn(2) ? [d.between(1, 5), hidden] : [d.between(1, 2), d.between(1, 3), hidden]);
  const tokens = size(x.extents) / hidden, attributes = {k, activation_type: activation, swiglu_fusion: activation === 'swiglu' ? 1 : undefined,
    activation_alpha: activation === 'swiglu' ? real(1.5) : undefined, activation_beta: maybe(g, real(1)), swiglu_limit: maybe(g, real(3)), normalize_routing_weights: maybe(g, 1)};
  const bias = m => optional(g, () => g.fresh('float', [n, m]));
  const router = g.fresh('float', [tokens, n]);
  if (!quantized) {
    g.add('MoE', attributes, [x, router, g.fresh('float', [n, rows, hidden], -1, 1), bias(rows), g.fresh('float', [n, hidden, inter], -1, 1), bias(hidden)], [['float', x.extents]]);
    return;
  }
  const zeros = d.oneIn(2), most = 1 / 2 ** (bits - 1);
  // Rows of a layer have blocks if those of the first one have; ONNX Runtime misreads zero points of one block in fewer bits than 8.
  const divided = block && hidden > block, blind = divided && inter <= block && bits < 8;
  const layer = (m, columns) => {
    const blocks = divided ? Math.ceil(columns / block) : 1;
    return [g.fresh('uint8', [n, m, columns / each]), scaleOf([n, m, ...(block ? [blocks] : [])], most),
      zeros && !blind ? g.fresh('uint8', divided ? [n, m, Math.ceil(blocks / each)] : [n, Math.ceil(m / each)]) : null];
  };
  const scaleOf = (extents, high) => g.fresh('float', extents, 0, high);
  const [w1, s1, z1] = layer(rows, hidden), [w2, s2, z2] = layer(hidden, inter);
  g.add('QMoE', {...attributes, expert_weight_bits: bits, block_size: block || undefined},
    [x, router, w1, s1, bias(rows), w2, s2, bias(hidden), null, null, null, z1, z2, null, d.oneIn(3) ? g.fresh('float', [tokens, n], -0.5, 1) : null], [['float', x.extents]]);
};
const attention = quantized => g => {
  const d = g.draw, heads = d.between(1, 3), h = heads * d.between(1, 4), x = quantized
    ? g.any('uint8', rank(3), shape(g, 3, 5)) : g.any('float', rank(3), shape(g, 3, 5)), [b, s, inner] = x.extents;
  const sizes = !quantized && d.oneIn(3), v = sizes ? heads * d.between(1, 4) : h, all = 2 * h + v;
  const past = v === h && d.oneIn(2) ? d.between(0, 3) : -1, keys = s + Math.max(past, 0);
  const mask = d.of([() => null, () => g.given('int32', [b], Array.from({length: b}, () => d.between(1, keys))), () => g.fresh('int32', [b, keys], 0, 1),
    () => g.fresh('int32', [b, s, keys], 0, 1), () => g.fresh('int32', [d.of([1, b]), 1], 0, 1),
    () => g.given('int32', [2 * b], [...Array.from({length: b}, () => keys), ...Array.from({length: b}, () => d.below(keys))])])();
  const attributes = {num_heads: heads, unidirectional: maybe(g, 1), scale: maybe(g, real(0.5)), mask_filter_value: maybe(g, real(d.of([-10000, -2, -3.4028234663852886e38])))};
  const earlier = past >= 0 ? g.fresh('float', [2, b, heads, past, h / heads]) : null, bias = g.fresh('float', [all]);
  const results = [['float', [b, s, v]], past >= 0 || (v === h && d.oneIn(2)) ? ['float', [2, b, heads, keys, h / heads]] : null];
  if (quantized) {
    const w = byte(g), columns = d.oneIn(2) ? [all] : [];
    g.add('QAttention', attributes, [x, g.constant(w, [inner, all], ...Array.from({length: inner * all}, () => d.between(...limits[w]))), bias, scale(g), scale(g, 0.01, 0.03, columns), mask,
      zero(g, x.type), zero(g, w, w === 'int8' ? columns : []), earlier], results);
  } else {
    const plus = past < 0 && d.oneIn(3) ? g.fresh('float', [d.of([1, b]), d.of([1, heads]), s, keys]) : null;
    g.add('Attention', {...attributes, qkv_hidden_sizes: sizes ? [h, h, v] : undefined}, [x, g.fresh('float', [inner, all], -1, 1), bias, mask, earlier, plus], results);
  }
};

const operators = [
  unary('Gelu', () => ({})),
  unary('QuickGelu', g => ({alpha: maybe(g, real(g.draw.of([1, 0.5])))})),
  biased('BiasGelu', true),
  biased('FastGelu', false),
  skip('SkipLayerNormalization', true),
  skip('SkipSimplifiedLayerNormalization', false),
  g => {
    const x = g.any('float', rank(2, 3), shape(g, g.draw.between(2, 3))), axis = g.draw.between(-1, 0) || x.extents.length - 1;
    g.add('SimplifiedLayerNormalization', {axis, epsilon: maybe(g, real(0.01))}, [x, g.fresh('float', [last(x.extents)])], [['float', x.extents]], '');
  },
  g => {
    const d = g.draw, [b, s, h, words] = [d.between(1, 3), d.between(1, 4), d.between(1, 8), d.between(2, 6)], segments = d.oneIn(2), ids = (most, e = [b, s]) => g.fresh('int32', e, 0, most - 1);
    const positions = d.oneIn(3) ? ids(6, [d.of([1, b]), s]) : null, mask = d.oneIn(2) ? ids(2) : null, table = n => g.fresh('float', [n, h]);
    g.add('EmbedLayerNormalization', {epsilon: real(0.001)}, [ids(words), segments ? ids(2) : null, table(words), table(6), segments ? table(2) : null, g.fresh('float', [h]), g.fresh('float', [h]), mask, positions],
      [['float', [b, s, h]], ['int32', [b]]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(2, 3, 4), shape(g, d.between(2, 4))), transA = d.below(2), transB = d.below(2), e = x.extents, n = d.between(1, 6);
    const [m, k] = transA ? [last(e), e[e.length - 2]] : [e[e.length - 2], last(e)], batch = e.slice(0, -2), other = d.oneIn(2) ? [] : batch.map(v => d.oneIn(3) ? 1 : v);
    g.add('FusedMatMul', {transA, transB, alpha: maybe(g, real(0.5))}, [x, g.like('float', [...other, ...(transB ? [n, k] : [k, n])])], [['float', [...batch, m, n]]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(2), shape(g, 2)), transA = d.below(2), transB = d.below(2), n = d.between(1, 6), [m, k] = transA ? [x.extents[1], x.extents[0]] : x.extents;
    g.add('FusedGemm', {transA, transB, alpha: real(d.of([1, 0.5])), beta: real(d.of([1, 2])), activation: d.of(['Relu', 'Sigmoid', 'Tanh', 'LeakyRelu', 'Elu', 'Softplus', 'Softsign']), activation_alpha: real(0.25)},
      [x, g.like('float', transB ? [n, k] : [k, n]), optional(g, () => g.like('float', d.of([[n], [1, n], [m, 1], [m, n]])))], [['float', [m, n]]]);
  },
  g => {
    const d = g.draw, group = d.between(1, 2), kernel = d.between(1, 3), pad = d.below(kernel), m = group * d.between(1, 3);
    const x = g.any('float', e => rank(4)(e) && e[1] % group === 0 && e[2] >= kernel && e[3] >= kernel, () => [d.between(1, 2), group * d.between(1, 3), d.between(kernel, 6), d.between(kernel, 6)]);
    const stride = d.between(1, 2), y = [x.extents[0], m, ...x.extents.slice(2).map(n => Math.floor((n + 2 * pad - kernel) / stride) + 1)];
    const [activation, params] = d.of([['Relu'], ['Tanh'], ['Sigmoid'], ['LeakyRelu', [real(0.25)]], ['Clip', [real(-0.5), real(1)]], ['HardSigmoid', [real(0.25), real(0.5)]], ['HardSwish']]);
    g.add('FusedConv', {activation, activation_params: params, group, kernel_shape: [kernel, kernel], pads: [pad, pad, pad, pad], strides: [stride, stride]},
      [x, g.fresh('float', [m, x.extents[1] / group, kernel, kernel], -1, 1), optional(g, () => g.like('float', [m])), d.oneIn(3) ? g.like('float', y) : null], [['float', y]]);
  },
  quantizedUnary('QLinearSigmoid', () => ({})),
  quantizedUnary('QLinearLeakyRelu', g => ({alpha: maybe(g, real(0.1))})),
  // ONNX Runtime overflows, for some scales, where one number is all.
  quantizedUnary('QLinearSoftmax', g => ({opset: 13, axis: maybe(g, -1)}), 2),
  quantizedBinary('QLinearAdd'),
  quantizedBinary('QLinearMul'),
  g => {
    const d = g.draw, type = byte(g), x = g.any(type, rank(4), shape(g, 4, 5)), e = x.extents, kernel = e.slice(2).map(n => d.between(1, Math.min(n, 3)));
    g.add('QLinearAveragePool', {kernel_shape: kernel, count_include_pad: maybe(g, 1), pads: kernel.concat(kernel).map(n => d.below(n)).slice(0, 2).flatMap((v, i, a) => i ? [] : [0, 0, 0, 0])}, [x, scale(g), zero(g, type), scale(g), zero(g, type)],
      [[type, [e[0], e[1], e[2] - kernel[0] + 1, e[3] - kernel[1] + 1]]]);
  },
  g => {
    const type = byte(g), x = g.any(type, rank(4), shape(g, 4, 5)), lastly = g.draw.below(2), e = x.extents;
    g.add('QLinearGlobalAveragePool', {channels_last: lastly}, [x, scale(g), zero(g, type), scale(g), zero(g, type)], [[type, lastly ? [e[0], 1, 1, e[3]] : [e[0], e[1], 1, 1]]]);
  },
  g => {
    const type = byte(g), x = g.any(type, rank(1, 2, 3), shape(g, g.draw.between(1, 3))), q = () => [scale(g), zero(g, type)];
    g.add('QLinearWhere', {}, [g.fresh('bool', x.extents), x, ...q(), g.like(type, x.extents), ...q(), ...q()], [[type, x.extents]]);
  },
  g => {
    const type = byte(g), x = g.any(type, rank(1, 2, 3), shape(g, g.draw.between(1, 3))), axis = g.draw.below(x.extents.length), q = () => [scale(g), zero(g, type)], e = x.extents.slice();
    e[axis] = g.draw.between(1, 4);
    const y = e.slice();
    y[axis] += x.extents[axis];
    g.add('QLinearConcat', {axis}, [...q(), x, ...q(), g.like(type, e), ...q()], [[type, y]]);
  },
  g => {
    const d = g.draw, kernel = d.between(1, 3), pad = d.below(kernel), type = byte(g), w = type === 'int8' ? 'int8' : byte(g), m = d.between(1, 4), lastly = d.below(2), at = lastly ? 1 : 2;
    const x = g.any(type, e => rank(4)(e) && e[at] >= kernel && e[at + 1] >= kernel, () => lastly ? [1, d.between(kernel, 6), d.between(kernel, 6), d.between(1, 4)] : [1, d.between(1, 4), d.between(kernel, 6), d.between(kernel, 6)]);
    const c = lastly ? x.extents[3] : x.extents[1], s = x.extents.slice(at, at + 2).map(n => n + 2 * pad - kernel + 1), columns = d.oneIn(2) ? [m] : [];
    g.add('QLinearConv', {channels_last: lastly, kernel_shape: [kernel, kernel], pads: [pad, pad, pad, pad]}, [x, scale(g), zero(g, type),
      g.constant(w, [m, c, kernel, kernel], ...Array.from({length: m * c * kernel * kernel}, () => d.between(...limits[w]))), scale(g, 0.01, 0.05, columns), zero(g, w, []), scale(g, 0.2, 0.8), zero(g, type),
      optional(g, () => g.constant('int32', [m], ...Array.from({length: m}, () => d.between(-100, 100))))].map((o, k) => k === 5 && columns.length ? g.constant(w, columns, 0) : o), [[type, lastly ? [x.extents[0], ...s, m] : [x.extents[0], m, ...s]]]);
  },
  g => {
    const d = g.draw, type = byte(g), w = type === 'int8' ? 'int8' : byte(g), x = g.any(type, rank(2), shape(g, 2)), [transA, transB] = [d.below(2), d.below(2)], n = d.between(1, 6), [m, k] = transA ? [x.extents[1], x.extents[0]] : x.extents;
    const floats = d.oneIn(3);
    g.add('QGemm', {transA, transB, alpha: maybe(g, real(0.5))}, [x, scale(g), zero(g, type), g.fresh(w, transB ? [n, k] : [k, n]), scale(g), zero(g, w), optional(g, () => g.fresh('int32', [n])), ...(floats ? [] : [scale(g, 0.1, 0.5), zero(g, type)])],
      [[floats ? 'float' : type, [m, n]]]);
  },
  g => {
    const d = g.draw, type = byte(g), w = type === 'int8' ? 'int8' : byte(g), x = g.any(type, rank(2, 3), shape(g, d.between(2, 3))), n = d.between(1, 6), columns = d.oneIn(2) ? [n] : [];
    g.add('MatMulIntegerToFloat', {}, [x, g.fresh(w, [last(x.extents), n]), scale(g), scale(g, 0.01, 0.05, columns), optional(g, () => zero(g, type)), optional(g, () => zero(g, w)), optional(g, () => g.like('float', [n]))], [['float', [...x.extents.slice(0, -1), n]]]);
  },
  g => {
    const d = g.draw, w = byte(g), x = g.any('float', rank(2, 3), shape(g, d.between(2, 3))), n = d.between(1, 6), columns = d.oneIn(2) ? [n] : [];
    g.add('DynamicQuantizeMatMul', {}, [x, g.fresh(w, [last(x.extents), n]), scale(g, 0.01, 0.05, columns), optional(g, () => zero(g, w, columns)), optional(g, () => g.like('float', [n]))], [['float', [...x.extents.slice(0, -1), n]]]);
  },
  g => {
    const d = g.draw, type = byte(g), x = g.any('float', rank(1, 2, 3), shape(g, d.between(1, 3)));
    g.add('QuantizeLinear', {}, [x, scale(g), zero(g, type)], [[type, x.extents]]);
  },
  g => {
    const type = byte(g), x = g.any(type, rank(1, 2, 3), shape(g, g.draw.between(1, 3))), axis = g.draw.below(x.extents.length), n = [x.extents[axis]], each = g.draw.oneIn(2);
    g.add('DequantizeLinear', each ? {axis} : {}, [x, scale(g, 0.01, 0.08, each ? n : []), zero(g, type, each ? n : [])], [['float', x.extents]]);
  },
  g => {
    const d = g.draw, type = byte(g), x = g.any(type, rank(4), shape(g, 4, 6)), e = x.extents, kernel = [Math.min(e[1], d.between(1, 3)), Math.min(e[2], d.between(1, 3))];
    g.add('NhwcMaxPool', {kernel_shape: kernel}, [x], [[type, [e[0], e[1] - kernel[0] + 1, e[2] - kernel[1] + 1, e[3]]]]);
  },
  g => {
    const d = g.draw, w = byte(g), directions = d.between(1, 2), [s, b, i, h] = [d.between(1, 4), d.between(1, 3), d.between(1, 5), d.between(1, 5)], channel = d.oneIn(2) ? [directions, 4 * h] : [directions];
    const x = g.any('float', rank(3), () => [s, b, i]), [steps, batch, inner] = x.extents, matrix = rows => g.constant(w, [directions, rows, 4 * h], ...Array.from({length: directions * rows * 4 * h}, () => d.between(...limits[w])));
    const q = () => [scale(g, 0.005, 0.02, channel), zero(g, w, channel)].map((o, k) => k && channel.length > 1 ? g.constant(w, channel, 0) : o);
    g.add('DynamicQuantizeLSTM', {hidden_size: h, direction: directions === 2 ? 'bidirectional' : d.of(['forward', 'reverse']), input_forget: 0}, [x, matrix(inner), matrix(h), optional(g, () => g.fresh('float', [directions, 8 * h])),
      d.oneIn(3) ? g.given('int32', [batch], Array.from({length: batch}, () => d.between(1, steps))) : null, ...(d.oneIn(2) ? [g.fresh('float', [directions, batch, h]), g.fresh('float', [directions, batch, h])] : [null, null]),
      d.oneIn(3) ? g.fresh('float', [directions, 3 * h]) : null, ...q(), ...q()], [['float', [steps, directions, batch, h]], ['float', [directions, batch, h]], ['float', [directions, batch, h]]]);
  },
  g => {
    const d = g.draw, bits = d.of([2, 4, 8]), block = d.of([16, 32]), each = 8 / bits, n = d.between(1, 6), x = g.any('float', rank(2, 3), () => [...shape(g, d.between(1, 2))(), d.between(1, 70)]), k = last(x.extents), blocks = Math.ceil(k / block);
    g.add('MatMulNBits', {K: k, N: n, bits, block_size: block}, [x, g.constant('uint8', [n, blocks, block / each], ...Array.from({length: n * blocks * block / each}, () => d.below(256))), g.fresh('float', [n, blocks], 0, 1 / 2 ** (bits - 1)),
      d.oneIn(2) ? g.constant('uint8', [n, Math.ceil(blocks / each)], ...Array.from({length: n * Math.ceil(blocks / each)}, () => d.below(256))) : null, null, optional(g, () => g.like('float', [n]))], [['float', [...x.extents.slice(0, -1), n]]]);
  },
  g => {
    const d = g.draw, block = d.of([16, 32, 64]), n = d.between(1, 6), x = g.any('float', rank(2, 3), () => [...shape(g, d.between(1, 2))(), d.between(1, 70)]), k = last(x.extents);
    g.add('MatMulBnb4', {K: k, N: n, block_size: block, quant_type: d.below(2)}, [x, g.constant('uint8', [Math.ceil(n * k / 2)], ...Array.from({length: Math.ceil(n * k / 2)}, () => d.below(256))), g.fresh('float', [Math.ceil(n * k / block)], 0.1, 1)], [['float', [...x.extents.slice(0, -1), n]]]);
  },
  g => {
    const d = g.draw, bits = d.of([2, 4, 8]), block = d.of([16, 32]), each = 8 / bits, rows = d.between(1, 6), bytes = d.between(1, 24), blocks = Math.ceil(bytes * each / block), ids = shape(g, d.between(0, 2), 4)();
    g.add('GatherBlockQuantized', {bits, block_size: block}, [g.fresh('uint8', [rows, bytes]), g.fresh(d.of(['int32', 'int64']), ids, -rows, rows - 1), g.fresh('float', [rows, blocks], 0, 1), d.oneIn(2) ? g.fresh('uint8', [rows, Math.ceil(blocks / each)]) : null], [['float', [...ids, bytes * each]]]);
  },
  g => {
    const d = g.draw, k = d.between(1, 20), [m, n] = [d.between(1, 6), d.between(1, 6)];
    g.add('CDist', {metric: d.of(['euclidean', 'sqeuclidean'])}, [g.fresh('float', [m, k]), g.fresh('float', [n, k])], [['float', [m, n]]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(2, 3, 4), shape(g, d.between(2, 4)));
    g.add('Trilu', {upper: maybe(g, d.below(2))}, [x, d.oneIn(2) ? g.given('int64', [], [d.between(-4, 4)]) : null], [['float', x.extents]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(4), shape(g, 4)), [b, c] = x.extents, [h, w] = shape(g, 2, 4)();
    g.add('GridSample', {align_corners: maybe(g, d.below(2)), mode: maybe(g, d.of(['bilinear', 'nearest', 'bicubic'])), padding_mode: maybe(g, d.of(['zeros', 'border', 'reflection']))},
      [x, g.fresh('float', [b, h, w, 2], -1.5, 1.5)], [['float', [b, c, h, w]]]);
  },
  g => {
    const d = g.draw, n = d.between(1, 8), e = [...shape(g, d.below(3), 3)(), n, n];
    const values = Array.from({length: size(e)}, (_, k) => d.real(-1, 1) + (k % (n * n) % (n + 1) === 0 ? n : 0));  // far from singular
    g.add('Inverse', {}, [g.given('float', e, values)], [['float', e]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(1, 2, 3, 4), shape(g, d.between(1, 4))), e = x.extents, mode = d.of([undefined, 'constant', 'edge', 'reflect', 'wrap']);
    // Two cuts leave an element; ONNX Runtime leaves numbers unwritten where more is wrapped than there is.
    const axis = () => e.map(n => d.oneIn(4) ? -d.below(Math.ceil(n / 2)) : d.below(mode === 'reflect' ? Math.max(1, Math.ceil(n / 2)) : mode === 'wrap' ? Math.min(4, n + 1) : 4));
    const pads = [...axis(), ...axis()], y = e.map((n, k) => n + pads[k] + pads[e.length + k]);
    if (size(y) > 2000 || y.includes(0)) return;
    g.add('Pad', {mode}, [x, g.given('int64', d.oneIn(3) ? [1, pads.length] : [pads.length], pads), d.oneIn(2) ? g.fresh('float', d.oneIn(2) ? [] : [1]) : null], [['float', y]]);
  },
  g => {
    const d = g.draw, type = d.of(['float', 'int32', 'int64']), start = d.between(-5, 5), delta = d.of([1, 2, 3, -1, -2]), n = d.between(0, 8), one = v => g.given(type, d.oneIn(2) ? [] : [1], [v]);
    g.add('Range', {}, [one(start), one(start + n * delta), delta === 1 && d.oneIn(2) ? null : one(delta)], [[type, [n]]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(1, 2, 3), shape(g, d.between(1, 3))), depth = d.between(1, x.extents.length), outer = shape(g, d.below(3), 4)();
    const indices = Array.from({length: size(outer) * depth}, (_, k) => d.between(-x.extents[k % depth], x.extents[k % depth] - 1));
    g.add('GatherND', {}, [x, g.given(d.of(['int32', 'int64']), [...outer, depth], indices)], [['float', [...outer, ...x.extents.slice(depth)]]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(1, 2, 3), shape(g, d.between(1, 3))), n = x.extents.length, at = d.below(n + 1), y = x.extents.slice();
    y.splice(at, 0, 1);
    g.add('ExpandDims', {}, [x, g.given('int32', d.oneIn(2) ? [] : [1], [d.oneIn(2) ? at : at - n - 1])], [['float', y]]);
  },
  g => {
    const d = g.draw, n = d.between(0, 12), values = Array.from({length: n}, () => d.between(-4, 4) / 2), y = [new Set(values).size];
    g.add('Unique', {}, [g.given('float', [n], values)], [['float', y], ['int64', [n]], ['int64', y]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(1, 2, 3), shape(g, d.between(1, 3))), axis = d.below(x.extents.length), n = x.extents[axis], size = d.between(1, n), step = d.between(1, 3), y = [...x.extents, size];
    y[axis] = Math.floor((n - size) / step) + 1;
    g.add('UnfoldTensor', {dim: d.oneIn(2) ? axis : axis - x.extents.length, size, step}, [x], [['float', y]]);
  },
  g => {
    const d = g.draw, spatial = d.between(1, 3), x = g.any('float', rank(spatial + 2), shape(g, spatial + 2)), kernel = x.extents.slice(2).map(n => d.between(1, Math.min(n, 3)));
    const pads = [...kernel, ...kernel].map(k => d.below(k)), strides = kernel.map(() => d.between(1, 2)), m = [...d.of([[1, 1], [1, d.between(1, 2)]]), ...x.extents.slice(2)];
    const y = x.extents.slice(2).map((n, k) => Math.floor((n + pads[k] + pads[spatial + k] - kernel[k]) / strides[k]) + 1);
    g.add('MaxpoolWithMask', {kernel_shape: kernel, pads, strides}, [x, g.fresh('int32', m, 0, 1)], [['float', [...x.extents.slice(0, 2), ...y]]]);
  },
  g => {
    const d = g.draw, group = d.between(1, 2), kernel = d.between(1, 3), stride = d.between(1, 2), m = d.between(1, 3), x = g.any('float', e => rank(4)(e) && e[1] % group === 0, () => [d.between(1, 2), group * d.between(1, 3), d.between(2, 6), d.between(2, 6)]);
    const pads = Array.from({length: 4}, () => d.below(kernel)), y = x.extents.slice(2).map((n, k) => stride * (n - 1) + kernel - pads[k] - pads[2 + k]);
    if (y.some(n => n < 1)) return;
    g.add('ConvTransposeWithDynamicPads', {group, strides: [stride, stride]}, [x, g.fresh('float', [x.extents[1], m, kernel, kernel], -1, 1), g.given('int64', [4], pads), optional(g, () => g.like('float', [group * m]))], [['float', [x.extents[0], group * m, ...y]]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(4), shape(g, 4)), n = d.between(1, 4), size = shape(g, 2, 5)();
    g.add('CropAndResize', {mode: maybe(g, d.of(['bilinear', 'nearest'])), extrapolation_value: maybe(g, real(-1.5))}, [x, g.fresh('float', [n, 4], -0.25, 1.25), g.fresh('int32', [n], 0, x.extents[0] - 1), g.given('int32', [2], size)], [['float', [n, x.extents[1], ...size]]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(2), shape(g, 2, 9));
    g.add('DynamicTimeWarping', {}, [x], [['int32', [2, 0]]]);
  },
  g => {
    const d = g.draw, b = d.between(1, 3), words = d.between(2, 6);
    g.add('NGramRepeatBlock', {ngram_size: d.between(1, 4)}, [g.fresh('int64', [b, d.between(1, 10)], 0, words - 1), g.like('float', [b, words])], [['float', [b, words]]]);
  },
  g => {
    const d = g.draw, n = d.between(1, 9), from = d.between(0, n), token = () => d.below(4), tokens = count => Array.from({length: count}, token), source = tokens(n), current = tokens(d.between(1, 5));
    const predicted = Array.from({length: n - from + 1}, (_, k) => d.oneIn(4) ? token() : source[from + k] ?? 0), least = d.between(1, 3);
    g.add('BifurcationDetector', {min_ngram_size: least, max_ngram_size: least + d.below(3)}, [g.given('int64', [n], source), g.given('int64', [current.length], current), g.given('int64', [1], [from]), d.oneIn(3) ? null : g.given('int64', [n - from + 1], predicted)], [['int64', [0]], ['int64', [1]]]);
  },
  g => {
    const d = g.draw, [m, k, n] = shape(g, 3)();
    g.add('MatMulInteger16', {}, [g.fresh('int16', [m, k]), g.fresh('int16', [k, n])], [['int32', [m, n]]]);
  },
  experts(false), experts(true), attention(false), attention(true),
  g => {
    const d = g.draw, heads = d.between(1, 3), q = sequence(g, heads), [b, s, h] = q.extents, four = d.oneIn(4), keys = d.between(1, 5), past = d.oneIn(2) ? d.between(0, 3) : -1, v = !four && past < 0 && d.oneIn(3) ? heads * d.between(1, 4) : h;
    const all = keys + Math.max(0, past), causal = d.oneIn(3);
    const mask = d.of([() => null, () => g.given('int32', [b], Array.from({length: b}, () => d.between(1, all))), () => g.fresh('int32', [b, all], 0, 1), () => g.fresh('int32', [b, s, all], 0, 1)])();
    const kv = width => four ? g.fresh('float', [b, heads, keys, width / heads]) : g.like('float', [b, keys, width]), old = width => past >= 0 ? g.fresh('float', [b, heads, past, width / heads]) : null;
    g.add('MultiHeadAttention', {num_heads: heads, unidirectional: causal ? 1 : undefined, scale: maybe(g, real(0.5)), mask_filter_value: maybe(g, real(d.of([-10000, -2, -3.4028234663852886e38])))},
      [q, kv(h), kv(v), d.oneIn(2) ? g.fresh('float', [2 * h + v]) : null, mask, d.oneIn(3) ? g.fresh('float', [d.of([1, b]), d.of([1, heads]), s, all]) : null, old(h), old(v)],
      [['float', [b, s, v]], ...(past >= 0 || d.oneIn(3) ? [['float', [b, heads, all, h / heads]], ['float', [b, heads, all, v / heads]]] : [null, null]), d.oneIn(3) ? ['float', [b, heads, s, all]] : null]);
  },
  g => {
    // Where no step counts of the past, ONNX Runtime writes the step after all of its rows. With beams it reads
    // attention_bias of another batch entry, unless one entry is for all.
    const d = g.draw, heads = d.between(1, 3), width = d.between(1, 4), groups = d.between(1, 2), beams = d.between(1, 3), b = groups * beams, rows = d.between(2, 6), past = d.between(1, rows - 1), all = past + 1, h = heads * width, attends = d.oneIn(2);
    const step = () => g.like('float', [b, 1, h]), cache = () => g.fresh('float', [b, heads, rows, width]), mask = optional(g, () => g.fresh('int32', [b, all], 0, 1));
    const filled = g.given('int32', [1], [past]), shared = d.oneIn(3) && attends ? null : g.fresh('int32', [groups, beams, rows], 0, beams - 1),
      plus = optional(g, () => g.fresh('float', [shared ? 1 : d.of([1, b]), d.of([1, heads]), 1, all])), bias = optional(g, () => g.fresh('float', [3 * h]));
    const attributes = {num_heads: heads, scale: maybe(g, real(0.5)), mask_filter_value: maybe(g, real(d.of([-10000, -2])))}, results = [['float', [b, 1, h]], ['float', [b, heads, rows, width]], ['float', [b, heads, rows, width]]];
    if (attends) g.add('DecoderMaskedMultiHeadAttention', {...attributes, past_present_share_buffer: 1}, [step(), step(), step(), mask, plus, cache(), cache(), filled, shared ? g.given('int32', [1], [beams]) : null, shared, bias], results);
    else g.add('MultiHeadAttention', attributes, [step(), step(), step(), bias, mask, plus, cache(), cache(), filled, shared], results);
  },
  g => {
    const d = g.draw, kv = d.between(1, 2), heads = kv * d.between(1, 3), width = d.of([8, 16]), rotary = width === 16 && d.oneIn(2), b = d.between(1, 2), packed = d.oneIn(3), past = d.between(0, 5), prompt = past === 0, shared = !packed && !prompt && d.oneIn(4);
    const steps = prompt ? d.between(1, 5) : d.oneIn(2) && b === 1 ? d.between(1, 3) : 1, total = past + steps, rows = (shared ? total : past) + d.below(3), window = d.oneIn(3) ? d.between(0, 4) : undefined;
    const x = g.like('float', [b, steps, packed ? (heads + 2 * kv) * width : heads * width]), part = () => packed ? null : g.like('float', [b, shared ? 0 : steps, kv * width]), cache = () => prompt ? null : g.fresh('float', [b, kv, rows, width]);
    const lengths = Array.from({length: b}, (_, k) => k === 0 || steps > 1 ? total - 1 : d.between(0, total - 1)), angles = () => rotary ? g.fresh('float', [12, width / 2], -1, 1) : null;
    const present = prompt ? total : Math.max(rows, total);
    g.add('GroupQueryAttention', {num_heads: heads, kv_num_heads: kv, do_rotary: rotary ? 1 : undefined, rotary_interleaved: rotary ? d.below(2) : undefined, scale: maybe(g, real(0.25)), local_window_size: window, softcap: d.oneIn(3) ? real(1.5) : undefined, smooth_softmax: d.oneIn(4) ? 1 : undefined},
      [x, part(), part(), cache(), cache(), g.given('int32', [b], lengths), g.given('int32', [], [total], true), angles(), angles(), null, d.oneIn(4) ? g.fresh('float', [d.of([1, b]), d.of([1, heads]), steps, total]) : null, d.oneIn(4) ? g.fresh('float', [heads]) : null],
      [['float', [b, steps, heads * width]], ['float', [b, kv, present, width]], ['float', [b, kv, present, width]]]);
  },
  g => {
    const d = g.draw, heads = d.between(1, 3), width = 2 * d.between(1, 4), four = d.oneIn(2), b = d.between(1, 3), s = d.between(1, 4), x = g.like('float', four ? [b, heads, s, width] : [b, s, heads * width]), part = d.oneIn(3);
    const pairs = part ? d.between(1, width / 2) : width / 2;
    g.add('RotaryEmbedding', {interleaved: d.below(2), num_heads: part || !four ? heads : undefined, rotary_embedding_dim: part ? 2 * pairs : undefined}, [x, d.oneIn(2) ? g.fresh('int64', [1], 0, 4) : g.fresh('int64', [b, s], 0, 8), g.fresh('float', [9, pairs], -1, 1), g.fresh('float', [9, pairs], -1, 1)], [['float', x.extents]]);
  },
  g => {
    const d = g.draw, rule = d.of(['linear', 'gated', 'delta', 'gated_delta']), [q, kv] = d.of([[1, 1], [2, 2], [4, 2], [2, 4], [3, 1], [1, 3]]), k = d.between(1, 4), v = d.between(1, 4), [b, s] = [d.between(1, 2), d.between(1, 4)], keys = d.of([1, kv]);
    const decay = rule.startsWith('gated') ? g.fresh('float', [b, s, d.of([kv, kv * k])], -1, 0) : null, beta = rule.endsWith('delta') ? g.fresh('float', [b, s, d.of([1, kv])], 0, 1) : null;
    g.add('LinearAttention', {q_num_heads: q, kv_num_heads: kv, update_rule: rule, scale: maybe(g, real(0.5))}, [g.like('float', [b, s, q * k]), g.fresh('float', [b, s, keys * k], -0.5, 0.5), g.like('float', [b, s, kv * v]), d.oneIn(2) ? g.fresh('float', [b, kv, k, v]) : null, decay, beta],
      [['float', [b, s, Math.max(q, kv) * v]], ['float', [b, kv, k, v]]]);
  },
  g => {
    const d = g.draw, lastly = d.below(2), dilation = d.between(1, 3), k = d.between(1, 4), x = g.any('float', lastly ? rank(3, 4) : rank(3), shape(g, lastly ? d.between(3, 4) : 3)), e = x.extents, before = (k - 1) * dilation;
    const c = lastly ? size(e.slice(2)) : e[1], state = lastly ? [e[0], before, ...e.slice(2)] : [e[0], e[1], before];
    g.add('CausalConvWithState', {channels_last: lastly, dilation, activation: d.of(['none', 'silu', 'swish'])}, [x, g.fresh('float', [c, 1, k]), optional(g, () => g.like('float', [c])), d.oneIn(2) ? g.fresh('float', state) : null], [['float', e], ['float', state]]);
  },
  g => {
    const x = g.any('float', rank(1, 2, 3), shape(g, g.draw.between(1, 3)));
    g.add('GatedAdd', {}, [x, g.like('float', x.extents), g.like('float', [...x.extents.slice(0, -1), 1])], [['float', x.extents]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(1, 2, 3), shape(g, d.between(1, 3), 12)), n = last(x.extents), size = d.of([1, 2, 3, 4, n].filter(v => n % v === 0));
    g.add('GatedRMSNorm', {epsilon: maybe(g, real(0.01))}, [x, g.fresh('float', [size]), g.like('float', x.extents)], [['float', x.extents]]);
  },
  g => {
    const d = g.draw, x = g.any('float', rank(2, 3), shape(g, d.between(2, 3))), n = [last(x.extents)], rate = d.oneIn(2);
    g.add('LinearAttentionGate', {}, [x, g.fresh('float', n), g.fresh('float', n, -2, 0), rate ? g.like('float', x.extents) : null], [['float', x.extents], rate ? ['float', x.extents] : null]);
  },
  g => {
    const x = g.any('float', rank(4), shape(g, 4)), [b, s, c, n] = x.extents, weights = () => g.fresh('float', [c, n]);
    g.add('EngramGate', {epsilon: maybe(g, real(0.01))}, [x, g.like('float', x.extents), g.like('float', [b, s, n]), weights(), weights()], [['float', x.extents]]);
  },
  g => {
    const d = g.draw, heads = d.between(1, 3), pairs = d.between(1, 6), width = 2 * pairs + 2 * d.below(3), four = d.oneIn(2), b = d.between(1, 3), s = d.between(1, 4), part = width > 2 * pairs, layout = d.below(2);
    const x = g.like('float', four ? [b, heads, s, width] : [b, s, heads * width]), first = d.between(0, pairs), second = d.between(0, pairs - first);
    g.add('MRotaryEmbedding', {interleaved: d.below(2), mrope_layout: layout, mrope_section: [first, second, pairs - first - second], num_heads: part || !four ? heads : undefined, rotary_embedding_dim: part ? 2 * pairs : undefined, scale: maybe(g, real(0.5))},
      [x, g.fresh('int64', [3, b, s], 0, 8), g.fresh('float', [9, pairs], -1, 1), g.fresh('float', [9, pairs], -1, 1)], [['float', x.extents]]);
  },
  g => {
    const d = g.draw, type = d.of(['int32', 'int64']), most = d.between(2, 4), each = d.between(1, 3), [b, s] = [d.between(1, 3), d.between(1, 5)], m = (most - 1) * each;
    g.add('NGramHashMapping', {max_ngram_size: most, n_head_per_ngram: each, pad_id: d.between(-1, 9)}, [g.fresh(type, [b, s], 0, 200), g.fresh(type, [most], -100000, 100000), g.fresh(type, [m], 1, 1000), optional(g, () => g.fresh(type, [b, most - 1], 0, 200))],
      [[type, [b, s, m]], d.oneIn(2) ? [type, [b, most - 1]] : null]);
  },
];

// The graph of a seed: {model, feeds, names, results}, results of {name, type, op}.
function graph(seed) {
  const draw = new Draw(seed), g = new Graph(draw);
  for (let n = draw.between(1, 4); n > 0; --n) draw.of(operators)(g);
  return {model: g.model(), feeds: g.feeds, names: g.names, results: g.pool};
}
module.exports = {graph};
