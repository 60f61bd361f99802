// Writes .onnx files: just enough of protobuf, by hand, that benchmark models need neither python nor a
// compiler. A message is a list of byte arrays; they are joined only on disk, so that large weights are not
// copied about.
import fs from 'node:fs';
import path from 'node:path';

const size = (parts) => parts.reduce((sum, part) => sum + part.length, 0);

function varintBytes(value) {
  const bytes = [];
  for (value = BigInt.asUintN(64, BigInt(value)); value >= 128n; value >>= 7n) {
    bytes.push(Number(value & 127n) | 128);
  }
  bytes.push(Number(value));
  return bytes;
}

const varint = (value) => Uint8Array.from(varintBytes(value));
const int = (field, value) => [varint(field << 3), varint(value)];
const float = (field, value) => [varint((field << 3) | 5), new Uint8Array(Float32Array.of(value).buffer)];
const nested = (field, parts) => [varint((field << 3) | 2), varint(size(parts)), ...parts];
const bytes = (field, value) => nested(field, [value]);
const text = (field, value) => bytes(field, new TextEncoder().encode(value));
const raw = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

// An element type: ONNX's number, the array that holds elements (two to a byte for 4 bits), and how a number
// becomes an element.
const plain = (v) => v;
const types = {
  float: { number: 1, array: Float32Array, of: plain },
  uint8: { number: 2, array: Uint8Array, of: Math.floor },
  int8: { number: 3, array: Int8Array, of: Math.floor },
  int32: { number: 6, array: Int32Array, of: Math.floor },
  int64: { number: 7, array: BigInt64Array, of: (v) => BigInt(Math.floor(v)) },
  bool: { number: 9, array: Uint8Array, of: (v) => Number(v >= 0.5) },
  float16: { number: 10, array: Uint16Array, of: half },
  uint4: { number: 21, array: Uint8Array, packed: true, of: (v) => Math.floor(v) & 15 },
  int4: { number: 22, array: Uint8Array, packed: true, of: (v) => Math.floor(v) & 15 },
};

// The nearest float16 to a number, as its bits; numbers too small for a normal one become 0.
const floatBits = new Float32Array(1);
const intBits = new Uint32Array(floatBits.buffer);
function half(value) {
  floatBits[0] = value;
  const bits = intBits[0];
  const rounded = bits + 0xfff + ((bits >>> 13) & 1);
  const exponent = ((rounded >>> 23) & 255) - 112;
  const sign = (bits >>> 16) & 0x8000;
  if (exponent <= 0) return sign;
  return sign | (exponent >= 31 ? 0x7c00 : (exponent << 10) | ((rounded >>> 13) & 0x3ff));
}

function pack(type, dims, count, next) {
  const { array, of, packed } = types[type];
  const values = new array(packed ? (count + 1) >> 1 : count);
  if (packed) for (let i = 0; i < count; ++i) values[i >> 1] |= of(next(i)) << (4 * (i & 1));
  else if (of === plain) for (let i = 0; i < count; ++i) values[i] = next(i);
  else for (let i = 0; i < count; ++i) values[i] = of(next(i));
  return [...dims.flatMap((d) => int(1, d)), ...int(2, types[type].number), ...bytes(9, raw(values))];
}

const product = (dims) => dims.reduce((a, b) => a * b, 1);

