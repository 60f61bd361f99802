// node browser.mjs FOLDER IMAGES.npy LABELS.npy: serves the page that examples/browser/build wrote into the
// folder to a headless Chromium, reads all scans there, and draws digits with its mouse. Chromium is driven
// through a pipe, by its DevTools protocol.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [folder, images, labels] = process.argv.slice(2);
const elements = (file) => {
  const bytes = readFileSync(file);
  return [...bytes.subarray(10 + bytes[8] + 256 * bytes[9])];
};

const types = { html: 'text/html', wasm: 'application/wasm' };
const server = createServer((request, response) => {
  const name = request.url === '/' ? 'index.html' : request.url.slice(1);
  try {
    const body = readFileSync(join(folder, name));
    response.writeHead(200, { 'content-type': types[name.split('.').pop()] ?? 'text/plain' }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));

const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
const browser = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
  '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
let status = 1;
const ended = new Promise((exit) => browser.on('exit', exit));
async function end() {
  server.close();
  browser.kill();
  await ended;
  rmSync(profile, { recursive: true, force: true });
  process.exit(status);
}
setTimeout(() => { console.log('Chromium takes more than two minutes'); end(); }, 120000);

const waiting = new Map(), errors = [];
let text = '', count = 0;
browser.stdio[4].on('data', (data) => {
  text += data;
  for (let at; (at = text.indexOf('\0')) >= 0; text = text.slice(at + 1)) {
    const message = JSON.parse(text.slice(0, at));
    if (message.method === 'Runtime.exceptionThrown') errors.push(message.params.exceptionDetails.exception?.description);
    waiting.get(message.id)?.(message);
  }
});
let sessionId;
const call = (method, params = {}) => new Promise((resolve, reject) => {
  waiting.set(++count, ({ result, error }) => error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result));
  browser.stdio[3].write(JSON.stringify({ id: count, method, params, sessionId }) + '\0');
});
async function value(expression) {
  const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

// The strokes of a digit, as points of a square of 256.
const round = (x, y, a, b, from = 0, to = 360) => Array.from({ length: 25 }, (_, k) => {
  const turn = (from + (to - from) * k / 24) * Math.PI / 180;
  return [x + a * Math.sin(turn), y - b * Math.cos(turn)];
});
const digits = {
  0: [round(128, 128, 50, 85)],
  1: [[[100, 75], [135, 40], [135, 215]]],
  2: [[...round(128, 85, 50, 45, -80, 120), [75, 215], [190, 215]]],
  3: [[...round(120, 82, 45, 40, -60, 170), ...round(120, 170, 52, 46, 10, 240)]],
  4: [[[135, 40], [65, 150], [190, 150]], [[150, 95], [150, 220]]],
  7: [[[65, 45], [190, 45], [115, 215]]],
};

try {
  const { targetInfos } = await call('Target.getTargets');
  const { targetId } = targetInfos.find(({ type }) => type === 'page');
  ({ sessionId } = await call('Target.attachToTarget', { targetId, flatten: true }));
  await call('Runtime.enable');
  await call('Page.navigate', { url: `http://127.0.0.1:${server.address().port}/` });
  while (!await value('document.getElementById("paper")?.dataset.ready')) await new Promise((later) => setTimeout(later, 100));

  const { right, microseconds } = await value(`(async () => {
    const images = ${JSON.stringify(elements(images))}, labels = ${JSON.stringify(elements(labels))};
    const { exports } = (await WebAssembly.instantiate(await (await fetch('digits.wasm')).arrayBuffer())).instance;
    exports._initialize?.();
    let right, microseconds = Infinity;
    for (let round = 0; round < 30; ++round) {
      right = 0;
      const begin = performance.now();
      labels.forEach((label, k) => {
        new Uint8Array(exports.memory.buffer, exports.image(), 64).set(images.slice(64 * k, 64 * k + 64));
        right += exports.read_image() === label;
      });
      microseconds = Math.min(microseconds, (performance.now() - begin) / labels.length * 1000);
    }
    return { right, microseconds };
  })()`);
  console.log(`${right} of 400 digits are right, ${microseconds.toFixed(1)} us each`);
  let failed = right !== 396;

  const { left, top } = await value('(({ left, top }) => ({ left, top }))(document.getElementById("paper").getBoundingClientRect())');
  const mouse = (type, [x, y]) => call('Input.dispatchMouseEvent',
    { type, x: left + x, y: top + y, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1 });
  for (const [digit, strokes] of Object.entries(digits)) {
    await value('document.getElementById("clear").click()');
    for (const stroke of strokes) {
      await mouse('mousePressed', stroke[0]);
      for (const point of stroke.slice(1)) await mouse('mouseMoved', point);
      await mouse('mouseReleased', stroke.at(-1));
    }
    const said = await value('document.getElementById("digit").textContent'), time = await value('document.getElementById("time").textContent');
    console.log(`drawn ${digit}, read ${said}, ${time}`);
    failed ||= said !== digit;
  }
  for (const error of errors) console.log(error);
  if (!failed && errors.length === 0) status = 0;
} catch (error) {
  console.log(error);
}
await end();
