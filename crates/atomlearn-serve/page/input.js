// Samples from text, tables and pictures, in the order and range the model was trained with.

const SEPARATORS = /[,;\s]+/;
const PICTURES = /\.(png|jpe?g|gif|bmp|webp|avif|svg)$/i;

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

/** A picture file as grey shares of the image's size, shrunk by halves so that nothing is skipped. */
export async function pictureShares(file, image, invert) {
  let source = await createImageBitmap(file).catch(() => { throw new Error(`“${file.name}” is not a picture this browser can read.`); });
  let [width, height] = [source.width, source.height];
  do {
    width = Math.max(image.cols, Math.ceil(width / 2));
    height = Math.max(image.rows, Math.ceil(height / 2));
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
    context.imageSmoothingQuality = "high";
    context.drawImage(source, 0, 0, width, height);
    source = canvas;
  } while (width > image.cols || height > image.rows);
  const { data } = source.getContext("2d").getImageData(0, 0, width, height);
  const grey = i => (0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2]) / 255;
  return Array.from({ length: width * height }, (_, i) => (invert ? 1 - grey(i) : grey(i)));
}

/** What a file holds: "npy", "picture" or "text". */
export function kindOf(file) {
  if (/\.npy$/i.test(file.name)) return "npy";
  return file.type.startsWith("image/") || PICTURES.test(file.name) ? "picture" : "text";
}
