// Small pictures and lines from the server's bytes, and big ones for examples.

const SVG = "http://www.w3.org/2000/svg";

const decode = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

/** Grey values row by row as a canvas that is one pixel a value; CSS makes it larger. */
export function greys(bytes, [rows, cols], name) {
  const canvas = document.createElement("canvas");
  canvas.width = cols;
  canvas.height = rows;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", name);
  const pixels = new ImageData(cols, rows);
  bytes.forEach((value, i) => pixels.data.set([value, value, value, 255], 4 * i));
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

/** Values around 128, which is zero, as a line. */
function line(bytes, name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 128 85");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", name);
  const height = value => 83 - 81 * value / 255;
  const zero = document.createElementNS(SVG, "line");
  for (const [key, value] of Object.entries({ x1: 0, x2: 128, y1: height(128), y2: height(128) })) zero.setAttribute(key, value);
  const curve = document.createElementNS(SVG, "polyline");
  const step = 128 / Math.max(1, bytes.length - 1);
  curve.setAttribute("points", [...bytes].map((value, i) => `${(i * step).toFixed(1)},${height(value).toFixed(1)}`).join(" "));
  svg.append(zero, curve);
  return svg;
}

/** What the server drew: a picture of a known size, or a line. */
export function drawn(text, size, name) {
  const bytes = decode(text);
  return size && bytes.length === size[0] * size[1] ? greys(bytes, size, name) : line(bytes, name);
}
