// Times one model in ONNX Runtime, in a process of its own; the last line printed is one JSON object.
//   node bench/ort.mjs MODEL.onnx [--threads N] [--iters N] [--shape name=1x3x224x224]… [--modules DIR]
// Without --iters it runs for about five seconds. Unknown dimensions are 1 unless --shape names them. DIR is
// where onnxruntime-node was installed.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: '1' },
    iters: { type: 'string' },
    shape: { type: 'string', multiple: true, default: [] },
    modules: { type: 'string', default: '.' },
  },
});
if (positionals.length !== 1) {
  console.error('usage: ort.mjs MODEL.onnx [--threads N] [--iters N] [--shape name=1x3]… [--modules DIR]');
  process.exit(2);
}
const threads = Number(options.threads);
const ort = createRequire(path.join(path.resolve(options.modules), 'package.json'))('onnxruntime-node');
const shapes = new Map(options.shape.map((text) => {
  const at = text.lastIndexOf('=');
  return [text.slice(0, at), text.slice(at + 1).split('x').map(Number)];
}));

const arrays = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, int8: Int8Array, uint8: Uint8Array,
  int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
  uint64: BigUint64Array, bool: Uint8Array,
};

// Floats are uniform in [0, 1); integers are 0 or 1, which are indices that every table has.
function randomTensor({ name, type, shape }) {
  const dims = shapes.get(name) ?? shape.map((d) => (typeof d === 'number' ? d : 1));
  const count = dims.reduce((a, b) => a * b, 1);
  if (type === 'string') return new ort.Tensor(type, Array(count).fill(''), dims);
  if (!(type in arrays)) throw new Error(`cannot make inputs of type ${type}`);
  const value = {
    float32: Math.random,
    float64: Math.random,
    float16: () => (14 << 10) | Math.floor(Math.random() * 1024),  // [0.5, 1)
    int64: () => BigInt(Math.random() < 0.5),
    uint64: () => BigInt(Math.random() < 0.5),
  }[type] ?? (() => Number(Math.random() < 0.5));
  return new ort.Tensor(type, arrays[type].from({ length: count }, value), dims);
}

const now = () => Number(process.hrtime.bigint()) / 1e6;

const before = now();
const session = await ort.InferenceSession.create(positionals[0], {
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  executionMode: 'sequential',
  graphOptimizationLevel: 'all',
  executionProviders: ['cpu'],
});
const load = now() - before;

const feeds = Object.fromEntries(session.inputMetadata.map((input) => [input.name, randomTensor(input)]));
async function run(fetches) {
  const start = now();
  const outputs = await session.run(feeds, fetches);
  return [now() - start, outputs];
}
// The outputs of the first run are written over by all later ones, so that no run pays for making them.
const [first, outputs] = await run(session.outputNames);
const isArray = (tensor) => tensor.type !== 'string' && ArrayBuffer.isView(tensor.data);
const fetches = Object.values(outputs).every(isArray) ? outputs : session.outputNames;

const iters = options.iters === undefined ? Infinity : Number(options.iters);
const seconds = options.iters === undefined ? 5 : Infinity;
for (let i = 0; i < Math.min(3, iters); ++i) await run(fetches);
const times = [];
for (const start = now(); times.length < iters && (times.length < 3 || now() - start < seconds * 1000);) {
  times.push((await run(fetches))[0]);
}
times.sort((a, b) => a - b);
const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
const round = (ms) => Number(ms.toFixed(4));
// The peak of this program alone: getrusage would count what the process was before it became node.
function peakMegabytes() {
  try {
    return Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}
console.log(JSON.stringify({
  median_ms: round(at(0.5)), min_ms: round(times[0]), p90_ms: round(at(0.9)), load_ms: round(load),
  first_ms: round(first), rss_mb: round(peakMegabytes()), iters: times.length, threads,
}));
