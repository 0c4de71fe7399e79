// The photos at hand, each by the name of its file with its label: a list to choose from.

const element = id => document.getElementById(id);

export class FileList {
  /** `open` shows the decision on the photo at a place. */
  constructor(open) {
    [this.open, this.turn, this.buttons] = [open, 0, []];
  }

  /** Lists files and asks the server for their labels, one after the other. */
  show(files) {
    this.buttons = files.map((file, row) => this.button(file, row));
    element("files").replaceChildren(...this.buttons.map(button => {
      const item = document.createElement("li");
      item.append(button);
      return item;
    }));
    element("files").hidden = false;
    this.classify(files, ++this.turn);
  }

  hide() {
    this.turn++;
    element("files").hidden = true;
  }

  /** Marks the photo whose decision is shown. */
  mark(row) {
    this.buttons.forEach((button, i) => button.setAttribute("aria-current", String(i === row)));
    this.buttons[row]?.scrollIntoView({ block: "nearest" });
  }

  button(file, row) {
    const [made, name, said] = ["button", "span", "span"].map(tag => document.createElement(tag));
    made.type = "button";
    [name.className, name.textContent] = ["file", file.name];
    [said.className, said.textContent] = ["said", "…"];
    made.append(name, " ", said);
    made.addEventListener("click", () => {
      this.open(row);
      element("decision").scrollIntoView({ block: "nearest" });
    });
    return made;
  }

  async classify(files, turn) {
    for (const [row, file] of files.entries()) {
      const { text, bad } = await labelOf(file);
      if (turn !== this.turn) return;
      const said = this.buttons[row].querySelector(".said");
      said.textContent = text;
      said.classList.toggle("bad", bad);
    }
  }
}

/** What the server says of a photo, in a few words; why it cannot be read is told where it is opened. */
async function labelOf(file) {
  try {
    const type = file.type.startsWith("image/") ? file.type : "image/unknown";
    const response = await fetch("predict?scores=false&proba=true", { method: "POST", headers: { "Content-Type": type }, body: file });
    if (!response.ok) return { text: "cannot be read", bad: true };
    const { labels: [label], proba } = await response.json();
    const percent = proba ? `, ${(100 * Math.max(...proba[0])).toFixed(1)} %` : "";
    return { text: label === null ? "no label" : label + percent, bad: false };
  } catch {
    return { text: "cannot be read", bad: true };
  }
}
