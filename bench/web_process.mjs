// A process of bench/compare web: times a model in WebAssembly, on this thread alone.
//   node web_process.mjs tenon MODULE.wasm WEIGHTS OPTION… INPUT.pb…
//   node web_process.mjs ort PACKAGE MODEL.onnx OPTION… INPUT.pb…
// MODULE is web.cc with a compiled model, PACKAGE the folder of onnxruntime-web. --seconds N: how long runs are
// repeated; --save DIR: writes the outputs' elements there. The last line has the least processor time of a run in
// milliseconds: other work on the machine takes no part of it.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { readTensor } from './models/onnx.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '2' }, save: { type: 'string' } },
});
const [side, code, data, ...files] = positionals;
const inputs = files.map(readTensor).map(({ name, dims, values, type }) =>
  ({ name, dims, values: type === 7 ? BigInt64Array.from(values, BigInt) : values }));
const bytesOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/// A run, and the outputs of the last one.
async function tenon() {
  const { exports } = (await WebAssembly.instantiate(fs.readFileSync(code))).instance;
  exports._initialize?.();
  const views = [];
  for (let k = 0; k < exports.blocks(); ++k) {
    views.push(new Uint8Array(exports.memory.buffer, exports.address(k), exports.bytes(k)));
  }
  const weights = views.pop();
  fs.readSync(fs.openSync(data), weights, 0, weights.length, 0);
  for (const [k, { values }] of inputs.entries()) views[k].set(bytesOf(values));
  return { run: exports.run, outputs: () => views.slice(inputs.length) };
}

async function ort() {
  const library = await import(pathToFileURL(path.join(code, 'dist/ort.wasm.bundle.min.mjs')).href);
  library.env.wasm.numThreads = 1;
  const session = await library.InferenceSession.create(fs.readFileSync(data), { executionProviders: ['wasm'] });
  const feeds = Object.fromEntries(inputs.map(({ name, dims, values }) =>
    [name, new library.Tensor(values instanceof BigInt64Array ? 'int64' : 'float32', values, dims)]));
  let results;
  return {
    run: async () => { results = await session.run(feeds); },
    outputs: () => session.outputNames.map((name) => bytesOf(results[name].data)),
  };
}

const { run, outputs } = await { tenon, ort }[side]();
const processorTime = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
let least = Infinity;
for (const began = processorTime(); processorTime() < began + 1000 * options.seconds;) {
  const start = processorTime();
  await run();
  least = Math.min(least, processorTime() - start);
}
if (options.save) {
  fs.mkdirSync(options.save, { recursive: true });
  for (const [k, output] of outputs().entries()) fs.writeFileSync(path.join(options.save, `output_${k}`), output);
}
console.log(JSON.stringify({ min_ms: least }));
