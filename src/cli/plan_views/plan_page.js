// SPDX-License-Identifier: Apache-2.0
// The page's script. Names from the plan reach the page as text nodes alone.
// #step=N sets the scrubber; #step=N&axis=steps the axis; the page says what it
// shows, and whether it overflows, in attributes data-* of <html>, for tests.
'use strict';
const root = document.documentElement;
let errors = 0;
addEventListener('error', () => { root.dataset.errors = ++errors; });
root.dataset.errors = 0;
const plan = JSON.parse(document.getElementById('plan').textContent);
const series = plan.series, points = series.step.length;
const $ = id => document.getElementById(id);
const make = (name, attributes, text) => {
  const node = document.createElement(name);
  for (const key in attributes || {}) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  return node;
};
const draw = (parent, name, attributes, text) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
};
const count = n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',');
const billions = n => n >= 1e9 ? (n / 1e9).toFixed(1) + ' B' : n >= 1e6 ? (n / 1e6).toFixed(1) + ' M' : count(n);
const bytes = n => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let u = 0;
  for (; n >= 999.95 && u < 5; ++u) n /= 1000;
  return n.toFixed(u ? 1 : 0) + ' ' + units[u];
};
const percent = x => (100 * x).toFixed(x > 0 && x < .0095 ? 2 : 1) + '%';
const times = x => x >= 100 ? x.toFixed(0) : x.toFixed(2);

// The largest have a colour; the others one together, in charts.
const kColours = 8;
const bands = series.bands.map(band => ({...band, row: plan.sources[band.source], colour: 'var(--others)', own: false}));
const total = band => band.tokens[points - 1] || 0;
const bySize = bands.slice().sort((a, b) => total(b) - total(a));
const hidden = bands.length - kColours + series.others;
const shown = new Set(bySize.slice(0, hidden > 0 ? kColours : bands.length));
{
  let next = 0;
  for (const band of bands) if (shown.has(band)) { band.own = true; band.on = `var(--on${next}, #14181c)`; band.colour = `var(--c${next++})`; }
}
const charted = bands.filter(band => band.own);
const sumOf = (key, i, of = charted) => of.reduce((sum, band) => sum + (band[key][i] || 0), 0);
if (hidden > 0) {
  const steps = [...Array(points).keys()];
  charted.push({row: {path: `${hidden} others`, epochs: null}, colour: 'var(--others)', on: '#14181c', own: true, epochs: [],
    shares: steps.map(i => Math.max(0, 1 - sumOf('shares', i))),
    tokens: steps.map(i => Math.max(0, series.tokens[i] - sumOf('tokens', i)))});
}
// Those without a band.
const unlisted = {row: {path: `${series.others} others`}, colour: 'var(--others)', epochs: [],
  shares: series.step.map((_, i) => Math.max(0, 1 - sumOf('shares', i, bands))),
  tokens: series.tokens.map((tokens, i) => Math.max(0, tokens - sumOf('tokens', i, bands)))};

// What a step shows: the last point at or before it, and how far on to the next.
const at = step => {
  let low = 0, high = points - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (series.step[middle] <= step) low = middle; else high = middle - 1;
  }
  const next = Math.min(low + 1, points - 1);
  const width = series.step[next] - series.step[low];
  return {i: low, next, part: width ? (step - series.step[low]) / width : 0};
};
const between = (values, p) => values[p.i] + ((values[p.next] || 0) - values[p.i]) * p.part;
const share = (band, p) => series.ramp[p.i] ? between(band.shares, p) : band.shares[p.i];

let axis = 'tokens', step = 0;
const xs = () => axis === 'tokens' ? series.tokens : series.step;
const xOf = p => axis === 'tokens' ? between(series.tokens, p) : series.step[p.i] + (series.step[p.next] - series.step[p.i]) * p.part;