// Numbers uniform in [0, 1), the same in every run.
function generator(state) {
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

// A TensorProto with random values in [low, high), whole ones for integer types, or with `values`: the first are
// given, and the last of them is repeated.
function feed(name, dims, { type = 'float', low = 0, high, values }, seed) {
  const random = generator(seed);
  const end = high ?? (type === 'bool' || type.startsWith('float') ? 1 : 2);
  const next = values ? (i) => values[Math.min(i, values.length - 1)] : () => low + (end - low) * random();
  return [...pack(type, dims, product(dims), next), ...text(8, name)];
}

/// Writes the TensorProtos input_0.pb … of {NAME: {at: EXTENTS, type, low, high, values}} into a folder.
export function writeInputs(folder, inputs) {
  for (const [k, [name, options]] of Object.entries(inputs).entries()) {
    writeParts(path.join(folder, `input_${k}.pb`), feed(name, options.at, options, k + 1));
  }
}

// The fields of a message: their numbers, the values of numbers, and views of the bytes of others and of all of it.
function* fieldsOf(content) {
  let at = 0;
  const next = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = content[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < content.length) {
    const start = at;
    const tag = next();
    const kind = tag & 7;
    const value = kind === 0 ? next() : undefined;
    const length = kind === 2 ? next() : { 1: 8, 5: 4 }[kind] ?? 0;
    const first = at;
    at += length;
    yield { number: tag >> 3, value, bytes: content.subarray(first, at), whole: content.subarray(start, at) };
  }
}

const find = (content, number) => [...fieldsOf(content)].find((field) => field.number === number);

/// Moves the parameters of a model, initializers of 16 elements or more of float or float16 as raw data, by so many
/// units in the last place in the bytes of its file: one element up, the next one down. Scalars are often extents'
/// scales.
export function nudgeParameters(content, units) {
  // Numbers that would change their sign, and 0, stay.
  const move = (data, size) => {
    const words = new DataView(data.buffer, data.byteOffset, data.length);
    const bits = 8 * size;
    for (let i = 0; i + size <= data.length; i += size) {
      const word = words[`getUint${bits}`](i, true);
      if (word % 2 ** (bits - 1) > units) words[`setUint${bits}`](i, word + (i & size ? -units : units), true);
    }
  };
  const tensor = (of) => {
    const size = { [types.float.number]: 4, [types.float16.number]: 2 }[find(of, 2)?.value];
    const data = find(of, 9)?.bytes;
    if (data?.length >= 16 * size) move(data, size);
  };
  for (const { number, bytes: data } of fieldsOf(find(content, 7).bytes)) if (number === 5) tensor(data);
}

const double = 11;
const messages = {
  model: { 7: 'graph' },
  graph: { 1: 'node', 5: 'tensor', 11: 'value', 12: 'value', 13: 'value' },
  node: { 5: 'attribute' },
  attribute: { 5: 'tensor', 6: 'graph', 10: 'tensor', 11: 'graph' },
  value: { 2: 'type' },
  type: { 1: 'elements', 4: 'list', 9: 'list' },
  list: { 1: 'type' },
};

const castNode = (from, name, type) => [
  ...text(1, from), ...text(2, name), ...text(4, 'Cast'),
  ...nested(5, [...text(1, 'to'), ...int(3, type), ...int(20, 2)]),
];

// A node of a graph in double, which takes and gives floats.
function betweenCasts(content) {
  const [before, after] = [[], []];
  const node = [...fieldsOf(content)].flatMap(({ number, bytes: data, whole }, k) => {
    const name = data.toString();
    if ((number !== 1 && number !== 2) || name === '') return [whole];
    const own = `${name} of ${find(content, 2).bytes}, ${k}`;
    if (number === 1) before.push(castNode(name, own, types.float.number));
    else after.push(castNode(own, name, double));
    return text(number, own);
  });
  return [...before, node, ...after].flatMap((parts) => nested(1, parts));
}

/// The parts of a message, a model or a tensor, with double in the place of float, except in nodes of the operators
/// `asTheyAre`.
export function inDouble(content, asTheyAre = [], message = 'model') {
  const isFloat = message === 'tensor' && find(content, 2)?.value === types.float.number;
  const isType = message === 'elements' ||
    (message === 'attribute' && /^(to|dtype|output_dtype)$/.test(find(content, 1).bytes.toString()));
  return [...fieldsOf(content)].flatMap(({ number, value, bytes: data, whole }) => {
    const inner = messages[message]?.[number];
    if (inner === 'node' && asTheyAre.includes(find(data, 4).bytes.toString())) return betweenCasts(data);
    if (inner) return nested(number, inDouble(data, asTheyAre, inner));
    if (isType && value === types.float.number) return int(number, double);
    if (isFloat && number === 2) return int(2, double);
    if (isFloat && number === 13) throw new Error('the model has external data');
    if (!isFloat || (number !== 4 && number !== 9)) return [whole];
    return bytes(9, raw(Float64Array.from(new Float32Array(Uint8Array.from(data).buffer))));
  });
}

/// An attribute that is a float though its value is whole.
export const real = (value) => ({ real: value });

// Whole numbers are ints; a Float32Array is a list of floats. Lists are packed, which readers accept.
function attribute(name, value) {
  const of = (kind, parts) => nested(5, [...text(1, name), ...parts, ...int(20, kind)]);
  if (value instanceof Float32Array) return of(6, bytes(7, raw(value)));
  if (Array.isArray(value)) {
    return typeof value[0] === 'string'
      ? of(8, value.flatMap((v) => text(9, v)))
      : of(7, bytes(8, Uint8Array.from(value.flatMap(varintBytes))));
  }
  if (typeof value === 'string') return of(3, text(4, value));
  if (value.real !== undefined) return of(1, float(2, value.real));
  return Number.isInteger(value) ? of(2, int(3, value)) : of(1, float(2, value));
}

function valueInfo(field, { name, type, dims }) {
  const shape = dims.flatMap((d) => nested(1, typeof d === 'string' ? text(2, d) : int(1, d)));
  const tensor = nested(1, [...int(1, types[type].number), ...nested(2, shape)]);
  return nested(field, [...text(1, name), ...nested(2, tensor)]);
}

function writeParts(file, parts) {
  const descriptor = fs.openSync(file, 'w');
  const put = (part) => {
    for (let done = 0; done < part.length;) done += fs.writeSync(descriptor, part, done);
  };
  let small = [];
  const flush = () => {
    put(Buffer.concat(small));
    small = [];
  };
  for (const part of parts) {
    if (part.length < 4096 && small.length < 4096) {
      small.push(part);
    } else {
      flush();
      put(part);
    }
  }
  flush();
  fs.closeSync(descriptor);
}

/// A graph under construction. Values go by name; every method that makes one returns its name.
export class Model {
  #nodes = [];
  #initializers = [];
  #inputs = [];
  #outputs = [];
  #feeds = [];
  #names = 0;
  #random = generator(1);
  #domains = new Set();

  constructor(opset = 17) {
    this.opset = opset;
  }

  /// An input; a dimension may be a number or a symbol. Measured with the extents `at` (symbols are 1) and
  /// random values in [low, high), whole ones for integer types, or with `values`.
  input(name, dims, options = {}) {
    this.#inputs.push(valueInfo(11, { name, type: options.type ?? 'float', dims }));
    const extents = options.at ?? dims.map((d) => (typeof d === 'string' ? 1 : d));
    this.#feeds.push(feed(name, extents, options, this.#inputs.length));
    return name;
  }

  output(name, dims, type = 'float') {
    this.#outputs.push(valueInfo(12, { name, type, dims }));
  }

  /// A node; `inputs` may hold '' for those left out. With `outputs` above 1 it returns as many names. `outputs` may
  /// also be a list of names, of which undefined ones are made.
  node(op, inputs, attributes = {}, { outputs = 1, domain = '' } = {}) {
    const stated = Array.isArray(outputs) ? outputs : Array.from({ length: outputs });
    const names = stated.map((name) => name ?? `${op}_${this.#names++}`);
    if (domain !== '') this.#domains.add(domain);
    this.#nodes.push(
      nested(1, [
        ...inputs.flatMap((name) => text(1, name)),
        ...names.flatMap((name) => text(2, name)),
        ...text(3, names[0]),
        ...text(4, op),
        ...Object.entries(attributes).flatMap(([name, value]) => attribute(name, value)),
        ...(domain === '' ? [] : text(7, domain)),
      ]),
    );
    return names.length === 1 ? names[0] : names;
  }

  #initializer(type, dims, next) {
    const name = `weight_${this.#names++}`;
    this.#initializers.push(nested(5, [...pack(type, dims, product(dims), next), ...text(8, name)]));
    return name;
  }

  /// An initializer with values uniform in [low, high); whole ones for integer types.
  weight(dims, low, high, type = 'float') {
    const random = this.#random;
    return this.#initializer(type, dims, () => low + (high - low) * random());
  }

  /// An initializer of bytes that hold two integers of 4 bits each, from 1 to 15, uniform, so that their mean is the
  /// usual zero point.
  packedWeight(dims) {
    const random = this.#random;
    const code = () => 1 + Math.floor(15 * random());
    return this.#initializer('uint8', dims, () => 16 * code() + code());
  }

  /// An initializer of int8 with normally distributed values, as networks have, scaled so that the
  /// greatest of each of `rows` equal parts is 127; and the standard deviation of each part.
  quantizedWeight(dims, rows = 1) {
    const random = this.#random;
    const values = new Float32Array(product(dims));
    const each = values.length / rows;
    for (let i = 0; i < values.length; ++i) {
      values[i] = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    }
    const deviations = Array.from({ length: rows }, (_, row) => {
      const part = values.subarray(row * each, (row + 1) * each);
      const scale = 127 / part.reduce((greatest, v) => Math.max(greatest, Math.abs(v)), 0);
      part.forEach((v, i) => { part[i] = Math.round(v * scale); });
      return scale;
    });
    return { name: this.#initializer('int8', dims, (i) => values[i]), deviations };
  }

  /// An initializer with the given values, or of rank 0 with one number.
  constant(values, type = 'float', dims = typeof values === 'number' ? [] : [values.length]) {
    return this.#initializer(type, dims, typeof values === 'number' ? () => values : (i) => values[i]);
  }

  /// Writes model.onnx and input_0.pb … into a folder.
  write(folder) {
    // Renamed into place when complete, so that an interrupted run leaves no incomplete model.
    const part = `${folder}.part`;
    fs.rmSync(part, { recursive: true, force: true });
    fs.mkdirSync(part, { recursive: true });
    const graph = [this.#nodes, text(2, 'bench'), this.#initializers, this.#inputs, this.#outputs].flat(2);
    writeParts(path.join(part, 'model.onnx'), [
      ...int(1, this.opset > 20 ? 10 : 8), ...text(2, 'tenon-bench'), ...nested(7, graph),
      ...nested(8, int(2, this.opset)),
      ...[...this.#domains].flatMap((domain) =>
        nested(8, [...text(1, domain), ...int(2, domain === 'com.microsoft' ? 1 : 3)])),
    ]);
    for (const [k, parts] of this.#feeds.entries()) writeParts(path.join(part, `input_${k}.pb`), parts);
    fs.rmSync(folder, { recursive: true, force: true });
    fs.renameSync(part, folder);
  }
}

/// Reads a TensorProto with raw data: its name, its type's number, and its elements as numbers (4-bit types,
/// strings and complex numbers excepted).
export function readTensor(file) {
  const content = fs.readFileSync(file);
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = content[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
  };
  const tensor = { name: '', type: 0, dims: [] };
  let data = new Uint8Array();
  while (at < content.length) {
    const tag = next();
    if ((tag & 7) === 0) {
      const value = next();
      if (tag >> 3 === 1) tensor.dims.push(value);
      if (tag >> 3 === 2) tensor.type = value;
      continue;
    }
    const length = next();
    const end = at + length;
    while (tag >> 3 === 1 && at < end) tensor.dims.push(next());
    if (tag >> 3 === 8) tensor.name = content.subarray(at, end).toString();
    if (tag >> 3 === 9) data = content.subarray(at, end);
    at = end;
  }
  const arrays = {
    1: Float32Array, 2: Uint8Array, 3: Int8Array, 4: Uint16Array, 5: Int16Array, 6: Int32Array,
    7: BigInt64Array, 9: Uint8Array, 10: Uint16Array, 11: Float64Array, 12: Uint32Array, 13: BigUint64Array,
    16: Uint16Array,
  };
  const array = arrays[tensor.type];
  if (array !== undefined) {
    const values = new array(Uint8Array.from(data).buffer);
    if (tensor.type === 10) tensor.values = Float64Array.from(values, fromHalf);
    else if (tensor.type === 16) {
      tensor.values = new Float32Array(Uint32Array.from(values, (v) => v * 65536).buffer);
    } else tensor.values = typeof values[0] === 'bigint' ? Float64Array.from(values, Number) : values;
  }
  return tensor;
}

function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}
