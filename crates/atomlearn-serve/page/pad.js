// A pad to draw a digit on, turned into 8 x 8 numbers as the embedded digits were: strokes on a bitmap of 32 x 32 that
// they fill from top to bottom, then the black dots of every block of 4 x 4 are counted.

const FINE = 32, COARSE = 8, BLOCK = FINE / COARSE;
// What the embedded digits have in common: about 312 dots each, a slim one included, so that its stroke is a thick one; and
// an empty column on either side.
const DOTS = 312, WIDEST = FINE - 2 * BLOCK;
// Half the width of a stroke: usually, at least and at most.
const RADIUS = 2.7, THINNEST = 1.6, THICKEST = 4.5;
// Smaller drawings are not blown up further: a dot stays a dot.
const SMALLEST = 0.2;
const STEP = 1 / 24;
// Points closer than this add nothing but work.
const NEAREST = 0.008;

/** Counts from 0 to 16, row by row; null without a stroke. */
export function digitOf(strokes) {
  const points = strokes.flat();
  if (points.length === 0) return null;
  const [xs, ys] = [points.map(p => p[0]), points.map(p => p[1])];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const down = (FINE - 2 * RADIUS) / Math.max(bottom - top, (right - left) / 2, SMALLEST);
  const across = Math.min(down, (WIDEST - 2 * RADIUS) / (right - left));
  const move = ([x, y]) => [FINE / 2 + across * (x - (left + right) / 2), FINE / 2 + down * (y - (top + bottom) / 2)];
  const segments = strokes.flatMap(stroke => {
    const moved = stroke.map(move);
    return moved.length === 1 ? [[moved[0], moved[0]]] : moved.slice(1).map((point, i) => [moved[i], point]);
  });
  const away = Array.from({ length: FINE * FINE }, (_, i) => {
    const dot = [i % FINE + 0.5, Math.floor(i / FINE) + 0.5];
    return segments.reduce((least, segment) => Math.min(least, distance(dot, segment)), Infinity);
  });
  // The dots nearest to the strokes are black.
  const radius = Math.min(THICKEST, Math.max(THINNEST, [...away].sort((a, b) => a - b)[DOTS - 1]));
  const counts = new Array(COARSE * COARSE).fill(0);
  away.forEach((far, i) => {
    if (far <= radius) counts[COARSE * Math.floor(i / FINE / BLOCK) + Math.floor(i % FINE / BLOCK)]++;
  });
  return counts;
}

function distance([x, y], [[ax, ay], [bx, by]]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / length));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

/** Watches a canvas; `changed` is called after every change, with whether the pad is empty. */
export class Pad {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.strokes = [];
    this.pen = null; // Keyboard pen: { at: [x, y], down }.
    this.pointer = null;
    canvas.addEventListener("pointerdown", event => this.start(event));
    canvas.addEventListener("pointermove", event => this.go(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, event => this.end(event));
    canvas.addEventListener("keydown", event => this.key(event));
    canvas.addEventListener("blur", () => { this.pen = null; this.paint(); });
    this.paint();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const inside = value => Math.min(1, Math.max(0, value));
    return [inside((event.clientX - box.left) / box.width), inside((event.clientY - box.top) / box.height)];
  }

  start(event) {
    if (this.pointer !== null || event.button > 0) return;
    this.pointer = event.pointerId;
    try { this.canvas.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone already */ }
    this.pen = null;
    this.strokes.push([this.place(event)]);
    this.update();
  }

  go(event) {
    if (event.pointerId !== this.pointer) return;
    const between = event.getCoalescedEvents?.() ?? [];
    const stroke = this.strokes.at(-1);
    for (const part of between.length > 0 ? between : [event]) {
      const [[x, y], [lastX, lastY]] = [this.place(part), stroke.at(-1)];
      if (Math.hypot(x - lastX, y - lastY) >= NEAREST) stroke.push([x, y]);
    }
    this.update();
  }

  end(event) {
    if (event.pointerId === this.pointer) this.pointer = null;
  }

  key(event) {
    const moves = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    const move = moves[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (move) {
      this.pen ??= { at: [0.5, 0.2], down: false };
      this.pen.at = this.pen.at.map((value, i) => Math.min(0.97, Math.max(0.03, value + move[i])));
      if (this.pen.down) this.strokes.at(-1).push(this.pen.at);
    } else if (event.key === " " || event.key === "Enter") {
      this.pen ??= { at: [0.5, 0.2], down: false };
      this.pen.down = !this.pen.down;
      if (this.pen.down) this.strokes.push([this.pen.at]);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.clear();
    } else {
      return;
    }
    event.preventDefault();
    if (this.pen?.down) this.update(); else this.paint();
  }

  clear() {
    this.strokes = [];
    if (this.pen) this.pen.down = false;
    this.update();
  }

  undo() {
    this.strokes.pop();
    if (this.pen) this.pen.down = false;
    this.update();
  }

  /** Forgets the strokes without telling anybody: another sample has taken their place. */
  wipe() {
    this.strokes = [];
    this.paint();
  }

  update() {
    this.paint();
    this.changed(this.strokes.length === 0);
  }

  /** What is drawn, as counts. */
  digit() {
    return digitOf(this.strokes);
  }

  paint() {
    const [context, size] = [this.canvas.getContext("2d"), this.canvas.width];
    context.clearRect(0, 0, size, size);
    Object.assign(context, { lineWidth: size / 11, lineCap: "round", lineJoin: "round", strokeStyle: "#f4f4f2", fillStyle: "#f4f4f2" });
    for (const stroke of this.strokes) {
      context.beginPath();
      stroke.forEach(([x, y], i) => context[i === 0 ? "moveTo" : "lineTo"](size * x, size * y));
      if (stroke.length === 1) context.lineTo(size * stroke[0][0] + 0.1, size * stroke[0][1]);
      context.stroke();
    }
    if (this.pen) {
      const [x, y] = this.pen.at.map(value => size * value);
      Object.assign(context, { lineWidth: 4, strokeStyle: this.pen.down ? "#ff9a5a" : "#6fb7ee" });
      context.beginPath();
      context.arc(x, y, size / 26, 0, 2 * Math.PI);
      context.stroke();
    }
  }
}
