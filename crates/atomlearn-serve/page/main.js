// Puts the page together: where samples come from, and the server that explains them.

import { greys } from "./picture.js";
import { isTable, kindOf, onlyNumbers, ordered, pictureShares, rowsOf } from "./input.js";
import { FileList } from "./files.js";
import { Pad } from "./pad.js";
import { Camera, Photo } from "./photo.js";
import { Show } from "./show.js";

const NAMED = 20; // Columns that are named.
const PAUSE = 60; // Milliseconds between two questions while somebody draws.
const DIGIT_RANGE = [0, 16], PICTURE_RANGE = [0, 255];
const element = id => document.getElementById(id);
let facts, show, files, pad = null, asked = 0, timer = null;
let source = null; // { type, body(row), count }: the samples at hand; only the server knows the count of an array.

/** Asks the server about one sample; only the last answer counts. */
async function ask(row) {
  const turn = ++asked;
  if (source.photos) files.mark(row);
  try {
    const photo = source.photos ? await Photo.of(source.photos[row]) : null;
    const type = photo ? photo.type : source.type;
    const query = photo || source.type === "application/json" ? "" : `?row=${row}`;
    const response = await fetch(`explain${query}`, { method: "POST", headers: { "Content-Type": type }, body: source.body(row) });
    const answer = await response.json();
    if (turn !== asked) return;
    if (!response.ok) throw new Error(answer.error);
    source.count ??= answer.rows;
    offer(source.count);
    complain(null);
    show.explain(answer, photo);
    if (photo) await askRegions(turn, photo, row);
  } catch (error) {
    if (turn !== asked) return;
    const name = source.photos ? `${source.photos[row].name}: ` : "";
    fail(error instanceof TypeError ? "The server does not answer; is it still running?" : name + error.message);
  }
}

/** The regions of a photo take longer: the answer stands before they come. */
async function askRegions(turn, photo, row) {
  show.regions.wait();
  const response = await fetch("explain?regions=true", { method: "POST", headers: { "Content-Type": photo.type }, body: source.body(row) });
  const answer = await response.json();
  if (turn !== asked) return;
  if (response.ok) show.regions.show(answer, photo); else show.regions.fail(answer.error);
}

/** Says what went wrong; the decision on another sample must not stand beside it. */
function fail(text) {
  asked++;
  show.clear();
  complain(text);
}

function complain(text) {
  element("error").hidden = text === null;
  element("error").textContent = text ?? "";
}

/** Takes rows of numbers as the samples at hand. */
function useRows(rows, drawing = false) {
  if (!drawing) pad?.wipe();
  use({ type: "application/json", body: row => JSON.stringify([rows[row]]), count: rows.length });
}

function use(samples) {
  clearTimeout(timer);
  source = samples;
  if (samples.photos) files.show(samples.photos); else files.hide();
  offer(samples.count ?? 1);
  timer = setTimeout(() => ask(0), 0);
}

/** Lets the user choose among several samples. */
function offer(count) {
  element("which").hidden = count < 2;
  element("rows").textContent = `of ${count}`;
  element("row").max = count;
}

function step(by) {
  const input = element("row");
  input.value = Math.min(source.count, Math.max(1, (Number(input.value) || 1) + by));
  ask(Number(input.value) - 1);
}

/** Takes photos as the samples at hand; the server gets the files as they are, and sees what training saw. */
function usePhotos(photos) {
  element("row").value = 1;
  use({ photos, body: row => photos[row], count: photos.length });
}

/** Takes what was dropped or chosen. What a photo is the server knows by its bytes, whatever the file is called. */
function useFiles(chosen) {
  if (facts.photos && (chosen.length > 1 || chosen.some(file => !isTable(file)))) usePhotos(chosen);
  else if (chosen[0]) useFile(chosen[0]);
}

/** Takes a table. Where the model knows its columns by name, the server finds them; what is only numbers goes by position. */
function useText(text, bytes = text) {
  if (facts.columns && !onlyNumbers(text)) {
    pad?.wipe();
    use({ type: "text/csv", body: () => bytes, count: null });
  } else {
    useRows(rowsOf(text, facts.n_features));
  }
}

async function useFile(file) {
  element("row").value = 1;
  try {
    const kind = kindOf(file);
    if (kind === "npy") {
      const bytes = await file.arrayBuffer();
      pad?.wipe();
      use({ type: "application/x-npy", body: () => bytes, count: null });
    } else if (kind === "picture") {
      if (!facts.image) throw new Error("This model's samples are not known to be images; start the server with --shape HxW.");
      const shares = await pictureShares(file, facts.image, element("invert").checked);
      useRows([ordered(shares, facts.image, facts.range ?? PICTURE_RANGE)]);
    } else {
      useText(await file.text(), await file.arrayBuffer());
    }
  } catch (error) {
    fail(error.message);
  }
}

function useNumbers() {
  element("row").value = 1;
  try {
    useText(element("numbers").value);
  } catch (error) {
    fail(error.message);
  }
}

/** Counts from 0 to 16 as a sample of the model. */
const digit = counts => ordered(counts.map(count => count / 16), facts.image, facts.range ?? DIGIT_RANGE);

function startPad() {
  element("draw").hidden = false;
  pad = new Pad(element("pad"), empty => {
    clearTimeout(timer);
    if (empty) {
      asked++;
      complain(null);
      show.clear();
      return;
    }
    timer = setTimeout(() => useRows([digit(pad.digit())], true), PAUSE);
  });
  element("clear").addEventListener("click", () => pad.clear());
  element("undo").addEventListener("click", () => pad.undo());
}

