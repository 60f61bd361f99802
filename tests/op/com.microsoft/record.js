// node record.js FILE...: writes ONNX Runtime's results into tables of cases, tests/data/com.microsoft/*.txt, whose form
// recorded.hpp states. Where `npm install onnxruntime-node` put the package, NODE_PATH says.
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');
const cases = require('./cases.js');

async function record(file) {
  const out = [];
  for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
    if (line.startsWith('= ')) continue;
    out.push(line);
    if (line === '' || line.startsWith('#')) continue;
    try {
      const session = await ort.InferenceSession.create(cases.modelOf(cases.parse(line)), cases.options);
      const results = await session.run({});
      for (const name of session.outputNames) {
        const {type, extents, values} = cases.result(results[name]);
        const text = values.map(v => typeof v === 'bigint' ? v : type === 'float' ? Number(Number(v).toPrecision(9)) : v);
        out.push(`= ${type}[${extents.join(',')}] ${text.join(' ')}`.trimEnd());
      }
    } catch (e) {
      console.error(`${file}: ${line}\n  ${e.message}`);
      process.exitCode = 1;
    }
  }
  fs.writeFileSync(file, out.join('\n'));
}
(async () => {
  for (const file of process.argv.slice(2)) await record(file);
})();
