// The explanation of one decision.

import { drawn } from "./picture.js";
import { Regions } from "./regions.js";

const TOP = 10; // Classes shown at first where there are many.
const STEPS = 120;
const UNLIKE = 0.01; // Samples with a smaller p-value are called unlike those of training.
const element = id => document.getElementById(id);
const number = value => (Number.isFinite(value) ? value.toPrecision(4).replace(/^-/, "−") : value > 0 ? "∞" : "−∞");
/** A number with as many decimals as the largest of its column needs, so that small ones are not longer. */
const beside = (value, largest) => {
  if (!Number.isFinite(value)) return number(value);
  const decimals = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(largest))));
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
};
const best = scores => scores.reduce((held, value, c) => (value > scores[held] ? c : held), 0);

/** The weight at a place of the slider: 0 at its left end, then 0.01 to 1000. */
export const weightAt = place => (place === 0 ? 0 : 10 ** (-2 + 5 * (place - 1) / (STEPS - 1)));
const placeOf = weight => (weight <= 0 ? 0 : Math.min(STEPS, Math.max(1, Math.round(1 + (Math.log10(weight) + 2) / 5 * (STEPS - 1)))));

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export class Show {
  constructor(facts) {
    this.facts = facts;
    this.explanation = null;
    this.weight = null; // The trained one, until the slider is moved.
    this.all = false;
    this.regions = new Regions();
    element("eta2").addEventListener("input", event => { this.weight = weightAt(Number(event.target.value)); this.decide(); });
    element("eta2-reset").addEventListener("click", () => { this.weight = null; this.decide(); });
    element("more").addEventListener("click", () => { this.all = !this.all; this.decide(); });
  }

  /** Shows an explanation as the server gave it; of a photo, the photo itself. */
  explain(explanation, photo = null) {
    // JSON has no infinity; a class that takes no part in the code has a score of minus infinity.
    for (const scores of Object.values(explanation.scores)) scores.forEach((value, c) => { if (value === null) scores[c] = -Infinity; });
    this.explanation = explanation;
    this.regions.hide();
    const notes = explanation.notes ?? [];
    element("notes").hidden = notes.length === 0;
    element("notes").textContent = notes.join("; ");
    element("waiting").hidden = true;
    element("result").hidden = false;
    // Few pixels are shown as squares; faces look better smooth.
    const coarse = explanation.picture !== null && Math.max(...explanation.picture) <= 16;
    for (const id of ["seen", "atoms"]) element(id).classList.toggle("sharp", coarse);
    element("seen").replaceChildren(photo?.drawn() ?? drawn(explanation.sample, explanation.picture, "the sample"));
    element("seen-caption").textContent = photo ? photo.name : "what the model sees";
    document.querySelector(".verdict").classList.toggle("large", photo !== null);
    element("weigh").hidden = explanation.eta2 === null;
    if (explanation.eta2 !== null) element("eta2-reset").textContent = `As trained (${explanation.eta2})`;
    this.decide();
    this.atoms();
  }

  clear() {
    this.explanation = null;
    element("waiting").hidden = false;
    element("result").hidden = true;
  }

  fused(weight) {
    const { residual, svm } = this.explanation.scores;
    return residual.map((value, c) => value + weight * svm[c]);
  }

  /** Everything that depends on the slider. */
  decide() {
    const { explanation } = this;
    if (!explanation) return;
    const { classes, rule, scores, eta2 } = explanation;
    const moved = eta2 !== null && this.weight !== null;
    const weight = moved ? this.weight : eta2;
    const deciding = moved ? this.fused(weight) : scores[rule];
    const winner = best(deciding);
    const second = best(deciding.map((value, c) => (c === winner ? -Infinity : value)));
    element("label").textContent = classes[winner];
    const how = moved ? `With η₂ = ${number(weight)} the fused rule says` : this.facts.rules.length > 1 ? `The ${rule} rule says` : "The model says";
    const changed = moved && classes[winner] !== explanation.label ? ` As trained it says class ${explanation.label}.` : "";
    element("sentence").textContent = `${how} class ${classes[winner]}; next comes class ${classes[second]}.${changed}`;
    const { outlier_p: p } = explanation;
    element("unlike").hidden = p === null || p >= UNLIKE;
    element("unlike").textContent = `Unlike anything seen in training: of samples like those, fewer than ${(100 * p).toPrecision(1)} % are this badly explained by the others. The label means little.`;
    if (eta2 !== null) this.slider(weight, winner);
    this.bars(deciding, winner, weight);
  }

  slider(weight, winner) {
    const input = element("eta2");
    input.value = placeOf(weight);
    input.setAttribute("aria-valuetext", `eta2 ${number(weight)}, class ${this.explanation.classes[winner]}`);
    element("eta2-text").textContent = `η₂ = ${number(weight)}`;
    const runs = [];
    for (let place = 0; place <= STEPS; place++) {
      const won = best(this.fused(weightAt(place)));
      if (runs.at(-1)?.won === won) runs.at(-1).length++; else runs.push({ won, length: 1 });
    }
    const part = run => {
      const name = this.explanation.classes[run.won];
      const span = make("span", { title: `class ${name}`, class: run.won === winner ? "on" : "" }, run.length > 5 ? name : "");
      span.style.flexGrow = run.length;
      return span;
    };
    element("winners").replaceChildren(...runs.map(part));
  }

  bars(deciding, winner, weight) {
    const { classes, scores, eta2, proba, class_shares: shares } = this.explanation;
    const order = classes.map((_, c) => c);
    const many = classes.length > 12;
    if (many) order.sort((a, b) => deciding[b] - deciding[a]);
    const shown = many && !this.all ? order.slice(0, TOP) : order;
    element("more").hidden = !many;
    element("more").textContent = this.all ? `Show the best ${TOP} only` : `Show all ${classes.length} classes`;
    element("more").setAttribute("aria-expanded", String(this.all));
    const columns = eta2 === null
      ? Object.entries(scores).map(([rule, values]) => ({ name: `Score (${rule})`, note: "longest wins", values, kind: "from-least" }))
      : [
        { name: "Residual", note: "shortest wins", values: scores.residual.map(value => -value), kind: "length", good: scores.residual },
        { name: "SVM", note: "right wins", values: scores.svm, kind: "both-ways" },
        { name: "Fused", note: "longest wins", values: this.fused(weight), kind: "from-least" },
      ];
    if (proba !== null) columns.unshift({ name: "Probability", note: "longest wins", values: proba, kind: "length" });
    if (this.nothingToDraw() && shares) columns.push({ name: "Atoms", note: "share of the code", values: shares, kind: "length" });
    const head = make("tr", {}, make("th", { scope: "col" }, "Class"),
      ...columns.map(({ name, note }) => make("th", { scope: "col" }, name, make("small", {}, note))));
    const row = c => make("tr", c === winner ? { class: "won" } : {}, make("th", { scope: "row" }, classes[c]),
      ...columns.map(column => this.cell(column, c)));
    element("bars").replaceChildren(make("thead", {}, head), make("tbody", {}, ...shown.map(row)));
    element("bars-note").textContent = eta2 === null ? "" :
      "Residual: what the atoms of one class leave unexplained, over the size of their code. SVM: the class's linear classifier on the code. "
      + "The bold number of a column is the class that this part alone would choose.";
  }

  cell({ values, kind, good }, c) {
    const finite = values.filter(Number.isFinite);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
    const value = Number.isFinite(values[c]) ? values[c] : values[c] > 0 ? high : low;
    const bar = make("i", { class: kind === "both-ways" ? (value < 0 ? "less" : "more") : "plain" });
    const share = kind === "length" ? value / size : kind === "both-ways" ? Math.abs(value) / size / 2 : (value - low) / (high - low || 1);
    bar.style.width = `${(100 * Math.max(0.01, share)).toFixed(1)}%`;
    const chosen = best(good ?? values) === c;
    return make("td", {}, make("span", { class: `bar ${kind}` }, bar), make(chosen ? "b" : "span", { class: "value" }, beside(values[c], size)));
  }

  /** Atoms of a photo's features that are no pixels look like nothing: their classes are shown instead. */
  nothingToDraw() {
    return Boolean(this.facts.photos) && this.explanation.picture === null;
  }

  atoms() {
    const { atoms, picture, kind, raw } = this.explanation;
    element("atoms-part").hidden = atoms.length === 0 || this.nothingToDraw();
    if (element("atoms-part").hidden) return;
    const whose = kind === "analysis" ? "compares the sample with" : "builds the sample from";
    const joined = atoms.some(atom => atom.neighbours.length > 0) ? " Below each stand its neighbours in the atom graph, which training gave similar codes." : "";
    const space = raw ? "" : " They are drawn as the preprocessing left them.";
    element("atoms-note").textContent = `The model ${whose} these patterns above all. Share: part of the whole code; a minus sign means the pattern is taken away.${joined}${space}`;
    const of = name => (name === null ? "" : ` of class ${name}`);
    const small = other => make("li", {}, drawn(other.bytes, picture, `atom ${other.atom}${of(other.class)}`),
      make("small", {}, `${other.class === null ? "near" : `near: class ${other.class}`}, weight ${other.weight.toFixed(2)}`));
    const large = atom => {
      const bar = make("i");
      bar.style.width = `${(100 * atom.share / atoms[0].share).toFixed(1)}%`;
      const parts = [drawn(atom.bytes, picture, `atom ${atom.atom}${of(atom.class)}`),
        make("span", { class: "share" }, bar),
        make("p", {}, make("b", {}, atom.class === null ? `atom ${atom.atom}` : `class ${atom.class}`), ` ${atom.code < 0 ? "−" : "+"}${(100 * atom.share).toFixed(1)}\u00a0%`)];
      if (atom.neighbours.length > 0) parts.push(make("ul", { "aria-label": `Neighbours of atom ${atom.atom}` }, ...atom.neighbours.map(small)));
      return make("li", {}, ...parts);
    };
    element("atoms").replaceChildren(...atoms.map(large));
  }
}
