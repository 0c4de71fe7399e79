// Samples from text, tables and pictures, in the order and range the model was trained with.

const SEPARATORS = /[,;\s]+/;
const LARGEST = 1024; // Longest side of a picture that is averaged exactly; larger ones are shrunk by the browser first.
const PICTURES = /\.(png|jpe?g|gif|bmp|webp|avif|heic|heif|tiff?|p[bgpn]m|svg)$/i;

/** Whether text holds nothing but numbers. */
export const onlyNumbers = text => text.split(SEPARATORS).every(word => word === "" || Number.isFinite(Number(word)));

/** Rows of numbers from text; throws with a sentence that says what is wrong. */
export function rowsOf(text, features) {
  const lines = text.split(/\r?\n/).map(line => line.trim()).filter(line => line !== "");
  const rows = lines.map(line => line.split(SEPARATORS).filter(word => word !== ""));
  const isNumber = word => word !== "" && Number.isFinite(Number(word));
  // A header names columns, and a last word may name the class.
  if (rows.length > 1 && rows[0].every(word => !isNumber(word))) rows.shift();
  const plain = rows.map(row => (row.length === features + 1 && !isNumber(row.at(-1)) ? row.slice(0, -1) : row));
  const all = plain.flat();
  const bad = all.find(word => !isNumber(word));
  if (all.length === 0) throw new Error("There are no numbers.");
  if (bad !== undefined) throw new Error(`“${bad.slice(0, 40)}” is not a number.`);
  if (plain.every(row => row.length === features)) return plain.map(row => row.map(Number));
  if (all.length === features) return [all.map(Number)];
  throw new Error(`${all.length} numbers in ${plain.length} line(s) were found; one sample has ${features}.`);
}

/** Shares from 0 to 1, row by row, as values of the model's range in the model's order. */
export function ordered(shares, image, range) {
  const [low, high] = range;
  const values = shares.map(share => low + (high - low) * share);
  if (image.order !== "columns") return values;
  return values.map((_, i) => values[(i % image.rows) * image.cols + Math.floor(i / image.rows)]);
}

/** The grey of a colour, each 0 to 255, exactly as the library has it: what the model was trained with. */
export const grey = (r, g, b) => (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;

/** A picture file as grey shares of the image's size: every pixel is the mean of the part of the picture it covers. */
export async function pictureShares(file, image, invert) {
  // Colour profiles are not applied, as they are not in training.
  const source = await createImageBitmap(file, { colorSpaceConversion: "none" }).catch(() => { throw new Error(`“${file.name}” is not a picture this browser can read.`); });
  const shrink = Math.min(1, LARGEST / Math.max(source.width, source.height));
  const [width, height] = [source.width, source.height].map(side => Math.max(1, Math.round(shrink * side)));
  const context = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const share = i => grey(data[4 * i], data[4 * i + 1], data[4 * i + 2]) / 255;
  const [rows, cols] = [covers(height, image.rows), covers(width, image.cols)];
  const mean = (across, down) => {
    let [sum, weights] = [0, 0];
    for (const [y, wy] of down) for (const [x, wx] of across) { sum += wx * wy * share(y * width + x); weights += wx * wy; }
    return sum / weights;
  };
  return rows.flatMap(down => cols.map(across => (invert ? 1 - mean(across, down) : mean(across, down))));
}

/** Which of `from` pixels each of `to` pixels covers, and how much of each: a list of [place, share]. */
function covers(from, to) {
  return Array.from({ length: to }, (_, i) => {
    const [start, end] = [i * from / to, (i + 1) * from / to];
    const first = Math.floor(start);
    return Array.from({ length: Math.ceil(end) - first }, (_, k) => [first + k, Math.min(end, first + k + 1) - Math.max(start, first + k)])
      .filter(([place, share]) => share > 1e-9 && place < from);
  });
}

/** True of files of numbers, by their names. */
export const isTable = file => /\.(npy|csv|tsv|txt)$/i.test(file.name);

/** What a file holds: "npy", "picture" or "text". */
export function kindOf(file) {
  if (/\.npy$/i.test(file.name)) return "npy";
  return file.type.startsWith("image/") || PICTURES.test(file.name) ? "picture" : "text";
}
