// Browsers start no workers for pages that are opened as files, and the search of the site is one: there, its script
// runs in a hidden frame that passes messages on.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><body></body>";
      this.frame.onload = () => {
        const inside = this.frame.contentWindow;
        inside.postMessage = data => {
          const event = new MessageEvent("message", { data });
          this.dispatchEvent(event);
          if (this.onmessage) this.onmessage(event);
        };
        const script = inside.document.createElement("script");
        script.src = new URL(url, document.baseURI).href;
        script.onload = () => {
          const waiting = this.waiting;
          this.waiting = null;
          waiting.forEach(data => this.postMessage(data));
        };
        inside.document.body.append(script);
      };
      document.body.append(this.frame);
    }
    postMessage(data) {
      if (this.waiting) return void this.waiting.push(data);
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
