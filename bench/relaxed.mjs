// node relaxed.mjs: prints the option by which this node runs relaxed SIMD of WebAssembly, if it takes one; ends with 1
// if it does not run it.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

// A module with a function of one instruction of relaxed SIMD.
const splat = [0x41, 0, 0xfd, 0x0f];
const relaxedModule = [
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0,
  0x0a, 19, 1, 17, 0, ...splat, ...splat, ...splat, 0xfd, 0x85, 2, 0x0b,
];

/// The options by which a node runs relaxed SIMD, or undefined where it does not.
export function relaxedOptions(node) {
  const validates = `process.exit(WebAssembly.validate(Uint8Array.of(${relaxedModule})) ? 0 : 1)`;
  return [[], ['--experimental-wasm-relaxed-simd']]
    .find((options) => spawnSync(node, [...options, '-e', validates]).status === 0);
}

if (fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const options = relaxedOptions(process.execPath);
  if (options === undefined) process.exit(1);
  console.log(options.join(' '));
}
