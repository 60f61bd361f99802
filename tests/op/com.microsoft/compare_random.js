// node compare_random.js TOOL FIRST LAST: compares the graphs of these seeds (random_graphs.js), as TOOL and ONNX Runtime
// run them, lists the differences, and counts them by operator. Where onnxruntime-node is, NODE_PATH says.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const {spawnSync} = require('child_process');
const cases = require('./cases.js');
const {graph} = require('./random_graphs.js');

// --- in a process of its own, which ONNX Runtime may end: a folder for each graph ---

async function write(folder, first, last) {
  const ort = require('onnxruntime-node');
  for (let seed = first; seed <= last; ++seed) {
    fs.writeFileSync(path.join(folder, 'at'), String(seed));
    const g = graph(seed), at = path.join(folder, String(seed));
    let results;
    try {
      const session = await ort.InferenceSession.create(g.model, cases.options);
      const feeds = Object.fromEntries(Object.entries(g.feeds).map(([name, t]) => [name, fed(ort, t)]));
      results = await session.run(feeds);
    } catch (e) {
      fs.appendFileSync(path.join(folder, 'refused'), `${seed}: ${g.names}: ${e.message}\n`);
      continue;
    }
    fs.mkdirSync(at);
    fs.writeFileSync(path.join(at, 'model.onnx'), g.model);
    Object.entries(g.feeds).forEach(([name, t], k) => fs.writeFileSync(path.join(at, `input_${k}.pb`), cases.tensor(name, t)));
    for (const r of g.results) fs.writeFileSync(path.join(at, r.name + '.json'), JSON.stringify(cases.result(results[r.name]).values.map(plain)));
  }
}
// A number as JSON has it.
const plain = v => typeof v === 'bigint' ? Number(v) : Number.isFinite(v) ? v : String(v);
function fed(ort, {type, extents, values}) {
  const raw = cases.raw(type, values), b = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length);
  const [name, array] = {float: ['float32', Float32Array], int32: ['int32', Int32Array], int64: ['int64', BigInt64Array], uint8: ['uint8', Uint8Array],
    int8: ['int8', Int8Array], int16: ['int16', Int16Array], float16: ['float16', Uint16Array], bool: ['bool', Uint8Array]}[type];
  return new ort.Tensor(name, new array(b), extents);
}

// --- the comparison ---

// The numbers of a .npy file.
function numbers(file) {
  const b = fs.readFileSync(file), start = 10 + b.readUInt16LE(8), header = b.toString('latin1', 10, start);
  const type = /'descr': '[<|>=]?(\w+)'/.exec(header)[1], bytes = Number(type.slice(1));
  const read = {f4: o => b.readFloatLE(o), f2: o => cases.fromHalf(b.readUInt16LE(o)), u1: o => b[o], i1: o => b.readInt8(o), b1: o => b[o], i4: o => b.readInt32LE(o), i8: o => Number(b.readBigInt64LE(o))}[type];
  return Array.from({length: (b.length - start) / bytes}, (_, k) => read(start + k * bytes));
}
const exact = v => Number.isFinite(v) ? v : String(v);
// The greatest difference of two results, over the greatest number; of bytes in units.
function distance(type, a, b) {
  if (a.length !== b.length) return Infinity;
  let most = 0, greatest = 0;
  for (let k = 0; k < a.length; ++k) {
    if (Number.isFinite(a[k]) && Number.isFinite(b[k])) {
      most = Math.max(most, Math.abs(a[k] - b[k]));
      greatest = Math.max(greatest, Math.abs(b[k]));
    } else if (exact(a[k]) !== exact(b[k])) return Infinity;
  }
  return type.startsWith('float') ? most / Math.max(greatest, 1e-4) : most;
}
// How far results may be apart. A byte may be rounded to its neighbour; then others follow from other operands.
const tolerance = {float: 2e-4, float16: 2e-3, uint8: 1, int8: 1, int32: 0, int64: 0};
// Operators that round their input to bytes, where one step is more.
const coarse = {DynamicQuantizeMatMul: 2e-2, DynamicQuantizeLSTM: 2e-2, QMoE: 2e-2};

function outcome(folder, tool, seed) {
  const at = path.join(folder, String(seed)), g = graph(seed), out = path.join(at, 'out');
  const run = ['run', path.join(at, 'model.onnx'), '--threads', '1', '--output', out];
  Object.keys(g.feeds).forEach((name, k) => run.push('--input', `${name}=${path.join(at, `input_${k}.pb`)}`));
  const r = spawnSync(tool, run, {encoding: 'utf8'});
  if (r.status !== 0) return `refused by the tool: ${g.names}: ${(r.stderr || '').trim().slice(0, 400)}${r.signal || ''}`;
  for (const result of g.results) {
    const expected = JSON.parse(fs.readFileSync(path.join(at, result.name + '.json'))).map(v => typeof v === 'string' ? Number(v) : v);
    const d = distance(result.type, numbers(path.join(out, result.name + '.npy')), expected);
    const most = Math.max(tolerance[result.type], coarse[result.op] || 0);
    if (d > most) return `${result.op}: ${result.type} ${result.name} is ${d} off, of ${g.names}`;
    if (d > 0 && ['uint8', 'int8'].includes(result.type) || d > tolerance[result.type]) return '';
  }
  return '';
}

function main(tool, first, last) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'compare_random_'));
  for (let next = first; next <= last;) {
    const worker = spawnSync(process.execPath, [__filename, '--write', folder, String(next), String(Math.min(last, next + 499))], {encoding: 'utf8'});
    const at = Number(fs.readFileSync(path.join(folder, 'at'), 'utf8'));
    if (worker.status !== 0) fs.appendFileSync(path.join(folder, 'refused'), `${at}: ${graph(at).names}: ends ONNX Runtime's process\n`);
    next = at + 1;
  }
  const refused = fs.existsSync(path.join(folder, 'refused')) ? fs.readFileSync(path.join(folder, 'refused'), 'utf8').trim().split('\n') : [];
  for (const line of refused) console.log('refused by ONNX Runtime: ' + line.slice(0, 300));
  let same = 0;
  const kinds = {};
  for (let seed = first; seed <= last; ++seed) {
    if (!fs.existsSync(path.join(folder, String(seed), 'model.onnx'))) continue;
    const text = outcome(folder, tool, seed);
    if (text === '') {
      ++same;
      continue;
    }
    console.log(`${seed}: ${text}`);
    const kind = text.slice(0, text.indexOf(':'));
    kinds[kind] = (kinds[kind] || 0) + 1;
  }
  console.log(`${last - first + 1} graphs: ${same} the same, ${refused.length} refused by ONNX Runtime`, kinds);
  fs.rmSync(folder, {recursive: true});
}

if (process.argv[2] === '--write') write(process.argv[3], Number(process.argv[4]), Number(process.argv[5]));
else main(process.argv[2], Number(process.argv[3]), Number(process.argv[4]));
