// node wasi.mjs MODULE.wasm [ARGUMENT...]: runs a program of WebAssembly with access to all files. A trap, as in
// abort(), ends it with 134, as a signal would.
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const args = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args, env: process.env, preopens: { '/': '/' } });
const module = await WebAssembly.compile(readFileSync(args[0]));
try {
  const imports = { wasi_snapshot_preview1: wasi.wasiImport };
  process.exitCode = wasi.start(await WebAssembly.instantiate(module, imports));
} catch (error) {
  if (!(error instanceof WebAssembly.RuntimeError)) throw error;
  console.error(error.message);
  process.exitCode = 134;
}
