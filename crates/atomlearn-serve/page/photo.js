// Photos: from files or the camera.

const LONGEST = 480; // Pixels of the longer side, as it is shown.
const element = id => document.getElementById(id);

/** A photo as the user sees it. */
export class Photo {
  constructor(file, bitmap) {
    this.type = file.type.startsWith("image/") ? file.type : "image/unknown"; // The server looks at the bytes.
    this.name = file.name;
    this.bitmap = bitmap;
  }

  /** Formats that this browser cannot show can still be read by the server. */
  static async of(file) {
    await file.slice(0, 1).arrayBuffer().catch(() => { throw new Error("this cannot be read; of a folder, drop the photos in it"); });
    return new Photo(file, await createImageBitmap(file).catch(() => null));
  }

  /** The photo as a canvas; nothing if this browser cannot show it. */
  drawn() {
    if (!this.bitmap) return null;
    const shrink = Math.min(1, LONGEST / Math.max(this.bitmap.width, this.bitmap.height));
    const [width, height] = [this.bitmap.width, this.bitmap.height].map(side => Math.max(1, Math.round(shrink * side)));
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `the photo ${this.name}`);
    canvas.getContext("2d").drawImage(this.bitmap, 0, 0, width, height);
    return canvas;
  }
}

/** The camera of this machine, from the button to a file. */
export class Camera {
  constructor(take, complain) {
    [this.take, this.complain, this.stream] = [take, complain, null];
    element("camera").addEventListener("click", () => this.start());
    element("camera-stop").addEventListener("click", () => this.stop());
    element("camera-take").addEventListener("click", () => this.shoot());
  }

  async start() {
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    } catch {
      this.complain("No camera can be used here; allow it in the browser, or choose a file.");
      return;
    }
    element("camera-part").hidden = false;
    element("camera-view").srcObject = this.stream;
    await element("camera-view").play();
  }

  stop() {
    this.stream?.getTracks().forEach(track => track.stop());
    this.stream = null;
    element("camera-part").hidden = true;
  }

  shoot() {
    const view = element("camera-view");
    if (!view.videoWidth) return;
    const canvas = Object.assign(document.createElement("canvas"), { width: view.videoWidth, height: view.videoHeight });
    canvas.getContext("2d").drawImage(view, 0, 0);
    canvas.toBlob(blob => { this.stop(); this.take(new File([blob], "camera.png", { type: "image/png" })); }, "image/png");
  }
}
