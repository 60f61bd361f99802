// Writes .onnx files: just enough of protobuf, by hand, that benchmark models need neither python nor a
// compiler. A message is a list of byte arrays; they are joined only on disk, so that large weights are not
// copied about.
import fs from 'node:fs';

const size = (parts) => parts.reduce((sum, part) => sum + part.length, 0);

function varint(value) {
  const bytes = [];
  for (value = BigInt.asUintN(64, BigInt(value)); value >= 128n; value >>= 7n) {
    bytes.push(Number(value & 127n) | 128);
  }
  return Uint8Array.from([...bytes, Number(value)]);
}

const int = (field, value) => [varint(field << 3), varint(value)];
const float = (field, value) => [varint((field << 3) | 5), new Uint8Array(Float32Array.of(value).buffer)];
const nested = (field, parts) => [varint((field << 3) | 2), varint(size(parts)), ...parts];
const bytes = (field, value) => nested(field, [value]);
const text = (field, value) => bytes(field, new TextEncoder().encode(value));

const types = { float: 1, int64: 7 };

function attribute(name, value) {
  const of = (kind, parts) => nested(5, [...text(1, name), ...parts, ...int(20, kind)]);
  if (Array.isArray(value)) return of(7, value.flatMap((v) => int(8, v)));
  if (typeof value === 'string') return of(3, text(4, value));
  return Number.isInteger(value) ? of(2, int(3, value)) : of(1, float(2, value));
}

function valueInfo(field, { name, type = 'float', dims }) {
  const shape = dims.flatMap((d) => nested(1, typeof d === 'string' ? text(2, d) : int(1, d)));
  const tensor = nested(1, [...int(1, types[type]), ...nested(2, shape)]);
  return nested(field, [...text(1, name), ...nested(2, tensor)]);
}

/// A graph under construction. Values go by name; every method that makes one returns its name.
export class Model {
  #nodes = [];
  #initializers = [];
  #inputs = [];
  #outputs = [];
  #names = 0;
  #state = 1;

  /// A float input; a dimension may be a number or a symbol.
  input(name, dims) {
    this.#inputs.push(valueInfo(11, { name, dims }));
    return name;
  }

  output(name, dims) {
    this.#outputs.push(valueInfo(12, { name, dims }));
  }

  /// A node with one output.
  node(op, inputs, attributes = {}) {
    const output = `${op}_${this.#names++}`;
    this.#nodes.push(
      nested(1, [
        ...inputs.flatMap((name) => text(1, name)),
        ...text(2, output),
        ...text(3, output),
        ...text(4, op),
        ...Object.entries(attributes).flatMap(([name, value]) => attribute(name, value)),
      ]),
    );
    return output;
  }

  /// A float initializer with values uniform in [low, high).
  weight(dims, low, high) {
    const values = new Float32Array(dims.reduce((a, b) => a * b, 1));
    let x = this.#state;
    for (let i = 0; i < values.length; ++i) {
      x ^= x << 13;
      x ^= x >>> 17;
      x ^= x << 5;
      values[i] = low + (high - low) * ((x >>> 0) / 4294967296);
    }
    this.#state = x;
    const name = `weight_${this.#names++}`;
    this.#initializers.push(
      nested(5, [
        ...dims.flatMap((d) => int(1, d)),
        ...int(2, types.float),
        ...text(8, name),
        ...bytes(9, new Uint8Array(values.buffer)),
      ]),
    );
    return name;
  }

  write(path, opset = 13) {
    const graph = [this.#nodes, text(2, 'bench'), this.#initializers, this.#inputs, this.#outputs].flat(2);
    const model = [int(1, 8), text(2, 'tenon-bench'), nested(7, graph), nested(8, int(2, opset))].flat();
    // Renamed into place when complete, so that an interrupted run leaves no half a model behind.
    const file = fs.openSync(`${path}.part`, 'w');
    for (const part of model) {
      for (let done = 0; done < part.length;) done += fs.writeSync(file, part, done);
    }
    fs.closeSync(file);
    fs.renameSync(`${path}.part`, path);
  }
}
