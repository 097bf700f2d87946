/* Search runs in a worker, and browsers start none for a page opened from disk. There, this runs the worker's script in a
   hidden frame instead. A page that comes from a server keeps the browser's own workers. */
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.onmessage = this.onerror = this.onmessageerror = null;
      this._waiting = [];
      this._frame = document.createElement("iframe");
      this._frame.hidden = true;
      this._frame.addEventListener("load", () => this._begin(new URL(address, location.href).href), { once: true });
      document.body.append(this._frame);
    }

    _begin(address) {
      const inside = this._frame.contentWindow;
      // What the worker's script calls its own: messages go out by postMessage and come in by onmessage.
      inside.postMessage = (data) => setTimeout(() => this.onmessage?.({ data }), 0);
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = () => {
        this._inside = inside;
        this._waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      script.onerror = (problem) => this.onerror?.(problem);
      inside.document.head.append(script);
    }

    postMessage(data) {
      if (this._inside) setTimeout(() => this._inside.onmessage?.({ data }), 0);
      else this._waiting.push(data);
    }

    terminate() {
      this._frame.remove();
    }
  };
}
