// bench/compare language: tokens per second of a language model that decodes or reads a prompt, see README.md.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { decoder, decoderProducts, decoders, longestText } from './models/language.mjs';

/// Bytes of the products' weights, of which each step reads all: 4 bits, and a float for 32 of them.
const weightBytes = (extents) =>
  decoderProducts(extents).reduce((sum, [inputs, outputs, count]) => sum + inputs * outputs * count * 5 / 8, 0);
/// Bytes of keys and values that a step reads.
const cacheBytes = ({ layers, pairs }, past) => 2 * 4 * 64 * layers * pairs * past;

function runOnce(command, args) {
  const { status, signal, stdout, stderr, error } = spawnSync(command, args.map(String), {
    encoding: 'utf8', maxBuffer: 1 << 28, timeout: 600_000,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${path.basename(command)}, ${signal ?? status}: ${stderr.split('\n')[0]}`);
  return JSON.parse(stdout.trimEnd().split('\n').at(-1));
}

// The program for ggml's products, or undefined without GGML, the folder where it is installed.
function compileGgml(compile) {
  const folder = process.env.GGML;
  if (!folder) return undefined;
  return compile('ggml', [
    `-I${folder}/include`, `-L${folder}/lib`, `-Wl,-rpath,${folder}/lib`, '-lggml', '-lggml-cpu', '-lggml-base',
  ]);
}

// What two sides' tokens say: that they are equal, or the first difference, and the lead that the chosen token had over
// the next one, as a share of its logit.
function tokensText(ours, theirs) {
  const at = ours.tokens.findIndex((token, k) => token !== theirs.tokens[k]);
  if (at < 0) return `${ours.tokens.length} equal`;
  const leads = [ours, theirs].map(({ margins }) => margins[at].toExponential(0));
  return `${at} equal, then leads of ${leads.join(' and ')}`;
}

/// The rows of a table, after its heading. `program` is Tenon's, `ort` ONNX Runtime's library; `compile` builds a
/// program of this folder and gives its path.
/// With `prompts`, each step reads one of that many tokens, with empty caches.
export function compareDecoding({
  size, exact, threadCounts, rounds, pasts, prompts, steps, level, cache, program, ort, compile,
}) {
  const extents = decoders[size];
  if (extents === undefined) throw new Error(`--size ${Object.keys(decoders).join(' or ')}`);
  if (Math.max(...pasts) + steps > longestText) throw new Error(`--past and --steps: more than ${longestText} steps`);
  if (Math.max(0, ...prompts) > longestText) throw new Error(`--prompt: more than ${longestText} tokens`);
  const folder = path.join(cache, 'models', `decoder-${size}${exact ? '-exact' : ''}`);
  const file = path.join(folder, 'model.onnx');
  const made = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const maker = new URL('./models/language.mjs', import.meta.url);
  if (made < fs.statSync(maker).mtimeMs) decoder(extents, !exact).write(folder);
  const theirLevel = level ? ['--level', level] : [];
  const sides = {
    tenon: [program, [file]],
    ort: [compile('ort_decoding'), [ort, file, ...theirLevel]],
  };
  const ggml = compileGgml(compile);
  const products = decoderProducts(extents).map((product) => product.join('x'));
  const read = Object.fromEntries(execFileSync(compile('peak'), ['read'], { encoding: 'utf8' }).trim().split('\n')
    .map((line) => JSON.parse(line)).map(({ what, rates }) => [what, rates]));
  const bandwidths = Object.values(read).at(-1);
  console.log(`${size}: ${JSON.stringify(extents)}, ${(weightBytes(extents) / 1e6).toFixed(0)} MB of weights a step; ` +
    `memory is read at ${bandwidths[0]} GB/s with one thread, ${bandwidths[1]} with two.`);
  // A step of decoding after a text, or the reading of a prompt.
  const reading = prompts.length > 0;
  const rows = [[reading ? 'prompt' : 'past', 'threads', 'ours, tokens/s', 'theirs', 'ratio',
    ...(ggml ? ['ggml, products', 'ratio'] : []), ...(reading ? [] : ['of the bandwidth']), 'MB ours', 'theirs', 'tokens']];
  for (const length of reading ? prompts : pasts) {
    const past = reading ? 0 : length;
    const tokens = reading ? length : 1;
    for (const threads of threadCounts) {
      const results = { tenon: [], ort: [], ggml: [] };
      const options = ['--threads', threads, '--steps', steps, ...(reading ? ['--prompt', length] : [])];
      for (let round = 0; round < rounds; ++round) {
        const turn = Object.entries(sides);
        for (const [side, [command, words]] of round % 2 ? turn.reverse() : turn)
          results[side].push(runOnce(command, [...words, ...options, '--past', past]));
        if (ggml) results.ggml.push(runOnce(ggml, [...products, ...options]));
      }
      const least = (side) => Math.min(...results[side].map((r) => r.min_ms));
      const [ours, theirs, products_] = Object.keys(results).map(least);
      const bytes = weightBytes(extents) + cacheBytes(extents, past);
      const share = bytes / ours / 1e6 / bandwidths[Math.min(threads, 2) - 1];
      const rate = (ms) => (1000 * tokens / ms).toFixed(1);
      rows.push([String(length), String(threads), rate(ours), rate(theirs), (theirs / ours).toFixed(2),
        ...(ggml ? [rate(products_), (products_ / ours).toFixed(2)] : []),
        ...(reading ? [] : [`${(100 * share).toFixed(0)} %`]),
        ...['tenon', 'ort'].map((side) => results[side][0].rss_mb.toFixed(0)),
        tokensText(results.tenon[0], results.ort[0])]);
    }
  }
  return rows;
}