function startExamples({ unseen, items }) {
  element("examples").hidden = false;
  element("examples-note").textContent = unseen ? "Digits that the model has not seen in training." : "Embedded digits; the model may have been trained on some of them.";
  const button = ({ label, values }, i) => {
    const made = document.createElement("button");
    made.type = "button";
    made.append(greys(Uint8Array.from(values, value => Math.round(255 * value / 16)), [8, 8], `example ${i + 1}, a ${label}`));
    made.addEventListener("click", () => useRows([digit(values)]));
    return made;
  };
  element("examples-list").append(...items.map(button));
}

/** Names in a sentence, not too many. */
const listed = names => (names.length > NAMED ? `${names.slice(0, NAMED).join(", ")} and ${names.length - NAMED} more` : names.join(", "));

function startFiles() {
  const image = facts.image ? `, or a picture (made grey and ${facts.image.cols} × ${facts.image.rows} pixels)` : "";
  const sample = facts.columns
    ? `The columns are ${listed(facts.columns)}. Files: CSV whose first row names them, in any order`
    : `A sample has ${facts.n_features} numbers. Files: text or CSV with one sample a line`;
  element("file-help").textContent = `${sample}, a NumPy array (.npy)${image}. They can also be dropped here.`;
  if (pad === null && !facts.examples && !facts.photos) element("waiting").textContent = "Nothing to decide yet: paste a sample, or choose a file.";
  element("invert-label").hidden = !facts.image;
  element("own").open = pad === null && !facts.photos;
  element("use-numbers").addEventListener("click", useNumbers);
  element("file").addEventListener("change", event => { if (event.target.files[0]) useFile(event.target.files[0]); event.target.value = ""; });
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, event => event.preventDefault());
  document.addEventListener("drop", event => useFiles([...event.dataTransfer.files]));
  element("previous").addEventListener("click", () => step(-1));
  element("next").addEventListener("click", () => step(1));
  element("row").addEventListener("change", () => step(0));
}

function startPhotos() {
  element("photos").hidden = false;
  element("waiting").textContent = "Nothing to decide yet: drop a photo.";
  element("photo-file").addEventListener("change", event => { useFiles([...event.target.files]); event.target.value = ""; });
  new Camera(file => usePhotos([file]), complain);
}

function describe() {
  document.title = `${facts.name} · atomlearn`;
  element("name").textContent = facts.name;
  const atoms = facts.atoms ? `, ${facts.atoms} atoms` : "";
  const percent = share => `${(100 * share).toFixed(1)} %`;
  const { accuracy, ci95 } = facts.estimate ?? {};
  const estimate = facts.estimate ? ` Estimated accuracy ${percent(accuracy)} (95 % interval ${percent(ci95[0])} to ${percent(ci95[1])}).` : "";
  element("facts").textContent = `${facts.title}. ${facts.classes.length} classes, ${facts.n_features} features${atoms}.${estimate}`;
  const trained = facts.trained_on ? `${facts.trained_on.samples} samples of ${facts.trained_on.name}` : "not recorded";
  const params = Object.entries(facts.params).map(([name, value]) => `${name} = ${value ?? "auto"}`).join(", ");
  const photos = facts.photos ? { Photos: `are taken through ${facts.photos.title}` } : {};
  const rows = { Method: facts.method, ...photos, Paper: facts.paper, Preprocessing: facts.prep, "Trained on": trained, Time: facts.time ?? "not recorded",
    Rule: `${facts.rule} (of ${facts.rules.join(", ")})`, Classes: facts.classes.join(", "), Parameters: params,
    ...Object.fromEntries((facts.findings ?? []).map(([name, text]) => [name[0].toUpperCase() + name.slice(1), text])) };
  for (const [name, value] of Object.entries(rows)) {
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    [term.textContent, text.textContent] = [name, value];
    element("about").append(term, text);
  }
  element("program").textContent = `curl -H 'Content-Type: application/json' -d '[[…${facts.n_features} numbers…]]' ${location.origin}/predict\n`
    + `curl -H 'Content-Type: application/x-npy' --data-binary @samples.npy ${location.origin}/predict`
    + (facts.photos ? `\ncurl -H 'Content-Type: image/jpeg' --data-binary @photo.jpg ${location.origin}/predict` : "");
  element("version").textContent = `atomlearn ${facts.version}`;
}

function startTheme() {
  const button = element("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const name = () => { button.textContent = chosen() === "dark" ? "Light" : "Dark"; button.setAttribute("aria-pressed", String(chosen() === "dark")); };
  button.addEventListener("click", () => { document.documentElement.dataset.theme = chosen() === "dark" ? "light" : "dark"; name(); });
  dark.addEventListener("change", name);
  name();
}

startTheme();
try {
  facts = await (await fetch("model")).json();
  show = new Show(facts);
  files = new FileList(row => { element("row").value = row + 1; ask(row); });
  describe();
  if (facts.image?.rows === 8 && facts.image.cols === 8) startPad();
  if (facts.examples && facts.image) startExamples(facts.examples);
  if (facts.photos) startPhotos();
  startFiles();
  document.documentElement.dataset.ready = "yes";
} catch {
  complain("The model could not be loaded from the server.");
}