// Round numbers up to `most`, and the unit they are said in.
const ticks = (most, wanted) => {
  if (!(most > 0)) return [0];
  const raw = most / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const unit = [1, 2, 5, 10].map(f => f * power).find(f => f >= raw);
  const found = [];
  for (let i = 0; i * unit <= most * 1.0001; ++i) found.push(i * unit);
  return found;
};
const scaleOf = most => most >= 2e9 ? [1e9, 'billion '] : most >= 2e6 ? [1e6, 'million '] : most >= 2e4 ? [1e3, 'thousand '] : [1, ''];
const tick = v => +v.toPrecision(6) + '' === (+v.toPrecision(6)).toFixed(0) ? count(v) : +v.toPrecision(6) + '';

const cursors = [];
const frame = (id, height, options) => {
  const host = $(id), width = Math.max(240, host.clientWidth);
  host.textContent = '';
  const svg = draw(host, 'svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': options.label});
  const box = {left: options.left, right: width - options.right, top: options.top, bottom: height - 38};
  const most = xs()[points - 1] || 1;
  const x = value => box.left + (box.right - box.left) * value / most;
  const y = value => box.bottom - (box.bottom - box.top) * value / (options.most || 1);
  const [unit, word] = scaleOf(most);
  const places = ticks(most / unit, Math.max(2, (box.right - box.left) / 130));
  for (const value of places) {
    draw(svg, 'line', {class: 'grid', x1: x(value * unit), x2: x(value * unit), y1: box.bottom, y2: box.bottom + 4});
    draw(svg, 'text', {x: x(value * unit), y: box.bottom + 17, 'text-anchor': !value ? 'start' : x(value * unit) > width - 26 ? 'end' : 'middle'}, tick(value));
  }
  draw(svg, 'text', {x: box.right, y: height - 3, 'text-anchor': 'end'}, word + axis);
  for (const value of options.ticks) {
    if (options.grid) draw(svg, 'line', {class: 'grid', x1: box.left, x2: box.right, y1: y(value), y2: y(value)});
    draw(svg, 'text', {x: box.left - 6, y: y(value) + 4, 'text-anchor': 'end'}, options.say ? options.say(value) : tick(value));
  }
  draw(svg, 'line', {class: 'grid', x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom});
  const stages = () => {
    let last = -Infinity;
    plan.stages.forEach((stage, number) => {
      const from = x(xOf(at(stage.first_step))), to = x(xOf(at(stage.end_step)));
      if (number) draw(svg, 'line', {class: 'stage', x1: from, x2: from, y1: box.top - (options.names ? 14 : 0), y2: box.bottom});
      if (!options.names || plan.stages.length < 2) return;
      const start = Math.max(from, last) + 2, label = draw(svg, 'text', {class: 'name', x: start, y: box.top - 5}, stage.name);
      const room = to - start;
      for (let kept = stage.name.length - 1; kept > 1 && label.getComputedTextLength() > room; --kept) {
        label.textContent = stage.name.slice(0, kept) + '\u2026';
      }
      if (label.getComputedTextLength() > room) label.remove();
      else last = start + 4 + label.getComputedTextLength();
    });
    // Many changes make a band, not one line each.
    let marked = -Infinity;
    for (const change of plan.changes || []) {
      const from = x(xOf(at(change.step)));
      if (from - marked < 2) continue;
      marked = from;
      draw(svg, 'line', {class: 'change', x1: from, x2: from, y1: box.top, y2: box.bottom});
    }
    const cursor = draw(svg, 'line', {class: 'cursor', y1: box.top, y2: box.bottom});
    cursors.push(() => { const p = x(xOf(at(step))); cursor.setAttribute('x1', p); cursor.setAttribute('x2', p); });
    svg.addEventListener('pointermove', event => {
      if (event.pointerType === 'mouse' && !event.buttons && options.still) return;
      const where = (event.clientX - svg.getBoundingClientRect().left) * width / svg.clientWidth;
      pick(most * (where - box.left) / (box.right - box.left));
    });
  };
  return {svg, box, x, y, stages};
};
// The step that lies at a place of the axis.
const pick = value => {
  const values = xs();
  let i = 0;
  while (i + 2 < points && values[i + 1] <= value) ++i;
  const width = values[i + 1] - values[i];
  const part = width > 0 ? Math.min(1, Math.max(0, (value - values[i]) / width)) : 0;
  setStep(Math.floor(series.step[i] + part * (series.step[i + 1] - series.step[i])));
};
// Points of a curve that stays between points, but on ramps.
const path = (values, x, y, isStepped) => {
  const parts = [];
  for (let i = 0; i < points; ++i) {
    if (isStepped && i && !series.ramp[i - 1]) parts.push(`${x(xs()[i]).toFixed(1)},${y(values[i - 1]).toFixed(1)}`);
    if (i + 1 < points || !isStepped) parts.push(`${x(xs()[i]).toFixed(1)},${y(values[i]).toFixed(1)}`);
  }
  return parts;
};
const drawMixture = () => {
  const wide = $('mixture').clientWidth > 640;
  const f = frame('mixture', wide ? 380 : 300, {label: 'Mixture over time, stacked shares', left: 44, right: wide ? 12 : 8, top: 24,
    most: 1, ticks: [0, .25, .5, .75, 1], say: v => 100 * v + '%', names: true});
  let below = Array(points).fill(0);
  const labels = [];
  for (const band of charted) {
    const above = below.map((v, i) => v + band.shares[i]);
    const points_ = path(above, f.x, f.y, true).concat(path(below, f.x, f.y, true).reverse());
    draw(f.svg, 'polygon', {points: points_.join(' '), fill: band.colour, stroke: 'var(--paper)', 'stroke-width': 1});
    // The name goes where the band is thick over a good width.
    let best = null;
    const need = 8.4 * band.row.path.length + 12;
    for (let i = 0; i + 1 < points; ++i) {
      let high = 1, low = 0, end = i;
      while (end + 1 < points && high - low > 0) {
        high = Math.min(high, above[end]); low = Math.max(low, below[end]); ++end;
        if (f.x(xs()[end]) - f.x(xs()[i]) >= need) break;
      }
      const room = (high - low) * (f.box.bottom - f.box.top);
      if (f.x(xs()[end]) - f.x(xs()[i]) < need || room < 18) continue;
      // As far as the same room goes on, to set the name in its middle.
      let last = end;
      while (last + 1 < points && Math.min(high, above[last]) - Math.max(low, below[last]) >= (high - low) * .999) ++last;
      const width = f.x(xs()[last]) - f.x(xs()[i]), score = width * Math.min(room, 60);
      if (!best || score > best.score * 1.001) best = {score, x: (f.x(xs()[i]) + f.x(xs()[last])) / 2, y: f.y((high + low) / 2) + 4};
    }
    if (best) labels.push([band, best]);
    band.isLabelled = !!best;
    below = above;
  }
  for (const [band, place] of labels) {
    draw(f.svg, 'text', {class: 'inside', x: place.x, y: place.y, 'text-anchor': 'middle', style: `fill: ${band.on}`}, band.row.path);
  }
  // The thumb's middle below the cursor.
  Object.assign($('scrubber').style, {marginLeft: `${f.box.left - 8}px`, width: `${f.box.right - f.box.left + 16}px`});
  f.stages();
};
// Names at the right end of lines, moved apart, none beyond the frame. Three or
// more lines that end together have one name.
const nameEnds = (f, ends) => {
  ends.sort((a, b) => a.y - b.y);
  const lines = [];
  for (let i = 0, next; i < ends.length; i = next) {
    next = i + 1;
    while (next < ends.length && ends[next].y - ends[i].y < 4) ++next;
    const together = ends.slice(i, next);
    if (together.length < 3) lines.push(...together.map(end => ({...end, at: end.y, more: ''})));
    else lines.push({...together[0], at: together[0].y, colour: 'var(--ink)', more: ` +${together.length - 1}`, all: together.map(end => end.name).join(', ')});
  }
  for (let i = 1; i < lines.length; ++i) lines[i].y = Math.max(lines[i].y, lines[i - 1].y + 14);
  let over = lines.length ? lines[lines.length - 1].y - f.box.bottom : 0;
  for (let i = lines.length - 1; i >= 0 && over > 0; --i) {
    lines[i].y -= over;
    over = i ? lines[i - 1].y + 14 - lines[i].y : 0;
  }
  for (const line of lines) {
    const most = 14 - line.more.length;
    const name = (line.name.length > most ? line.name.slice(0, most - 1) + '\u2026' : line.name) + line.more;
    if (Math.abs(line.y - line.at) > 6) {
      draw(f.svg, 'line', {x1: f.box.right, x2: f.box.right + 7, y1: line.at, y2: line.y, stroke: line.colour});
    }
    const text = draw(f.svg, 'text', {x: f.box.right + 9, y: line.y + 4, class: 'name', style: `fill: ${line.colour}; font-weight: 600`}, name);
    draw(text, 'title', {}, line.all || line.name);
  }
};
const drawLines = (id, label, key, wanted, unit) => {
  const drawn = charted.filter(band => wanted(band));
  const most = Math.max(1e-9, ...drawn.map(band => Math.max(...band[key])));
  const longest = Math.min(14, Math.max(8, ...drawn.map(band => band.row.path.length)));
  const f = frame(id, 280, {label, left: 52, right: 15 + 7.4 * longest, top: 12, most: most * 1.04 / unit, grid: true,
    ticks: ticks(most / unit, 5)});
  if (id === 'epochs' && plan.max_repeats < most) {
    draw(f.svg, 'line', {x1: f.box.left, x2: f.box.right, y1: f.y(plan.max_repeats), y2: f.y(plan.max_repeats), stroke: 'var(--warn)', 'stroke-dasharray': '5 4'});
  }
  const ends = [];
  for (const band of drawn) {
    const y = value => f.y(value / unit);
    draw(f.svg, 'polyline', {points: path(band[key], f.x, y).join(' '), fill: 'none', stroke: band.colour, 'stroke-width': 2, 'stroke-linejoin': 'round'});
    ends.push({y: y(band[key][points - 1]), name: band.row.path, colour: band.colour});
  }
  f.stages();
  nameEnds(f, ends);
};
const drawSteps = (id, label, values, isLine) => {
  const most = Math.max(...values, 1e-9);
  const all = [...new Set(values)].sort((a, b) => a - b), marks = [];
  const isLevels = !isLine && all.length <= 8;
  const f = frame(id, 180, {label, left: 52, right: 12, top: 12, most: most * 1.06, grid: true,
    ticks: isLevels ? all.filter(v => { const ok = !marks.length || v - marks[marks.length - 1] > most * .11; if (ok) marks.push(v); return ok; }) : ticks(most, 4)});
  const lastOf = stage => plan.stages[stage].last_lr_scale;
  const parts = [];
  for (let i = 0; i < points; ++i) {
    const x = f.x(xs()[i]).toFixed(1);
    const jumps = i && series.stage[i] !== series.stage[i - 1];
    if (i && (isLevels || jumps && !isLine)) parts.push(`${x},${f.y(values[i - 1]).toFixed(1)}`);
    if (jumps && isLine) parts.push(`${x},${f.y(lastOf(series.stage[i - 1])).toFixed(1)}`);
    parts.push(`${x},${f.y(i + 1 < points || !isLine ? values[i] : lastOf(series.stage[i])).toFixed(1)}`);
  }
  draw(f.svg, 'polyline', {points: parts.join(' '), fill: 'none', stroke: 'var(--mark)', 'stroke-width': 2});
  f.stages();
};
const drawAll = () => {
  cursors.length = 0;
  $('by-tokens').setAttribute('aria-pressed', axis === 'tokens');
  $('by-steps').setAttribute('aria-pressed', axis === 'steps');
  drawMixture();
  const [unit, word] = scaleOf(Math.max(...charted.filter(band => band.source !== undefined).map(band => Math.max(...band.tokens))));
  $('tokens').previousElementSibling.textContent = `For ${hidden > 0 ? `the ${kColours} largest sources` : 'each source'}, since the first step; ${word}tokens.`;
  drawLines('tokens', 'Tokens read of each source', 'tokens', band => band.source !== undefined, unit);
  drawLines('epochs', 'Epochs of each source', 'epochs', band => band.epochs.length > 0, 1);
  drawSteps('lengths', 'Sequence length', series.seq_len);
  drawSteps('batches', 'Batch size', series.batch_size);
  drawSteps('rates', 'Learning-rate factor', series.lr_scale, true);
  for (const box of document.querySelectorAll('.scroll')) box.classList.toggle('wide', box.scrollWidth > box.clientWidth);
  for (const move of cursors) move();
};

