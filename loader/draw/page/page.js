'use strict';
(() => {
const model = JSON.parse(document.getElementById('model').textContent);
const byId = id => document.getElementById(id);
const make = (tag, text, kind) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
};
// Who reads a value is told by the nodes.
const values = model.values.map(([name, type, producer, source, outer, content], id) =>
  ({ id, name, type, producer, source, outer, content, consumers: [] }));
const nodes = model.nodes.map(([op, name, graph, inputs, outputs, captures, attributes, bodies, fn, doc], id) =>
  ({ id, op, name, graph, inputs, outputs, captures, attributes, bodies, fn, doc }));
const graphs = model.graphs.map(([title, kind, parent, inputs, outputs, initializers, outer, doc], id) =>
  ({ id, title, kind, parent, inputs, outputs, initializers, outer, doc, nodes: [] }));
for (const n of nodes) {
  graphs[n.graph].nodes.push(n);
  for (const v of new Set([...n.inputs, ...n.captures])) if (v >= 0) values[v].consumers.push(n.id);
}
const nameOf = n => n.name || n.outputs.map(v => v < 0 ? '' : values[v].name).find(Boolean) || n.op;

// --- scopes: a tree of the parts of names ---

const depthMost = 32;
function scopesOf(g) {
  if (g.root) return g;
  const group = (label, parent) => ({ label, parent, children: [], groups: new Map(), open: false, count: 0 });
  g.root = group('', null);
  g.root.open = true;
  g.leaves = new Map();
  for (const [order, n] of g.nodes.entries()) {
    const parts = nameOf(n).split('/').filter(Boolean);
    const label = parts.pop() || n.op;
    let at = g.root;
    for (const part of parts.slice(0, depthMost)) {
      let next = at.groups.get(part);
      if (!next) {
        at.groups.set(part, next = group(part, at));
        at.children.push(next);
      }
      at = next;
    }
    const leaf = { label, parent: at, node: n, order };
    at.children.push(leaf);
    g.leaves.set(n.id, leaf);
  }
  const tidy = at => {
    at.children = at.children.map(c => c.node ? c : tidy(c));
    at.count = at.children.reduce((sum, c) => sum + (c.node ? 1 : c.count), 0);
    at.order = at.children.reduce((least, c) => Math.min(least, c.order), Infinity);
    // A scope of one thing tells no more than the thing.
    if (at.parent && at.children.length === 1) {
      const only = at.children[0];
      only.parent = at.parent;
      only.label = at.label + '/' + only.label;
      return only;
    }
    return at;
  };
  tidy(g.root);
  // Values from outside, and results, are pills next to the nodes.
  g.pills = new Map();
  g.ends = [];
  const pill = (v, role, order) => ({ label: values[v].name, value: v, role, parent: g.root, order });
  for (const v of [...g.inputs, ...g.outer])
    if (!g.pills.has(v)) g.pills.set(v, pill(v, 'input', -1));
  const read = new Set(g.nodes.flatMap(n => [...n.inputs, ...n.captures]).concat(g.outputs));
  for (const v of read)
    if (v >= 0 && values[v].source === 4) g.pills.set(v, pill(v, 'missing', -1));
  g.root.children.unshift(...g.pills.values());
  for (const v of g.outputs) {
    const end = pill(v, 'output', 1e9);
    g.ends.push(end);
    g.root.children.push(end);
  }
  g.edges = [];
  const edge = (v, to) => {
    const from = g.pills.get(v) || g.leaves.get(values[v].producer);
    if (from && from !== to) g.edges.push({ v, from, to });
  };
  for (const n of g.nodes)
    for (const v of new Set([...n.inputs, ...n.captures])) if (v >= 0) edge(v, g.leaves.get(n.id));
  for (const end of g.ends) edge(end.value, end);
  // As many scopes are open as a look can take in.
  let shown = g.root.children.length;
  const queue = g.root.children.filter(c => c.children);
  while (queue.length) {
    const c = queue.shift();
    if (shown + c.children.length > 140) continue;
    c.open = true;
    shown += c.children.length - 1;
    queue.push(...c.children.filter(d => d.children));
  }
  return g;
}

// --- layout: each open scope in layers of its own ---

const canvas = document.createElement('canvas'), ctx = canvas.getContext('2d');
const face = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const bold = '600 12px ' + face, plain = '10.5px ' + face;
// By the widths of letters: to measure thousands of names would take longer than all the rest.
const widths = { [bold]: new Map(), [plain]: new Map() };
function widthOf(text, font) {
  let sum = 0;
  const known = widths[font];
  for (const letter of text) {
    let w = known.get(letter);
    if (w === undefined) {
      ctx.font = font;
      known.set(letter, w = ctx.measureText(letter).width);
    }
    sum += w;
  }
  return sum;
}
function cut(text, font, most) {
  if (text.length > 200) text = text.slice(0, 200) + '…';
  if (widthOf(text, font) <= most) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(text.slice(0, middle) + '…', font) <= most) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low) + '…';
}
const extents = type => type.replace(/^[^[(]*\[(.*)\]$/, '$1').replaceAll(',', '×');
function measure(item) {
  if (!item.lines) {
    if (item.node) item.lines = [item.node.op, item.label === item.node.op ? '' : item.label];
    else if (item.children) item.lines = [item.label, item.count + ' nodes'];
    else item.lines = [item.label, values[item.value].type];
    item.lines = [cut(item.lines[0], bold, 200), cut(item.lines[1], plain, 200)];
  }
  const w = Math.max(widthOf(item.lines[0], bold), widthOf(item.lines[1], plain)) + 22;
  return { w: Math.max(56, w), h: item.lines[1] ? 38 : 26 };
}

const gapX = 18, gapY = 34, farMost = 40;
function layout(group, edges) {
  const all = [], of = new Map(), ins = new Map(), outs = new Map(), inner = new Map(), links = new Map();
  const add = (n) => {
    Object.assign(n, { id: all.length, x: 0, y: 0, rank: 0, up: [], down: [] });
    all.push(n);
    return n;
  };
  for (const item of group.children) of.set(item, add({ item, order: item.order, w: 0, h: 0 }));
  const port = (ports, v, order) => {
    if (!ports.has(v)) ports.set(v, add({ v, order, w: 2, h: 0, port: true }));
    return ports.get(v);
  };
  const childOf = leaf => {
    while (leaf.parent !== group) leaf = leaf.parent;
    return leaf;
  };
  const hand = (child, e) => {
    if (!child.open) return;
    if (!inner.has(child)) inner.set(child, []);
    inner.get(child).push(e);
  };
  for (const e of edges) {
    const a = e.from && childOf(e.from), b = e.to && childOf(e.to);
    if (a && a === b) {
      hand(a, e);
      continue;
    }
    if (a) hand(a, { v: e.v, from: e.from, to: null });
    if (b) hand(b, { v: e.v, from: null, to: e.to });
    const from = a ? of.get(a) : port(ins, e.v, -2), to = b ? of.get(b) : port(outs, e.v, 2e9);
    const key = e.v + ':' + from.id + ':' + to.id;
    if (!links.has(key)) links.set(key, { v: e.v, from, to, via: [] });
  }
  for (const n of all)
    if (n.item) Object.assign(n, n.item.open ? layout(n.item, inner.get(n.item) || []) : measure(n.item));

  // Ranks: the longest way from the top. A link against the order of nodes is drawn, but decides nothing.
  const inOrder = [...all].sort((a, b) => a.order - b.order || a.id - b.id);
  const forward = new Map(), backward = new Map();
  for (const n of all) forward.set(n, []), backward.set(n, []);
  for (const l of links.values()) {
    l.back = l.from.order > l.to.order || (l.from.order === l.to.order && l.from.id > l.to.id);
    if (!l.back) forward.get(l.from).push(l.to), backward.get(l.to).push(l.from);
  }
  const first = ins.size ? 1 : 0;
  for (const n of inOrder) {
    if (!(n.port && n.order < 0)) n.rank = Math.max(n.rank, first);
    for (const m of forward.get(n)) m.rank = Math.max(m.rank, n.rank + 1);
  }
  let last = 0;
  for (const n of all) if (!(n.port && n.order > 0)) last = Math.max(last, n.rank);
  for (const n of outs.values()) n.rank = last + 1;
  for (const n of inOrder.reverse())
    if (!n.port && backward.get(n).length === 0 && forward.get(n).length)
      n.rank = Math.max(first, Math.min(...forward.get(n).slice(0, 1000).map(m => m.rank)) - 1);

  // Long links go by places that layers keep free for them; links from one value to many share these.
  const chains = new Map();
  for (const l of links.values()) {
    if (l.back || l.to.rank - l.from.rank > farMost) continue;
    const key = l.from.id + ':' + l.v;
    if (!chains.has(key)) chains.set(key, []);
    const chain = chains.get(key);
    let above = l.from;
    for (let r = l.from.rank + 1; r < l.to.rank; ++r) {
      const k = r - l.from.rank - 1;
      if (!chain[k]) {
        chain[k] = add({ order: l.from.order + .5, w: 2, h: 0, lane: true });
        chain[k].rank = r;
        above.down.push(chain[k]);
        chain[k].up.push(above);
      }
      above = chain[k];
      l.via.push(above);
    }
    above.down.push(l.to);
    l.to.up.push(above);
  }

  const layers = [];
  for (const n of all) (layers[n.rank] ||= []).push(n);
  for (let r = 0; r < layers.length; ++r) {
    layers[r] ||= [];
    layers[r].sort((a, b) => a.order - b.order || a.id - b.id);
    layers[r].forEach((n, k) => n.at = k);
  }
  const sweep = (layer, side) => {
    for (const n of layer) {
      const near = n[side];
      n.want = near.length ? near.reduce((sum, m) => sum + m.at / m.of, 0) / near.length : n.at / layer.length;
    }
    layer.sort((a, b) => a.want - b.want || a.at - b.at);
    layer.forEach((n, k) => n.at = k);
  };
  for (const layer of layers) for (const n of layer) n.of = layer.length;
  for (let turn = 0; turn < 4; ++turn) {
    for (let r = 1; r < layers.length; ++r) sweep(layers[r], 'up');
    for (let r = layers.length - 1; r-- > 0;) sweep(layers[r], 'down');
  }

  // Places in a layer: as near to the neighbours as order and widths allow, by isotonic regression.
  const settle = (layer, sides) => {
    const blocks = [];
    let offset = 0;
    for (const n of layer) {
      let sum = 0, weight = 0;
      for (const side of sides)
        for (const m of n[side]) {
          const w = n.lane && m.lane ? 6 : 1;
          sum += m.x * w;
          weight += w;
        }
      const want = weight ? sum / weight : n.x;
      weight = weight ? (n.lane ? 3 : 1) : .05;
      n.offset = offset + n.w / 2;
      offset += n.w + (n.lane ? gapX / 2 : gapX);
      let block = { sum: (want - n.offset) * weight, weight, count: 1 };
      while (blocks.length && blocks.at(-1).sum / blocks.at(-1).weight >= block.sum / block.weight) {
        const before = blocks.pop();
        block = { sum: before.sum + block.sum, weight: before.weight + block.weight, count: before.count + block.count };
      }
      blocks.push(block);
    }
    let k = 0;
    for (const b of blocks)
      for (const end = k + b.count; k < end; ++k) layer[k].x = b.sum / b.weight + layer[k].offset;
  };
  for (const layer of layers) {
    const total = layer.reduce((sum, n) => sum + n.w + gapX, 0);
    let x = -total / 2;
    for (const n of layer) {
      n.x = x + n.w / 2;
      x += n.w + gapX;
    }
  }
  for (let turn = 0; turn < 5; ++turn) {
    for (let r = 1; r < layers.length; ++r) settle(layers[r], ['up']);
    for (let r = layers.length - 1; r-- > 0;) settle(layers[r], ['down']);
  }
  for (const layer of layers) settle(layer, ['up', 'down']);

  const title = group.parent ? 24 : 0, pad = 14;
  let left = Infinity, right = -Infinity, y = title + (ins.size ? 4 : pad), bottom = y;
  for (const layer of layers) {
    const height = layer.reduce((most, n) => Math.max(most, n.h), 0);
    for (const n of layer) {
      n.y = y + (height - n.h) / 2;
      left = Math.min(left, n.x - n.w / 2);
      right = Math.max(right, n.x + n.w / 2);
    }
    bottom = y + height;
    y = bottom + gapY;
  }
  if (left > right) left = right = 0;
  const titleWidth = group.parent ? widthOf(cut(group.label, bold, 260), bold) + 40 : 0;
  const w = Math.max(right - left + 2 * pad, titleWidth), h = bottom + (outs.size ? 0 : pad);
  const shift = (w - (right - left)) / 2 - left;
  for (const n of all) n.x += shift;
  group.plan = { all, links: [...links.values()], w, h };
  const xs = ports => new Map([...ports].map(([v, n]) => [v, n.x]));
  return { w, h, inX: xs(ins), outX: xs(outs) };
}

// --- the picture: boxes and lines in the coordinates of the whole drawing ---

let graph = null, boxes = [], lines = [], view = { x: 0, y: 0, k: 1 }, chosen = null, size = { w: 0, h: 0 };
function place(group, x, y) {
  const { all, links, w, h } = group.plan;
  group.box = { x, y, w, h };
  if (group.parent) boxes.push({ item: group, x, y, w, h });
  for (const n of all) {
    if (!n.item) continue;
    const at = { item: n.item, x: x + n.x - n.w / 2, y: y + n.y, w: n.w, h: n.h };
    if (n.item.open) place(n.item, at.x, at.y);
    else n.item.box = at, boxes.push(at);
  }
  for (const l of links) {
    const points = [];
    const { from, to } = l;
    if (from.port) points.push([x + from.x, y], [x + from.x, y + from.y]);
    else points.push([x + (from.outX?.has(l.v) ? from.x - from.w / 2 + from.outX.get(l.v) : from.x), y + from.y + from.h]);
    for (const n of l.via) points.push([x + n.x, y + n.y]);
    if (to.port) points.push([x + to.x, y + to.y], [x + to.x, y + h]);
    else points.push([x + (to.inX?.has(l.v) ? to.x - to.w / 2 + to.inX.get(l.v) : to.x), y + to.y]);
    const xs = points.map(p => p[0]), ys = points.map(p => p[1]);
    lines.push({ v: l.v, points, head: !to.port && !to.item.open, tail: !from.port && !from.item.open,
      far: l.back || (!l.via.length && to.rank - from.rank > 1),
      x0: Math.min(...xs), x1: Math.max(...xs), y0: Math.min(...ys), y1: Math.max(...ys) });
  }
}
function arrange() {
  layout(graph.root, graph.edges);
  boxes = [];
  lines = [];
  place(graph.root, 0, 0);
  size = graph.root.plan;
  document.body.dataset.drawn = boxes.length;
  later();
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const hues = [[/Conv/, 212], [/^(MatMul|Gemm|QGemm|Einsum|Attention|LSTM|GRU|RNN|.*MatMul.*)$/, 250],
  [/Norm/, 150], [/Pool|^Reduce|^Arg/, 178], [/^(If|Loop|Scan|SequenceMap)$/, 28],
  [/Relu|Sigmoid|Tanh|Gelu|Softmax|Softplus|Softsign|Elu|Selu|Swish|Erf|Clip|Mish/, 0],
  [/Quantize/, 320], [/^(Reshape|Transpose|Concat|Split|Slice|Gather.*|Scatter.*|Squeeze|Unsqueeze|Expand|Flatten|Pad|Shape|Size|Cast.*|Identity|Tile|Constant.*|Range|Where)$/, 50]];
function colours(item) {
  const night = dark.matches;
  if (item.value !== undefined)
    return item.role === 'missing' ? ['#fbdada', '#c62f2f', '#5a1010'] :
      night ? ['#26382a', '#5f9a6c', '#dff3e3'] : ['#e4f4e6', '#7db58a', '#143d1e'];
  if (item.children) return night ? ['#2b313b', '#7d8a9b', '#e4e8ee'] : ['#e6eaf0', '#8a97a8', '#1c232d'];
  if (item.node.fn >= 0) return night ? ['#372a45', '#a783cf', '#efe4fa'] : ['#efe6f8', '#a17cc9', '#331a4d'];
  const hue = hues.find(([words]) => words.test(item.node.op))?.[1];
  if (hue === undefined) return night ? ['#232932', '#66738a', '#e4e8ee'] : ['#f7f9fb', '#a9b5c4', '#1c232d'];
  return night ? [`hsl(${hue} 32% 20%)`, `hsl(${hue} 38% 52%)`, `hsl(${hue} 60% 92%)`] :
    [`hsl(${hue} 68% 93%)`, `hsl(${hue} 42% 62%)`, `hsl(${hue} 60% 18%)`];
}

let waiting = false;
function later() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}
function draw() {
  const box = canvas.parentElement.getBoundingClientRect(), dpr = devicePixelRatio || 1;
  if (!box.width) return;
  if (canvas.width !== Math.round(box.width * dpr) || canvas.height !== Math.round(box.height * dpr)) {
    canvas.width = Math.round(box.width * dpr);
    canvas.height = Math.round(box.height * dpr);
  }
  const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name);
  const { x, y, k } = view, x1 = x + box.width / k, y1 = y + box.height / k;
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.clearRect(0, 0, canvas.width, canvas.height);
  ctx.setTransform(k * dpr, 0, 0, k * dpr, -x * k * dpr, -y * k * dpr);
  const visible = boxes.filter(b => b.x < x1 && b.x + b.w > x && b.y < y1 && b.y + b.h > y);
  const text = k > .3;
  ctx.textBaseline = 'middle';
  for (const b of visible) {
    if (!b.item.open) continue;
    ctx.fillStyle = colour('--scope');
    ctx.strokeStyle = colour('--line');
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.roundRect(b.x, b.y, b.w, b.h, 9);
    ctx.fill();
    ctx.stroke();
    if (!text) continue;
    ctx.font = bold;
    ctx.textAlign = 'left';
    ctx.fillStyle = colour('--dim');
    ctx.fillText('− ' + cut(b.item.label, bold, 260), b.x + 10, b.y + 13);
  }
  const near = new Set();
  if (chosen?.node) for (const v of [...chosen.node.inputs, ...chosen.node.outputs, ...chosen.node.captures]) near.add(v);
  if (chosen?.value !== undefined) near.add(chosen.value);
  const labelled = new Set();
  const labels = [];
  for (const l of lines) {
    if (l.x0 > x1 || l.x1 < x || l.y0 > y1 || l.y1 < y) continue;
    const marked = near.has(l.v);
    ctx.strokeStyle = marked ? colour('--mark') : colour('--edge');
    ctx.globalAlpha = l.far && !marked ? .35 : 1;
    ctx.lineWidth = marked ? 2 : 1.1;
    const p = l.points;
    ctx.beginPath();
    ctx.moveTo(p[0][0], p[0][1]);
    for (let i = 1; i < p.length; ++i) {
      const [ax, ay] = p[i - 1], [bx, by] = p[i];
      if (k < .12 || Math.abs(ax - bx) < 1) ctx.lineTo(bx, by);
      else {
        const bend = Math.max(10, Math.abs(by - ay) / 2);
        ctx.bezierCurveTo(ax, ay + bend, bx, by - bend, bx, by);
      }
    }
    ctx.stroke();
    if (l.head && k > .2) {
      const [hx, hy] = p.at(-1);
      ctx.fillStyle = ctx.strokeStyle;
      ctx.beginPath();
      ctx.moveTo(hx, hy);
      ctx.lineTo(hx - 3.5, hy - 7);
      ctx.lineTo(hx + 3.5, hy - 7);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
    if (k > .5 && l.tail && !labelled.has(l.v) && values[l.v].type) {
      labelled.add(l.v);
      labels.push([extents(values[l.v].type), p[0][0], p[0][1], marked]);
    }
  }
  for (const b of visible) {
    const { item } = b;
    if (item.open) continue;
    const [fill, stroke, ink] = colours(item);
    ctx.fillStyle = fill;
    ctx.strokeStyle = item === chosen ? colour('--mark') : stroke;
    ctx.lineWidth = item === chosen ? 2.5 : 1;
    ctx.beginPath();
    if (k > .12) ctx.roundRect(b.x, b.y, b.w, b.h, item.value !== undefined ? b.h / 2 : 6);
    else ctx.rect(b.x, b.y, b.w, b.h);
    if (item.children && text) {
      // A pile of sheets.
      ctx.save();
      ctx.translate(3, 3);
      ctx.fill();
      ctx.stroke();
      ctx.restore();
    }
    ctx.fill();
    ctx.stroke();
    if (!text) continue;
    ctx.textAlign = 'center';
    ctx.fillStyle = ink;
    ctx.font = bold;
    const two = item.lines[1] !== '';
    ctx.fillText((item.children ? '+ ' : '') + item.lines[0], b.x + b.w / 2, b.y + (two ? 13 : b.h / 2));
    ctx.font = plain;
    ctx.globalAlpha = .75;
    if (two) ctx.fillText(item.lines[1], b.x + b.w / 2, b.y + 27);
    ctx.globalAlpha = 1;
  }
  ctx.font = plain;
  ctx.textAlign = 'left';
  for (const [words, lx, ly, marked] of labels) {
    const w = widthOf(words, plain);
    ctx.fillStyle = colour('--back');
    ctx.globalAlpha = .8;
    ctx.fillRect(lx + 4, ly + 3, w + 2, 12);
    ctx.globalAlpha = 1;
    ctx.fillStyle = marked ? colour('--mark') : colour('--dim');
    ctx.fillText(words, lx + 5, ly + 9);
  }
}

function fit(whole) {
  const box = canvas.parentElement.getBoundingClientRect(), margin = 24;
  const across = (box.width - 2 * margin) / size.w, along = (box.height - 2 * margin) / size.h;
  view.k = whole ? Math.min(1.4, across, along) : Math.max(.6, Math.min(1, across));
  view.x = size.w / 2 - box.width / 2 / view.k;
  view.y = whole ? size.h / 2 - box.height / 2 / view.k : -margin / view.k;
  // A drawing wider than the paper begins where its first box is.
  if (!whole && across < .6 && boxes.length) {
    const top = boxes.reduce((a, b) => b.y < a.y ? b : a);
    view.x = top.x + top.w / 2 - box.width / 2 / view.k;
  }
  later();
}

// --- open graphs, and the chosen node ---

function show(g) {
  graph = scopesOf(graphs[g]);
  byId('which').value = g;
  arrange();
  fit(false);
}
function toggle(item) {
  const before = item.box;
  item.open = !item.open;
  arrange();
  // The scope stays where it was on the screen.
  view.x += item.box.x + item.box.w / 2 - before.x - before.w / 2;
  view.y += item.box.y - before.y;
}
function openAll(open) {
  const walk = at => {
    for (const c of at.children) if (c.children) c.open = open, walk(c);
  };
  walk(graph.root);
  arrange();
  fit(false);
}
function reveal(id) {
  const n = nodes[id];
  if (document.body.classList.contains('rows')) {
    location.hash = 'n' + id;
    return describe(scopesOf(graphs[n.graph]).leaves.get(id));
  }
  if (graph.id !== n.graph) show(n.graph);
  const leaf = graph.leaves.get(id);
  for (let at = leaf.parent; at; at = at.parent) at.open = true;
  arrange();
  const box = canvas.parentElement.getBoundingClientRect();
  view.k = Math.max(view.k, .8);
  view.x = leaf.box.x + leaf.box.w / 2 - box.width / 2 / view.k;
  view.y = leaf.box.y + leaf.box.h / 2 - box.height / 2 / view.k;
  describe(leaf);
}
const link = (words, act) => {
  const b = make('button', words, 'link');
  b.type = 'button';
  b.onclick = act;
  return b;
};
function describe(item) {
  chosen = item;
  later();
  const side = byId('chosen');
  side.replaceChildren();
  byId('about').hidden = item !== null;
  if (!item) return;
  const listOf = (title, all, row) => {
    if (!all.length) return;
    side.append(make('h2', title));
    const ul = make('ul');
    for (const one of all.slice(0, 200)) {
      const li = make('li');
      row(li, one);
      ul.append(li);
    }
    if (all.length > 200) ul.append(make('li', 'and ' + (all.length - 200) + ' more'));
    side.append(ul);
  };
  const nodeLink = id => link(nodes[id].op + ' ' + nameOf(nodes[id]), () => reveal(id));
  const valueRow = (li, v) => {
    if (v < 0) return void li.append(make('i', 'left out'));
    li.append(make('span', values[v].name, 'name'), make('br'), make('i', values[v].content || values[v].type || '?'));
  };
  const makers = (li, v) => {
    let from = v;
    while (from >= 0 && values[from].outer >= 0) from = values[from].outer;
    if (from >= 0 && values[from].producer >= 0) li.append(make('br'), '← ', nodeLink(values[from].producer));
  };
  const readers = (li, v) => {
    if (v < 0) return;
    for (const c of values[v].consumers.slice(0, 20)) li.append(make('br'), '→ ', nodeLink(c));
    if (values[v].consumers.length > 20) li.append(make('br'), make('i', 'and ' + (values[v].consumers.length - 20) + ' more'));
  };
  if (item.value !== undefined) {
    side.append(make('h2', item.role === 'output' ? 'Output' : item.role === 'input' ? 'Input' : 'Defined nowhere'));
    listOf('', [item.value], (li, v) => {
      valueRow(li, v);
      makers(li, v);
      readers(li, v);
    });
    return;
  }
  const n = item.node;
  side.append(make('h2', n.op), make('div', n.name, 'name'));
  if (n.doc) side.append(make('p', n.doc));
  if (n.fn >= 0) side.append(link('open ' + graphs[n.fn].title, () => show(n.fn)));
  listOf('Bodies', n.bodies, (li, [name, g]) => li.append(link(name + ': ' + graphs[g].nodes.length + ' nodes', () => show(g))));
  if (n.attributes.length) {
    side.append(make('h2', 'Attributes'));
    const dl = make('dl');
    for (const [name, text] of n.attributes) dl.append(make('dt', name), make('dd', text, 'name'));
    side.append(dl);
  }
  listOf('Inputs', n.inputs, (li, v) => {
    valueRow(li, v);
    makers(li, v);
  });
  listOf('Read by its bodies', n.captures, (li, v) => {
    valueRow(li, v);
    makers(li, v);
  });
  listOf('Outputs', n.outputs, (li, v) => {
    valueRow(li, v);
    readers(li, v);
  });
}

// --- search ---

const texts = [];
function search() {
  const words = byId('search').value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const side = byId('found');
  side.replaceChildren();
  if (!words.length) return;
  if (!texts.length)
    for (const n of nodes)
      texts.push([n.op, n.name, ...[...n.inputs, ...n.outputs].map(v => v < 0 ? '' : values[v].name)].join('\n').toLowerCase());
  const hits = nodes.filter(n => words.every(w => texts[n.id].includes(w)));
  side.append(make('h2', hits.length + ' of ' + nodes.length + ' nodes'));
  const ul = make('ul');
  for (const n of hits.slice(0, 200)) {
    const li = make('li');
    li.append(make('i', n.op + ' '), link(nameOf(n), () => reveal(n.id)));
    if (n.graph) li.append(make('i', ' in ' + graphs[n.graph].title));
    ul.append(li);
  }
  side.append(ul);
  return hits;
}

// --- the page ---

document.body.classList.add('live');
byId('paper').append(canvas);
for (const g of graphs) {
  const o = make('option', g.title + ' (' + g.nodes.length + ')');
  o.value = g.id;
  byId('which').append(o);
}
byId('which').hidden = graphs.length < 2;
byId('which').onchange = e => {
  describe(null);
  show(+e.target.value);
};
const rows = on => {
  document.body.classList.toggle('rows', on);
  byId('as-graph').ariaPressed = String(!on);
  byId('as-rows').ariaPressed = String(on);
  later();
};
byId('as-graph').onclick = () => rows(false);
byId('as-rows').onclick = () => rows(true);
byId('unfold').onclick = () => openAll(true);
byId('fold').onclick = () => openAll(false);
byId('fit').onclick = () => fit(true);
byId('search').oninput = search;
byId('search').onkeydown = e => {
  if (e.key === 'Enter') {
    const hits = search();
    if (hits?.length) reveal(hits[0].id);
  } else if (e.key === 'Escape') {
    e.target.value = '';
    search();
    e.target.blur();
  }
};
addEventListener('keydown', e => {
  if (e.target.tagName === 'INPUT') return;
  if (e.key === '/') {
    byId('search').focus();
    e.preventDefault();
  } else if (e.key === 'Escape') describe(null);
  else if (e.key === 'f') fit(true);
});
let grip = null;
const point = e => {
  const box = canvas.getBoundingClientRect();
  return [e.clientX - box.left, e.clientY - box.top];
};
canvas.onpointerdown = e => {
  grip = { x: e.clientX, y: e.clientY, vx: view.x, vy: view.y, moved: false };
  canvas.setPointerCapture(e.pointerId);
};
canvas.onpointermove = e => {
  if (!grip) return;
  const dx = e.clientX - grip.x, dy = e.clientY - grip.y;
  if (Math.abs(dx) + Math.abs(dy) > 4) grip.moved = true;
  view.x = grip.vx - dx / view.k;
  view.y = grip.vy - dy / view.k;
  later();
};
canvas.onpointerup = e => {
  const held = grip;
  grip = null;
  if (!held || held.moved) return;
  const [px, py] = point(e), x = view.x + px / view.k, y = view.y + py / view.k;
  const hit = boxes.filter(b => b.x <= x && x <= b.x + b.w && b.y <= y && y <= b.y + b.h).at(-1);
  if (hit?.item.children) {
    if (!hit.item.open || y < hit.y + 24) toggle(hit.item);
    else describe(null);
  } else describe(hit ? hit.item : null);
};
canvas.onwheel = e => {
  e.preventDefault();
  const [px, py] = point(e);
  if (e.ctrlKey || !e.shiftKey) {
    const k = Math.min(4, Math.max(.002, view.k * Math.exp(-e.deltaY * (e.ctrlKey ? .01 : .0016))));
    view.x += px / view.k - px / k;
    view.y += py / view.k - py / k;
    view.k = k;
  } else view.x += e.deltaY / view.k;
  later();
};
new ResizeObserver(later).observe(byId('paper'));
dark.onchange = later;
rows(false);
show(0);
draw();
document.body.dataset.ms = Math.round(performance.now());
if (/^#n\d+$/.test(location.hash) && nodes[+location.hash.slice(2)]) reveal(+location.hash.slice(2));
})();
