// node record_decoders.js FOLDER: the tokens that ONNX Runtime generates greedily with the models that write_decoders
// wrote into FOLDER. Where `npm install onnxruntime-node` put the package, NODE_PATH says.
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

const prompt = [3, 141, 59, 26, 53, 58, 97, 93];
const count = 256;
const rows = 320;

const arrays = { int64: BigInt64Array, float32: Float32Array, float16: Uint16Array };
const tensor = (type, values, dims) => new ort.Tensor(type, arrays[type].from(values), dims);
const integers = (values, dims) => tensor('int64', values.map(BigInt), dims);

function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}
function lastToken(logits) {
  const words = logits.dims.at(-1);
  const last = Array.from(logits.data.subarray(-words), logits.type === 'float16' ? fromHalf : Number);
  return last.indexOf(Math.max(...last));
}

async function generate(file) {
  const session = await ort.InferenceSession.create(file, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const state = {};
  for (const { name, type, shape } of session.inputMetadata) {
    if (!name.startsWith('past')) continue;
    const extents = shape.map((e) => ({ batch: 1, past: 0, past_rows: rows })[e] ?? e);
    state[name] = new ort.Tensor(type, new arrays[type](extents.reduce((a, b) => a * b)), extents);
  }
  const text = [...prompt];
  for (let held = 0; text.length < prompt.length + count;) {
    const steps = text.slice(held);
    const places = steps.map((_, k) => held + k);
    const inputs = {
      input_ids: integers(steps, [1, steps.length]),
      attention_mask: integers(text.map(() => 1), [1, text.length]),
      position_ids: integers(places, [1, steps.length]),
      cache_position: integers(places, [steps.length]),
      ...state,
    };
    const results = await session.run(Object.fromEntries(session.inputNames.map((name) => [name, inputs[name]])));
    for (const name of Object.keys(state)) state[name] = results[name.replace('past_key_values', 'present')];
    held = text.length;
    text.push(lastToken(results.logits));
  }
  return text;
}

async function main() {
  console.log([
    `# Tokens that ONNX Runtime ${ort.env.versions.node} generates greedily: a model's name, its prompt of ` +
      `${prompt.length} and the ${count} that follow.`,
    '# Models and seeds are those of tests/loader/decoders.hpp. Recorded by',
    '#   write_decoders FOLDER && node tests/loader/record_decoders.js FOLDER > tests/data/decoders.txt',
  ].join('\n'));
  for (const file of fs.readdirSync(process.argv[2]).sort()) {
    const name = path.basename(file, '.onnx').replace('-', '/');
    console.log([name, ...await generate(path.join(process.argv[2], file))].join(' '));
  }
}
main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