let listed = 12;
const kNotches = 100000;
const setStep = wanted => {
  step = Math.min(Math.max(0, Math.floor(wanted)), Math.max(0, plan.steps - 1));
  const p = at(step), stage = plan.stages[series.stage[p.i]];
  const read = between(series.tokens, p), rate = between(series.lr_scale, p);
  $('scrubber').value = kNotches * xOf(p) / (xs()[points - 1] || 1);
  for (const move of cursors) move();
  const host = $('readout');
  host.textContent = '';
  const line = make('div', {class: 'at'});
  const say = (before, value, after) => {
    const part = make('span', {}, before);
    part.append(make('b', {}, value), after || '');
    line.append(part);
  };
  const lr = series.stage[p.next] === series.stage[p.i] ? rate : series.lr_scale[p.i];
  say('step ', count(step), ` of ${count(plan.steps)}`);
  if (stage) say('stage ', stage.name);
  say('', count(series.seq_len[p.i]), ` tokens \u00d7 ${count(series.batch_size[p.i])} samples`);
  say('lr_scale ', +lr.toPrecision(4) + '');
  say('', billions(read), ' tokens read before');
  host.append(line);
  const list = make('ul', {class: 'shares'});
  const rows = bySize.slice();
  if (series.others) rows.push(unlisted);
  rows.slice(0, listed).forEach(band => {
    const now = share(band, p), tokens = between(band.tokens, p);
    const item = make('li', {'data-source': band.row.path, 'data-share': now, 'data-tokens': tokens});
    const chip = make('i', {style: `background: ${band.colour}`});
    const bar = make('span', {class: 'bar'});
    bar.append(make('u', {style: `width: ${Math.min(100, 100 * now).toFixed(2)}%; background: ${band.colour}`}));
    const epochs = band.epochs.length ? `${between(band.epochs, p).toFixed(2)}\u00d7` : '';
    item.append(chip, make('span', {class: 'n', title: band.row.path}, band.row.path), bar, make('span', {class: 's'}, percent(now)),
      make('span', {class: 'r'}, billions(tokens)), make('span', {class: 'r', title: 'epochs'}, epochs));
    list.append(item);
  });
  host.append(list);
  if (rows.length > listed) {
    const more = make('button', {class: 'more', type: 'button'}, series.others ? `show the ${bands.length} largest of ${bands.length + series.others} sources` : `show all ${rows.length} sources`);
    more.onclick = () => { listed = Infinity; setStep(step); };
    host.append(more);
  }
  Object.assign(root.dataset, {step, stage: stage ? stage.name : '', seqLen: series.seq_len[p.i], batchSize: series.batch_size[p.i], lrScale: lr, tokens: read});
};

