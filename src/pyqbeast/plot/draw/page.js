"use strict";
// Fills the charts that depend on the page's inputs, and says in words what the inputs lead to.
(async () => {
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const state = { step: 0, tree: 0, colour: "fill", x: 0, y: Math.min(1, (data.trees[0]?.axes.length ?? 1) - 1) };
  const WHOLE = 2 ** 32 - 1; // shares are stored as parts of it
  const SMALLEST_CUBE = 4; // pixels; smaller ones are not drawn on the map
  const SMALLEST_TILE = 3; // pixels; smaller ones are drawn as large
  const MOST_CUBES = 20000; // on the map, at once
  const FULLEST = 1.5; // rows by cube size at the end of the colours
  const SURE_LENGTH = 0.8; // what an axis keeps of its length when labels of the other one take their place
  const LEAST_WEIGHT = -5; // power of ten at the beginning of the colours

  // Numbers ------------------------------------------------------------------------------------------

  function unpack(stored) {
    const text = atob(stored.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    return new globalThis[stored.type](bytes.buffer);
  }

  const count = (number) => Math.round(number).toLocaleString("en");
  const share = (part) => `${Number((100 * part).toPrecision(3))} %`;

  function size(bytes) {
    const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let power = 0;
    for (; bytes >= 999.5 && power < units.length - 1; power++) bytes /= 1000;
    return `${Number(bytes.toPrecision(3))} ${units[power]}`;
  }

  const files = data.files;
  for (const name of ["size", "rows", "first_read"]) files[name] = unpack(files[name]);
  if (data.points_first_read) data.points_first_read = unpack(data.points_first_read);
  for (const range of files.ranges) {
    range.first = unpack(range.first);
    range.last = unpack(range.last);
    range.low = 0;
    range.high = range.labels.length - 1;
  }

  function tree() {
    const chosen = data.trees[state.tree];
    if (chosen.ready) return chosen;
    for (const name of ["depth", "rows", "fill", "weight", "begin", "end", "first_read"]) {
      if (chosen[name]) chosen[name] = unpack(chosen[name]);
    }
    chosen.lows = chosen.lows.map(unpack);
    // A cube is as long as half to the power of its depth; tiles say where they end.
    chosen.highs = chosen.highs
      ? chosen.highs.map(unpack)
      : chosen.lows.map((lows) => lows.map((low, i) => low + 2 ** -chosen.depth[i]));
    chosen.points = chosen.points.map(unpack);
    chosen.names = chosen.names.split(" ");
    chosen.deepest = chosen.depth.reduce((a, b) => Math.max(a, b), 0);
    chosen.by_depth = Uint32Array.from(chosen.depth.keys()).sort((a, b) => chosen.depth[a] - chosen.depth[b] || a - b);
    chosen.ready = true;
    return chosen;
  }

  // What the inputs choose ---------------------------------------------------------------------------

  const isNarrowed = (range) => range.low > 0 || range.high < range.labels.length - 1;
  const readsAll = () => !data.fractions || data.fractions.problems[state.step] !== "";

  function openedFiles() {
    const all = readsAll();
    const narrowed = files.ranges.filter(isNarrowed);
    const opened = { files: 0, bytes: 0, rows: 0, uncounted: 0 };
    for (let i = 0; i < files.size.length; i++) {
      if (!all && files.first_read[i] > state.step) continue;
      if (!narrowed.every((range) => range.first[i] <= range.high && range.last[i] >= range.low)) continue;
      opened.files++;
      opened.bytes += files.size[i];
      if (Number.isNaN(files.rows[i])) opened.uncounted++;
      else opened.rows += files.rows[i];
    }
    return opened;
  }

  // The part of each dimension of a tree that the ranges leave.
  function box(of) {
    return of.axes.flatMap((axis, dimension) => {
      const range = files.ranges.find((each) => axis.ordered && each.column === axis.column);
      if (!range || !isNarrowed(range)) return [];
      return [{ dimension, low: axis.ticks[range.low], high: axis.ticks[range.high] }];
    });
  }

  function reader(of) {
    const all = readsAll();
    const sides = box(of);
    return (i) =>
      (all || of.first_read[i] <= state.step) &&
      sides.every((side) => of.lows[side.dimension][i] <= side.high && of.highs[side.dimension][i] >= side.low);
  }

  function tell() {
    const opened = openedFiles();
    const bytes = files.size.reduce((a, b) => a + b, 0);
    const part = bytes ? opened.bytes / bytes : 0;
    const what = data.fractions ? "files" : "tiles";
    const uncounted = `${count(opened.uncounted)} ${opened.uncounted === 1 ? "file" : "files"}`;
    find("result").innerHTML =
      `<b>${count(opened.files)} of ${count(files.size.length)} ${what}</b>` +
      `${size(opened.bytes)} of ${size(bytes)}, ${share(part)} of the bytes; they hold ` +
      `${opened.uncounted ? "at least " : ""}${count(opened.rows)} ${data.fractions ? "rows" : "cells"}` +
      (opened.uncounted ? `; the log does not count the rows of ${uncounted}.` : ".");
    if (data.fractions) {
      const problem = data.fractions.problems[state.step];
      find("problem").textContent = problem && `Spark draws such a sample row by row, from all files: ${problem}`;
      const rows = { x: [data.fractions.values[state.step]], y: [Math.max(part, charts.reads?.y_range.start ?? 0)] };
      fill("reads", "now", rows);
    }
  }

  // Charts -------------------------------------------------------------------------------------------

  const charts = {};
  const drawn = (name, part) => charts[name].renderers.find((each) => each.name === part);

  function fill(name, part, columns) {
    if (charts[name]) drawn(name, part).data_source.data = columns;
  }

  // No cubes yet, in the columns that the chart has for them.
  const noCubes = (name) => Object.fromEntries(drawn(name, "cubes").data_source.columns().map((each) => [each, []]));

  function add(columns, values) {
    for (const name in columns) columns[name].push(values[name]);
  }

  // Cubes that are drawn as one: where, how many, and what they are together. Tiles have no fill and no weight.
  const begun = (place) => ({ ...place, rows: 0, fill: 0, weight: 0, read: 0, count: 0 });

  function join(run, of, i, isRead) {
    run.rows += of.rows[i];
    run.fill += of.fill?.[i] ?? 0;
    run.weight += of.weight?.[i] ?? 0;
    run.read += isRead(i);
    run.count++;
  }

  const summary = (run) => ({
    ...run,
    fill: run.fill / run.count, weight: run.weight / run.count, read: run.read / run.count,
    name: run.count > 1 ? `${count(run.count)} cubes` : run.name || "root",
  });

  // Each level is a row of stretches. Cubes that are narrower than a pixel are drawn together.
  function drawTree() {
    const of = tree();
    const { x_range, inner_width } = charts.tree;
    const [from, to] = [x_range.start, x_range.end];
    const narrow = (1.5 * (to - from)) / Math.max(200, inner_width);
    const isRead = reader(of);
    const columns = noCubes("tree");
    const open = [];
    const close = (run) => {
      if (!run) return;
      const mean = summary(run);
      const colour =
        state.colour === "fill" ? mean.fill / FULLEST : 1 - Math.log10(Math.max(mean.weight, 1e-9)) / LEAST_WEIGHT;
      add(columns, {
        ...mean,
        top: run.level + 0.04, bottom: run.level + 0.96,
        value: Math.min(1, Math.max(0, colour)),
        alpha: 0.22 + 0.78 * mean.read,
      });
    };
    for (let i = 0; i < of.depth.length; i++) {
      const [left, right, level] = [of.begin[i] / WHOLE, of.end[i] / WHOLE, of.depth[i]];
      if (right < from || left > to) continue;
      let run = open[level];
      const joins = run && right - left < narrow && run.right - run.left < narrow && left - run.right < narrow;
      if (!joins) {
        close(run);
        run = open[level] = begun({ left, right, level, name: of.names[i] });
      }
      run.right = right;
      join(run, of, i, isRead);
    }
    open.forEach(close);
    fill("tree", "cubes", columns);
  }

  // Where a rectangle begins and ends around its first and its last cell. Tiles are never too small to be seen.
  function stretch(of, dimension, low, high, pixel) {
    if (!of.owners) return [low, high];
    const more = Math.max(of.half_cells[dimension], (SMALLEST_TILE * pixel - (high - low)) / 2);
    return [low - more, high + more];
  }

  // Cubes lie over their parents, so deeper ones come later. Cubes that only differ in other dimensions are one.
  function drawMap() {
    const of = tree();
    const { x_range, y_range, inner_width, inner_height } = charts.map;
    const [xs, ys] = [state.x, state.y];
    const wide = (x_range.end - x_range.start) / Math.max(200, inner_width); // a pixel
    const high = (y_range.end - y_range.start) / Math.max(200, inner_height);
    const isRead = reader(of);
    const runs = new Map();
    let hidden = 0;
    for (const i of of.by_depth) {
      const [left, right] = stretch(of, xs, of.lows[xs][i], of.highs[xs][i], wide);
      const [bottom, top] = stretch(of, ys, of.lows[ys][i], of.highs[ys][i], high);
      if (right < x_range.start || left > x_range.end || top < y_range.start || bottom > y_range.end) continue;
      if (!of.owners && (right - left < SMALLEST_CUBE * wide || top - bottom < SMALLEST_CUBE * high)) { hidden++; continue; }
      const level = of.depth[i];
      const key = of.owners ? i : ((left * 2 ** 21) * 2 ** 21 + bottom * 2 ** 21) * 32 + Math.min(level, 31);
      let run = runs.get(key);
      if (!run) {
        if (runs.size >= MOST_CUBES) { hidden++; continue; }
        run = begun({ left, right, bottom, top, level, name: of.names[of.owners ? level : i] });
        runs.set(key, run);
      }
      join(run, of, i, isRead);
    }
    const columns = noCubes("map");
    for (const run of [...runs.values()].map(summary)) {
      const value = of.deepest ? run.level / of.deepest : 0.5;
      add(columns, { ...run, value, alpha: 0.08 + (of.owners ? 0.5 : 0.8) * run.read });
    }
    fill("map", "cubes", columns);
    find("hidden").textContent = hidden ? `${count(hidden)} more are too small to be drawn: zoom in to see them.` : "";
    drawOutlines(of, xs, ys, wide, high);
    drawPoints(of, xs, ys);
    drawBox(of, xs, ys);
    const longest = Math.max(...of.axes[xs].labels.map((text) => text.length));
    label(charts.map.below[0], of.axes[xs], x_range, inner_width, inner_width / (7 * longest + 20));
    label(charts.map.left[0], of.axes[ys], y_range, inner_height, inner_height / 60);
  }

  // The rectangle around all tiles of each fragment.
  function drawOutlines(of, xs, ys, wide, high) {
    if (!of.owners) return;
    const ends = of.names.map(() => [Infinity, -Infinity, Infinity, -Infinity]);
    of.depth.forEach((owner, i) => {
      const box = ends[owner];
      box[0] = Math.min(box[0], of.lows[xs][i]);
      box[1] = Math.max(box[1], of.highs[xs][i]);
      box[2] = Math.min(box[2], of.lows[ys][i]);
      box[3] = Math.max(box[3], of.highs[ys][i]);
    });
    const columns = { left: [], right: [], bottom: [], top: [] };
    for (const box of ends.filter((each) => each[0] <= each[1])) {
      const [left, right] = stretch(of, xs, box[0], box[1], wide);
      const [bottom, top] = stretch(of, ys, box[2], box[3], high);
      add(columns, { left, right, bottom, top });
    }
    fill("map", "outlines", columns);
  }

  function drawPoints(of, xs, ys) {
    if (!of.points.length) return;
    const all = readsAll();
    const chosen = [...of.points[xs].keys()].filter((i) => all || data.points_first_read[i] <= state.step);
    fill("map", "points", { x: chosen.map((i) => of.points[xs][i]), y: chosen.map((i) => of.points[ys][i]) });
  }

  function drawBox(of, xs, ys) {
    const sides = box(of);
    const ends = (dimension) => {
      const side = sides.find((each) => each.dimension === dimension);
      const ticks = of.axes[dimension].ticks;
      return side ? [side.low, side.high] : [ticks[0], ticks[ticks.length - 1]];
    };
    const [[left, right], [bottom, top]] = [ends(xs), ends(ys)];
    const columns = { left: [left], right: [right], bottom: [bottom], top: [top] };
    fill("map", "box", sides.length ? columns : { left: [], right: [], bottom: [], top: [] });
  }

  // Bokeh takes such a text for a formula, and the page may not load what would draw it.
  function plain(text) {
    return /\$\$|\\[[(]/.test(text) ? new Bokeh.Models.PlainText({ text }) : text;
  }

  // A name of an axis, not longer than so many pixels. What does not fit is left out of its middle.
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "italic 13px helvetica, sans-serif"; // Bokeh's
  function shortened(name, pixels) {
    const letters = [...name];
    const short = (kept) => {
      if (kept === letters.length) return name;
      const [before, behind] = [letters.slice(0, Math.ceil(kept / 2)), letters.slice(letters.length - Math.floor(kept / 2))];
      return `${before.join("")}…${behind.join("")}`;
    };
    let [fitting, most] = [0, letters.length];
    while (fitting < most) {
      const tried = Math.ceil((fitting + most) / 2);
      if (pen.measureText(short(tried)).width <= pixels) fitting = tried;
      else most = tried - 1;
    }
    return short(fitting);
  }

  // An axis is labelled at a few of the places that have a label, as many as there is room for.
  function label(axis, of, range, length, room) {
    const inside = [...of.ticks.keys()].filter((i) => of.ticks[i] >= range.start && of.ticks[i] <= range.end);
    const least = (range.end - range.start) / Math.max(1, Math.min(7, room));
    const chosen = [];
    for (const i of inside) {
      if (!chosen.length || of.ticks[i] - of.ticks[chosen[chosen.length - 1]] >= least) chosen.push(i);
    }
    axis.axis_label = plain(shortened(of.name, SURE_LENGTH * length));
    axis.major_label_overrides = new Map(chosen.map((i) => [of.ticks[i], plain(of.labels[i])]));
    axis.ticker.ticks = chosen.map((i) => of.ticks[i]);
  }

  function drawAnswer() {
    if (charts.answers) fill("answers", "answers", data.answers[find("answer").value]);
  }

  let isAsked = false;
  function draw() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      tell();
      if (charts.tree) drawTree();
      if (charts.map) drawMap();
    });
  }

  // Inputs -------------------------------------------------------------------------------------------

  function showWhole() {
    const of = tree();
    for (const [range, dimension] of [[charts.map.x_range, state.x], [charts.map.y_range, state.y]]) {
      const ticks = of.axes[dimension].ticks;
      const [low, high] = [ticks[0], ticks[ticks.length - 1]];
      const edge = ((high - low) * 0.02 || 0.5) + (of.half_cells?.[dimension] ?? 0);
      const ends = of.axes[dimension].ordered && of.owners ? [low, high] : [Math.min(0, low), Math.max(1, high)];
      range.setv({ start: ends[0] - edge, end: ends[1] + edge, reset_start: ends[0] - edge, reset_end: ends[1] + edge });
    }
  }

  function say(input, text) {
    input.setAttribute("aria-valuetext", text);
    find(`${input.id}-value`).textContent = text;
  }

  function listen() {
    const fraction = find("fraction");
    const onFraction = () => {
      state.step = Number(fraction.value);
      say(fraction, share(data.fractions.values[state.step]));
    };
    fraction?.addEventListener("input", () => { onFraction(); draw(); });
    if (fraction) onFraction();
    files.ranges.forEach((range, number) => {
      const [low, high] = [find(`low-${number}`), find(`high-${number}`)];
      const onRange = (moved) => {
        if (Number(low.value) > Number(high.value)) (moved === low ? high : low).value = moved.value;
        [range.low, range.high] = [Number(low.value), Number(high.value)];
        say(low, range.labels[range.low]);
        say(high, range.labels[range.high]);
      };
      for (const input of [low, high]) input.addEventListener("input", () => { onRange(input); draw(); });
      onRange(low);
    });
    find("reset").addEventListener("click", () => {
      for (const input of document.querySelectorAll("aside input")) {
        input.value = input.defaultValue;
        input.dispatchEvent(new Event("input"));
      }
    });
    const choose = (id, apply) => find(id)?.addEventListener("change", (event) => { apply(event.target.value); draw(); });
    choose("colour", (value) => {
      state.colour = value;
      for (const end of ["little", "much"]) find(`legend-${end}`).textContent = find("legend").dataset[`${value}${end}`];
    });
    choose("x", (value) => { state.x = Number(value); showWhole(); });
    choose("y", (value) => { state.y = Number(value); showWhole(); });
    choose("tree-choice", (value) => { state.tree = Number(value); showWhole(); });
    find("answer")?.addEventListener("change", drawAnswer);
  }

  // Sets the ends of a range to those that a function makes of it, with the distances that the chart shows.
  function changeRange(range, scale, change) {
    const isLog = scale.type === "LogScale";
    const ends = [range.start, range.end].map((end) => (isLog ? Math.log10(end) : end));
    const [start, end] = change(...ends).map((each) => (isLog ? 10 ** each : each));
    // Without this a range over data goes back to them as soon as they change.
    range.have_updated_interactively = true;
    range.setv({ start, end });
  }

  // Arrow keys move a chart, plus and minus zoom, 0 shows all of it.
  function onKey(view, event) {
    // The browser's own keys, such as those that zoom the page or go back.
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const zooms = { "+": 0.8, "=": 0.8, "-": 1.25 };
    const chart = view.model;
    const change = (ofSide) => {
      changeRange(chart.x_range, chart.x_scale, ofSide(0));
      changeRange(chart.y_range, chart.y_scale, ofSide(1));
    };
    if (event.key in moves) {
      change((side) => (from, to) => [from, to].map((end) => end + (moves[event.key][side] * (to - from)) / 10));
    } else if (event.key in zooms) {
      change(() => (from, to) => {
        const [middle, half] = [(from + to) / 2, (zooms[event.key] * (to - from)) / 2];
        return [middle - half, middle + half];
      });
    } else if (event.key === "0") {
      view.reset();
    } else return;
    event.preventDefault();
  }

  // A swipe up or down over a chart scrolls the page. By Bokeh's own rule it moves the chart, which may fill a phone.
  function letSwipesScroll(view) {
    const { model, events_el } = view.canvas;
    model.stylesheets = [".bk-events { touch-action: pan-y pinch-zoom; }"];
    // The chart has moved by a few pixels when the browser takes the swipe for its own.
    const sides = [view.model.x_range, view.model.y_range];
    let before = [];
    events_el.addEventListener("pointerdown", (event) => {
      if (event.isPrimary) before = sides.map(({ start, end }) => ({ start, end }));
    });
    events_el.addEventListener("pointercancel", () => before.forEach((ends, at) => sides[at].setv(ends)));
  }

  // The colours of the page, which follow the light or dark of the system.
  const night = matchMedia("(prefers-color-scheme: dark)");
  function dress() {
    const style = getComputedStyle(document.documentElement);
    const [text, muted, line, card, strong] = ["text", "muted", "line", "card", "strong"].map(
      (name) => style.getPropertyValue(`--${name}`),
    );
    for (const chart of Object.values(charts)) {
      for (const axis of [...chart.below, ...chart.left]) {
        axis.setv({
          axis_label_text_color: text, major_label_text_color: muted, axis_line_color: line,
          major_tick_line_color: line, minor_tick_line_color: null,
        });
      }
      for (const part of chart.center) {
        if (part.type === "Grid") part.setv({ grid_line_color: line });
        if (part.type === "Legend") {
          part.setv({ label_text_color: text, background_fill_color: card, border_line_color: line });
        }
      }
      for (const part of chart.renderers) if (part.name === "cubes") part.glyph.setv({ line_color: card });
    }
    if (!charts.map) return;
    drawn("map", "points").glyph.setv({ fill_color: strong });
    drawn("map", "box").glyph.setv({ line_color: strong });
    if (data.palettes) {
      drawn("map", "cubes").glyph.fill_color.transform.palette = data.palettes[night.matches ? "dark" : "light"];
    }
  }

  Bokeh.set_log_level("warn");
  listen();
  for (const item of data.charts) {
    const [view] = (await Bokeh.embed.embed_item(item)).roots;
    charts[item.target_id.replace("chart-", "")] = view.model;
    letSwipesScroll(view);
    // The element around it has a name, and takes the keys.
    view.canvas.events_el.tabIndex = -1;
    find(item.target_id).addEventListener("keydown", (event) => onKey(view, event));
  }
  if (charts.map) showWhole();
  for (const name of ["tree", "map"]) {
    for (const range of charts[name] ? [charts[name].x_range, charts[name].y_range] : []) range.change.connect(draw);
  }
  night.addEventListener("change", dress);
  dress();
  drawAnswer();
  draw();
  requestAnimationFrame(() => document.body.dataset.ready = "yes");
})();
