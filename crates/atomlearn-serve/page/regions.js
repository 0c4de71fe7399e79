// Which regions of a photo speak for its label: how far it leads with and without each of them.

const MOST = 0.65; // Opacity of the strongest region.
const element = id => document.getElementById(id);
const percent = share => `${(100 * share).toFixed(share > 0.1 && share < 0.9 ? 0 : 1)} %`;

function key(kind, text) {
  const square = document.createElement("span");
  square.className = `key ${kind}`;
  return [square, ` ${text}`];
}

export class Regions {
  constructor() {
    element("regions-toggle").addEventListener("click", () => this.draw(element("heat").hidden));
  }

  hide() {
    for (const id of ["regions", "heat", "regions-toggle"]) element(id).hidden = true;
  }

  wait() {
    element("regions").hidden = false;
    element("regions-note").textContent = "Looking at the photo without each of its regions …";
  }

  fail(why) {
    element("regions-note").textContent = `The regions could not be looked at: ${why}`;
  }

  /** Shows an answer that has regions, over the photo if this browser can show it. */
  show({ label, regions }, photo) {
    const { rows, cols, against, lead, leads } = regions;
    // What the lead loses without a region is what that region gives it.
    const given = leads.map(left => (lead === null || left === null ? 0 : lead - left));
    const most = Math.max(...given.map(Math.abs));
    const strongest = given.indexOf(Math.max(...given));
    const place = k => `row ${Math.floor(k / cols) + 1}, column ${k % cols + 1}`;
    const cell = (value, k) => {
      const made = document.createElement("i");
      made.className = `${value < 0 ? "against" : "for"}${k === strongest && value > 0 ? " strongest" : ""}`;
      made.style.setProperty("--much", (most > 0 ? MOST * Math.abs(value) / most : 0).toFixed(3));
      made.title = `${place(k)}: ${value < 0 ? "against" : "for"} ${label}, ${value.toPrecision(2)}`;
      made.dataset.gives = value;
      return made;
    };
    const heat = element("heat");
    heat.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${cols}, 1fr)`;
    heat.replaceChildren(...given.map(cell));
    heat.setAttribute("aria-label", `Regions of the photo, ${rows} rows and ${cols} columns: most for ${label} at ${place(strongest)}`);
    const keys = against === null ? key("for", `speaks for ${label}`) : [...key("for", `speaks for ${label}, `), ...key("against", `for ${against}`)];
    element("regions-note").replaceChildren(...keys, `. ${this.sentence(label, regions, given, strongest, place)}`);
    element("regions-toggle").hidden = !photo.bitmap;
    this.draw(Boolean(photo.bitmap));
  }

  sentence(label, { rows, cols, against, lead, leads, proba, probas }, given, strongest, place) {
    if (!(given[strongest] > 0)) return "No region alone speaks for it: taking any of them out changes nothing, or makes it surer.";
    const falls = probas && proba - probas[strongest] > 0.005 ? `its probability is ${percent(probas[strongest])} instead of ${percent(proba)}`
      : `its score leads over ${against} by ${leads[strongest].toPrecision(3)} instead of ${lead.toPrecision(3)}`;
    const turned = leads[strongest] < 0 ? `, and the label is no longer ${label}` : "";
    return `Without the outlined region (${place(strongest)} of ${rows} × ${cols}) ${falls}${turned}.`;
  }

  draw(on) {
    element("heat").hidden = !on;
    element("regions-toggle").textContent = on ? "Hide regions" : "Show regions";
  }
}