const addRow = (table, cells, isHead) => {
  const row = make('tr');
  for (const cell of cells) {
    const node = make(isHead ? 'th' : 'td', cell && cell.class ? {class: cell.class} : isHead ? {title: cell} : {});
    node.append(...(cell && cell.parts || [cell === null || cell === undefined ? '' : cell]));
    row.append(node);
  }
  table.append(row);
  return row;
};
const range = (stage, key) => {
  const values = stage.stretches.map(stretch => stretch[key]);
  const low = Math.min(...values), high = Math.max(...values);
  return low === high ? count(low) : `${count(low)}\u2013${count(high)}`;
};
const fillStages = () => {
  addRow($('stages'), ['stage', 'first step', 'steps', 'batch', 'length', 'samples', 'tokens', 'lr_scale', 'read per step'], true);
  for (const stage of plan.stages) {
    const first = +stage.lr_scale.toPrecision(4), last = +stage.last_lr_scale.toPrecision(4);
    addRow($('stages'), [stage.name, count(stage.first_step), count(stage.end_step - stage.first_step), range(stage, 'batch_size'),
      range(stage, 'seq_len'), count(stage.samples), billions(stage.tokens), first === last ? first + '' : `${first} \u2192 ${last}`, bytes(stage.bytes_per_step)]);
  }
};
const fillSources = () => {
  const table = $('sources'), columns = plan.stages.length > 1 && plan.stages.length <= 6 ? plan.stages : [];
  addRow(table, ['source', 'one epoch', ...columns.map(stage => stage.name), 'tokens', 'share', 'epochs', 'first repeat', ''], true);
  const why = {no_weight: 'never drawn: weight 0', no_window: 'never drawn: no whole window', not_reached: 'never drawn: the run ends before'};
  const colours = new Map(charted.filter(band => band.source !== undefined).map(band => [band.source, band.colour]));
  const below = number => {
    const found = [];
    for (let i = number + 1; i < plan.sources.length && plan.sources[i].depth > (number < 0 ? -1 : plan.sources[number].depth); ++i) {
      if (plan.sources[i].depth === (number < 0 ? 0 : plan.sources[number].depth + 1)) found.push(i);
    }
    return found;
  };
  const add = (number, place) => {
    const source = plan.sources[number], sign = source.exact ? '' : '~', inner = source.kind !== 'store';
    const name = document.createDocumentFragment();
    name.append(make('span', {style: `padding-left: ${18 * source.depth}px`}));
    const toggle = inner ? make('button', {type: 'button', 'aria-expanded': 'false', title: 'what is below'}, '\u25b8') : make('i', {style: 'width: 20px'});
    name.append(toggle, make('i', {style: `background: ${colours.get(number) || (source.depth ? 'none' : 'var(--others)')}; margin-right: 8px`}));
    name.append(source.name || source.path, inner ? make('span', {class: 'kind'}, source.kind.replace('_', ' ')) : '');
    const repeat = source.first_repeat;
    const note = source.starved ? why[source.starved] : source.over_repeated ? `more than ${plan.max_repeats} epochs` : '';
    const row = addRow(table, [{parts: [name]}, source.epoch_tokens === null ? 'endless' : billions(source.epoch_tokens),
      ...columns.map((_, i) => sign + billions(source.stage_tokens[i])), sign + billions(source.tokens), percent(source.tokens / Math.max(1, plan.tokens)),
      source.epochs === null ? '' : sign + times(source.epochs), repeat ? (repeat.exact ? '' : '\u2265 ') + 'step ' + count(repeat.step) : '\u2013', {class: 'note', parts: [note]}]);
    row.title = source.path;
    row.dataset.source = source.path;
    if (place) place.after(row);
    if (!inner) return row;
    let open = null;
    const show = () => {
      open = [];
      let last = row;
      for (const child of below(number)) { last = add(child, last); open.push(last); }
      toggle.textContent = '\u25be';
      toggle.setAttribute('aria-expanded', 'true');
    };
    const hide = () => {
      for (const child of open) { if (child.hide) child.hide(); child.remove(); }
      open = null;
      toggle.textContent = '\u25b8';
      toggle.setAttribute('aria-expanded', 'false');
    };
    row.hide = () => { if (open) hide(); };
    toggle.onclick = () => open ? hide() : show();
    if (plan.sources.length <= 60) { show(); let last = row; while (last.nextSibling) last = last.nextSibling; return open.length ? last : row; }
    return row;
  };
  below(-1).forEach(number => add(number));
};
const fillPacking = () => {
  const changes = plan.changes || [], listed = 50;
  $('changes').hidden = !changes.length;
  addRow($('changed'), ['change', 'from step', 'what'], true);
  for (const change of changes.slice(0, listed)) {
    addRow($('changed'), [change.number + '', count(change.step), change.change]).dataset.change = change.number;
  }
  if (changes.length > listed) addRow($('changed'), ['', '', `${count(changes.length - listed)} more: poniente plan --json`]);
  const packed = plan.sources.filter(source => source.packing);
  $('packing').hidden = !packed.length;
  addRow($('packed'), ['source', 'windows', 'padding', 'documents', 'split', 'truncated', 'dropped', 'most in a window'], true);
  for (const {path, packing: first, other_packings: others = []} of packed) for (const packing of [first, ...others]) {
    addRow($('packed'), [others.length ? `${path} at ${count(packing.window_tokens)}` : path, count(packing.windows),
      (100 * packing.padding).toFixed(3) + '%', ...['documents', 'split_documents',
        'truncated_documents', 'dropped_documents', 'most_in_a_window'].map(key => count(packing[key]))]).dataset.packed = path;
  }
};
const fillText = () => {
  $('title').textContent = plan.title;
  const stages = plan.stages.length > 1 ? `, ${plan.stages.length} stages` : '';
  const several = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;
  $('summary').textContent = `${several(plan.steps, 'step')}, ${billions(plan.tokens)} tokens, ${several(plan.sources.filter(s => s.kind === 'store').length, 'source')}${stages}.`;
  for (const warning of plan.warnings) $('warnings').append(make('li', {}, warning));
  $('warnings').hidden = !plan.warnings.length;
  const saved = plan.attention;
  const figures = [[billions(plan.tokens), 'tokens read'], [count(plan.steps), `step${plan.steps === 1 ? '' : 's'}, ${several(plan.samples, 'sample')}`],
    [`${saved.same_tokens.ratio.toFixed(2)}\u00d7`, saved.same_tokens.ratio > 1 ? `cheaper attention than with the same number of tokens all at length ${count(saved.longest)}; ${saved.same_steps.ratio.toFixed(2)}\u00d7 cheaper than with the same number of steps` : 'attention saved: one length throughout'],
    [bytes(plan.bytes), 'read, as tokens are stored']];
  for (const [value, words] of figures) {
    const box = make('div');
    box.append(make('b', {}, value), make('span', {}, words));
    $('figures').append(box);
  }
  $('epochs-hint').textContent = `Passes over each source; dashed: ${plan.max_repeats}.`;
  const remarks = [...plan.remarks,
    `Skipped at changes of length: ${billions(plan.skipped_tokens)} tokens. Left over at the ends of stores, which fill no window: ${billions(plan.left_over_tokens)}.`
      + (plan.cut_off_tokens ? ` At the ends of windows that samples do not fill: ${billions(plan.cut_off_tokens)}.` : ''),
    '\u201c\u2265 step\u201d: the first repeat is not before this step.', `Attention is taken to cost the square of a sample\u2019s length. Repeats beyond about four epochs are worth less than new data (Muennighoff et al. 2023).`];
  for (const remark of remarks) $('remarks').append(make('li', {}, remark));
};
const readHash = () => {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.get('axis') === 'steps' || asked.get('axis') === 'tokens') axis = asked.get('axis');
  drawAll();
  setStep(asked.has('step') ? Number(asked.get('step')) || 0 : Math.floor(plan.steps / 3));
  root.dataset.overflow = root.scrollWidth - root.clientWidth;
  root.dataset.height = root.scrollHeight;
  root.dataset.wide = document.querySelectorAll('.wide').length;
  root.dataset.width = root.clientWidth;
};
fillText();
if (points > 1) {
  $('scrubber').max = kNotches;
  $('scrubber').addEventListener('input', () => pick(xs()[points - 1] * $('scrubber').value / kNotches));
  for (const name of ['tokens', 'steps']) $('by-' + name).onclick = () => { axis = name; drawAll(); setStep(step); };
  addEventListener('hashchange', readHash);
  let waiting = 0;
  addEventListener('resize', () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => { drawAll(); setStep(step); }); });
  fillStages();
  fillSources();
  fillPacking();
  readHash();
}
root.dataset.ready = 'yes';
