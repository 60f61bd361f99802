// Small networks, recurrent ones, tree ensembles, and graphs that are nothing but many nodes.
import { Model } from './onnx.mjs';
import { bound, gemm, relu } from './layers.mjs';

/// Layers of the given widths with Relu between them.
export function mlp(widths, batch = 1) {
  const m = new Model();
  let x = m.input('x', [batch, widths[0]], { low: -1 });
  for (let i = 1; i < widths.length; ++i) {
    x = gemm(m, x, widths[i - 1], widths[i]);
    if (i + 1 < widths.length) x = relu(m, x);
  }
  m.output(x, [batch, widths.at(-1)]);
  return m;
}

/// Two layers over a sequence.
export function lstm(steps = 64, inputs = 128, hidden = 256) {
  const m = new Model();
  let x = m.input('x', [steps, 1, inputs], { low: -1 });
  let width = inputs;
  for (let layer = 0; layer < 2; ++layer) {
    const y = m.node('LSTM', [
      x, m.weight([1, 4 * hidden, width], -bound(width), bound(width)),
      m.weight([1, 4 * hidden, hidden], -bound(hidden), bound(hidden)), m.weight([1, 8 * hidden], -0.1, 0.1),
    ], { hidden_size: hidden });
    x = m.node('Squeeze', [y, m.constant([1], 'int64')]);
    width = hidden;
  }
  m.output(x, [steps, 1, hidden]);
  return m;
}

/// A gradient-boosted regressor: full binary trees.
export function trees(batch, count = 100, depth = 8, features = 32) {
  const m = new Model();
  const x = m.input('x', ['batch', features], { at: [batch, features] });
  const inner = 2 ** depth - 1;
  const nodes = 2 * inner + 1;
  const total = count * nodes;
  let state = 1;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const node = (f) => Array.from({ length: total }, (_, i) => f(i % nodes, Math.floor(i / nodes)));
  const leaves = inner + 1;
  const leaf = (f) => Array.from({ length: count * leaves }, (_, i) => f(i % leaves, Math.floor(i / leaves)));
  m.output(m.node('TreeEnsembleRegressor', [x], {
    n_targets: 1,
    aggregate_function: 'SUM',
    post_transform: 'NONE',
    nodes_treeids: node((_, tree) => tree),
    nodes_nodeids: node((id) => id),
    nodes_featureids: node((id) => (id < inner ? Math.floor(random() * features) : 0)),
    nodes_modes: node((id) => (id < inner ? 'BRANCH_LEQ' : 'LEAF')),
    nodes_values: Float32Array.from(node((id) => (id < inner ? 0.2 + 0.6 * random() : 0))),
    nodes_truenodeids: node((id) => (id < inner ? 2 * id + 1 : 0)),
    nodes_falsenodeids: node((id) => (id < inner ? 2 * id + 2 : 0)),
    nodes_missing_value_tracks_true: node(() => 0),
    target_treeids: leaf((_, tree) => tree),
    target_nodeids: leaf((i) => inner + i),
    target_ids: leaf(() => 0),
    target_weights: Float32Array.from(leaf(() => random() - 0.5)),
  }, { domain: 'ai.onnx.ml' }), ['batch', 1]);
  return m;
}

/// One node after another on 16 floats.
export function chain(nodes) {
  const m = new Model();
  let x = m.input('x', [16], { low: -1 });
  for (let i = 0; i < nodes; ++i) {
    x = [
      () => m.node('Add', [x, m.weight([16], -0.1, 0.1)]),
      () => m.node('Mul', [x, m.weight([16], 0.8, 1.2)]),
      () => m.node('Tanh', [x]),
      () => m.node('Sub', [m.weight([16], 0, 1), x]),
    ][i % 4]();
  }
  m.output(x, [16]);
  return m;
}

/// Branches of one node each into one Sum.
export function branches(count) {
  const m = new Model();
  const x = m.input('x', [16], { low: -1 });
  const parts = Array.from({ length: count }, () => m.node('Mul', [x, m.weight([16], -1, 1)]));
  m.output(m.node('Sum', parts), [16]);
  return m;
}
