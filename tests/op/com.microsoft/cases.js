// Uses of operators as tables of cases state them (recorded.hpp), and models of such uses.
'use strict';

const types = {float: 1, uint8: 2, int8: 3, uint16: 4, int16: 5, int32: 6, int64: 7, bool: 9, float16: 10, double: 11};
const bytes = {float: 4, uint8: 1, int8: 1, uint16: 2, int16: 2, int32: 4, int64: 8, bool: 1, float16: 2, double: 8};

// --- protobuf ---

function varint(value) {
  let v = BigInt.asUintN(64, BigInt(value));
  const out = [];
  do {
    out.push(Number(v & 127n) | (v > 127n ? 128 : 0));
    v >>= 7n;
  } while (v > 0n);
  return Buffer.from(out);
}
const integer = (field, v) => Buffer.concat([varint(field << 3), varint(v)]);
function data(field, v) {
  const content = Buffer.from(v);
  return Buffer.concat([varint(field << 3 | 2), varint(content.length), content]);
}
function real(field, v) {
  const b = Buffer.alloc(4);
  b.writeFloatLE(v);
  return Buffer.concat([varint(field << 3 | 5), b]);
}

// --- operands ---

function half(v) {
  if (v === 0) return Object.is(v, -0) ? 0x8000 : 0;
  if (Number.isNaN(v)) return 0x7e00;
  const sign = v < 0 ? 0x8000 : 0, a = Math.min(Math.abs(v), 65536);
  const exponent = Math.max(Math.floor(Math.log2(a)), -14);
  const scaled = a / 2 ** (exponent - 10), down = Math.floor(scaled), rest = scaled - down;
  const mantissa = down + (rest > 0.5 || (rest === 0.5 && down % 2) ? 1 : 0);
  const bits = mantissa + (exponent + 14) * 1024;
  return sign | (bits >= 0x7c00 ? 0x7c00 : bits);
}
function fromHalf(h) {
  const exponent = h >> 10 & 31, mantissa = h & 1023;
  const a = exponent === 31 ? (mantissa ? NaN : Infinity)
    : exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25);
  return h & 0x8000 ? -a : a;
}
function raw(type, values) {
  const b = Buffer.alloc(bytes[type] * values.length);
  values.forEach((v, k) => {
    if (type === 'float') b.writeFloatLE(v, 4 * k);
    else if (type === 'double') b.writeDoubleLE(v, 8 * k);
    else if (type === 'float16') b.writeUInt16LE(half(v), 2 * k);
    else if (type === 'int64') b.writeBigInt64LE(BigInt(v), 8 * k);
    else if (type === 'int32') b.writeInt32LE(v, 4 * k);
    else if (type === 'int16') b.writeInt16LE(v, 2 * k);
    else if (type === 'uint16') b.writeUInt16LE(v, 2 * k);
    else b[k] = v & 255;
  });
  return b;
}
// Element k of a seed: 0 to 256.
function draw(seed, k) {
  let h = Math.imul(seed, 0x9e3779b1) + Math.imul(k + 1, 0x85ebca6b) | 0;
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
  h = Math.imul(h ^ h >>> 12, 0x297a2d39);
  return ((h ^ h >>> 15) >>> 0) % 257;
}
function operand(text) {
  const m = /^(\w+)\[([\d,]*)\] (?:\{(.*)\}|(?:(-?[\d.]+)\.\.(-?[\d.]+) )?(\d+))$/.exec(text);
  if (!m) throw new Error('not an operand: ' + text);
  const extents = m[2] ? m[2].split(',').map(Number) : [], type = m[1];
  const count = extents.reduce((a, b) => a * b, 1);
  let values;
  if (m[3] !== undefined) {
    values = m[3] === '' ? [] : m[3].split(',').map(v => v.trim() === 'inf' ? Infinity : v.trim() === '-inf' ? -Infinity : Number(v));
    while (values.length && values.length < count) values.push(values[values.length - 1]);
  } else {
    const real = type.startsWith('float') || type === 'double';
    const low = m[4] !== undefined ? Number(m[4]) : type === 'int8' ? -128 : real ? -2 : 0;
    const high = m[5] !== undefined ? Number(m[5]) : type === 'int8' ? 127 : type === 'uint8' ? 255 : real ? 2 : 1;
    values = Array.from({length: count}, (_, k) => {
      const d = draw(Number(m[6]), k);
      return real ? low + (high - low) * d / 256 : low + d % (high - low + 1);
    });
  }
  return {type, extents, values};
}

