// bench/compare web: compiled models in WebAssembly against onnxruntime-web, in node, see README.md.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { relaxedOptions } from './relaxed.mjs';

/// The models, and the extents that they leave open.
const shapes = { resnet50: 'batch=1', mobilenetv2: undefined, 'bert-base-128': 'batch=1,sequence=128' };

const here = path.dirname(fileURLToPath(import.meta.url));

const modified = (file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

// The module of a model that the tool compiles for a target, and the file of its weights.
function compileModel({ name, file, target, tool, cache, progress }) {
  const folder = path.join(cache, 'web', `${name}-${target.replace(':', '-')}`);
  const [header, weights, module] = ['model.hpp', 'weights.bin', 'web.wasm'].map((part) => path.join(folder, part));
  const driver = path.join(here, 'web.cc');
  if (modified(module) < Math.max(...[tool, file, driver].map(modified))) {
    progress(`${name}: compiling for ${target}`);
    fs.mkdirSync(folder, { recursive: true });
    const stdio = ['ignore', 'ignore', 'inherit'];
    const shape = shapes[name] ? ['--shape', shapes[name]] : [];
    execFileSync(tool, ['compile', file, '-o', header, '--weights', weights, '--namespace', 'compiled_model',
      '--target', target, ...shape], { stdio });
    const flags = fs.readFileSync(header, 'utf8').split('\n')[1].split(' ').filter((word) => word.startsWith('-'));
    execFileSync(process.env.WASM_CXX || 'clang++-19', [...flags, '-fuse-ld=lld', '-fno-exceptions', '-fno-rtti',
      '-mexec-model=reactor', '-nostartfiles', '-Wl,--no-entry,--strip-all', '-include', header, driver, '-o', module],
    { stdio });
  }
  return [module, weights];
}

// The greatest difference of the first outputs' floats, as a share of the greatest float.
function difference(ours, theirs) {
  const [a, b] = [ours, theirs].map((folder) => {
    const { buffer, byteOffset, byteLength } = fs.readFileSync(path.join(folder, 'output_0'));
    return new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
  });
  if (a.length !== b.length) throw new Error(`the outputs have ${a.length} and ${b.length} elements`);
  let [apart, greatest] = [0, 0];
  for (let k = 0; k < b.length; ++k) {
    apart = Math.max(apart, Math.abs(a[k] - b[k]));
    greatest = Math.max(greatest, Math.abs(b[k]));
  }
  return apart / greatest;
}

const geometricMean = (values) => Math.exp(values.reduce((sum, v) => sum + Math.log(v), 0) / values.length);

/// The rows of a table, its heading first. `tool` is Tenon's, `package_` the folder of onnxruntime-web; `build` makes a
/// model and gives its file.
export function compareWeb({ names, rounds, seconds, node, tool, package_, cache, build, progress }) {
  const chosen = names.length > 0 ? names : Object.keys(shapes);
  for (const name of chosen) if (!(name in shapes)) throw new Error(`no such model: ${name}`);
  const relaxed = relaxedOptions(node);
  const targets = { wasm32: [], ...(relaxed && { 'wasm32:relaxed': relaxed }) };
  const process_ = path.join(here, 'web_process.mjs');
  const rows = [['model', ...Object.keys(targets).flatMap((target) => [target, 'ratio']), 'theirs', 'difference']];
  const ratios = Object.keys(targets).map(() => []);
  for (const name of chosen) {
    const file = build(name);
    const folder = path.dirname(file);
    const inputs = fs.readdirSync(folder).filter((entry) => entry.startsWith('input_')).sort();
    const feeds = inputs.map((entry) => path.join(folder, entry));
    const sides = [
      ...Object.entries(targets).map(([target, options]) => ({
        name: target, command: [...options, process_, 'tenon', ...compileModel({ name, file, target, tool, cache, progress })],
      })),
      { name: 'ort', command: [process_, 'ort', package_, file] },
    ].map((side) => ({ ...side, saved: path.join(cache, 'run', `web-${name}`, side.name.replace(':', '-')), times: [] }));
    for (let round = 0; round < rounds; ++round) {
      for (const side of round % 2 ? [...sides].reverse() : sides) {
        progress(`${name}, round ${round + 1}: ${side.name}`);
        const result = spawnSync(node, ['--no-warnings', ...side.command, '--seconds', String(seconds),
          ...(round === 0 ? ['--save', side.saved] : []), ...feeds], { encoding: 'utf8' });
        if (result.status !== 0) throw new Error(`${name}, ${side.name}: ${result.stderr}`);
        side.times.push(JSON.parse(result.stdout.trimEnd().split('\n').at(-1)).min_ms);
      }
    }
    const [theirs, ...ours] = sides.toReversed().map(({ times }) => Math.min(...times));
    ours.reverse().forEach((time, k) => ratios[k].push(theirs / time));
    const apart = sides.slice(0, -1).map(({ saved }) => difference(saved, sides.at(-1).saved));
    rows.push([name, ...ours.flatMap((time) => [time.toFixed(1), (theirs / time).toFixed(2)]), theirs.toFixed(1),
      Math.max(...apart).toExponential(0)]);
  }
  if (chosen.length > 1)
    rows.push(['geometric mean', ...ratios.flatMap((some) => ['', geometricMean(some).toFixed(2)]), '', '']);
  return rows;
}