// --- models ---

function attribute(name, text) {
  const numbers = text.replace(/^\[|\]$/g, '').split(';').filter(t => t !== '');
  let parts;
  if (text.startsWith('"')) parts = [data(4, text.slice(1, -1)), integer(20, 3)];
  else if (text.startsWith('[')) {
    if (numbers.some(t => t.startsWith('"')))
      parts = numbers.map(t => data(9, t.slice(1, -1))).concat([integer(20, 8)]);
    else if (numbers.some(t => t.includes('.'))) parts = numbers.map(t => real(7, Number(t))).concat([integer(20, 6)]);
    else parts = numbers.map(t => integer(8, t)).concat([integer(20, 7)]);
  } else if (/[.e]/.test(text)) parts = [real(2, Number(text)), integer(20, 1)];
  else parts = [integer(3, text), integer(20, 2)];
  return data(5, Buffer.concat([data(1, name), ...parts]));
}
// An operator's use: operands and results are names, '' for one left out.
function node(name, domain, attributes, operands, results) {
  const parts = [...operands.map(o => data(1, o)), ...results.map(r => data(2, r)), data(4, name)];
  for (const [key, text] of attributes) parts.push(attribute(key, text));
  return data(1, Buffer.concat([...parts, data(7, domain)]));
}
function tensor(name, {type, extents, values}) {
  const dims = extents.map(e => integer(1, e));
  return Buffer.concat([...dims, integer(2, types[type]), data(8, name), data(9, raw(type, values))]);
}
// A graph's input or output: without extents, of any; without a type, inferred.
function value(name, type, extents) {
  if (!type) return data(1, name);
  const dims = extents ? [data(2, Buffer.concat(extents.map(e => data(1, integer(1, e)))))] : [];
  return Buffer.concat([data(1, name), data(2, data(1, Buffer.concat([integer(1, types[type]), ...dims])))]);
}
// nodes are of node(), initializers of tensor(), inputs and outputs of value().
function model(nodes, initializers, inputs, outputs, opset) {
  const graph = [...nodes, data(2, 'g'), ...initializers.map(t => data(5, t)), ...inputs.map(i => data(11, i)),
    ...outputs.map(o => data(12, o))];
  const imported = (domain, version) => data(8, Buffer.concat([data(1, domain), integer(2, version)]));
  return Buffer.concat([integer(1, 8), data(7, Buffer.concat(graph)), imported('', opset), imported('com.microsoft', 1)]);
}
// A model of one use, whose operands are constants.
function modelOf(use) {
  const named = (list, letter) => list.map((o, k) => o ? letter + k : '');
  return model(
    [node(use.name, use.domain, use.attributes, named(use.operands, 'i'), named(use.results, 'o'))],
    use.operands.flatMap((o, k) => o ? [tensor('i' + k, o)] : []), [],
    use.results.flatMap((wanted, k) => wanted ? [value('o' + k, wanted === 'f' ? 'float' : '')] : []), use.opset);
}
// NAME <attribute=value, ...> (operand; ...) results, where results are + for each, f for a float whose type nothing
// implies, and - for one left out.
function parse(line) {
  const m = /^(?:ai\.onnx@(\d+):)?(\w+) (?:<(.*?)> )?\((.*)\) ([+f-]+)( ~.*)?$/.exec(line);
  if (!m) throw new Error('not a case: ' + line);
  return {
    name: m[2],
    domain: m[1] ? '' : 'com.microsoft',
    opset: m[1] ? Number(m[1]) : 17,
    attributes: (m[3] || '').split(', ').filter(a => a).map(a => [a.slice(0, a.indexOf('=')), a.slice(a.indexOf('=') + 1)]),
    operands: m[4].split('; ').map(o => o === '-' ? null : operand(o)),
    results: [...m[5]].map(r => r === '-' ? null : r),
  };
}

// What ONNX Runtime calls a type.
const named = {float32: 'float', float64: 'double'};
// A result of ONNX Runtime as {type, extents, values}.
function result(t) {
  const type = named[t.type] || t.type;
  const values = Array.from(t.data, v => type === 'float16' ? fromHalf(v) : type === 'bool' ? Number(v) : v);
  return {type, extents: Array.from(t.dims), values};
}
// One thread: some kernels quantise the part of each thread by itself.
const options = {graphOptimizationLevel: 'disabled', logSeverityLevel: 4, intraOpNumThreads: 1};

module.exports = {bytes, draw, fromHalf, model, modelOf, node, operand, options, parse, raw, result, tensor, types, value};
