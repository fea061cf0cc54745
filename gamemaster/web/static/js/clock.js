// A clock that runs down in the browser, from what the service said when.

export class Countdown {
  /** text: where the time is written; bar: an element whose first child is shortened. */
  constructor(text, bar = null) {
    this.text = text;
    this.bar = bar;
    this.timer = 0;
  }

  /** Runs from so many seconds; null for no clock. */
  run(remaining, total) {
    clearInterval(this.timer);
    if (remaining === null || remaining === undefined) {
      this.text.textContent = "";
      if (this.bar) this.bar.firstElementChild.style.transform = "scaleX(0)";
      return;
    }
    this.until = performance.now() + 1000 * remaining;
    this.total = total || remaining;
    this.show();
    this.timer = setInterval(() => this.show(), 200);
  }

  stop() {
    this.run(null);
  }

  show() {
    const left = Math.max(0, (this.until - performance.now()) / 1000);
    this.text.textContent = written(left);
    const isLow = left < Math.min(10, this.total / 4);
    this.text.classList.toggle("low", isLow);
    if (this.bar) {
      this.bar.classList.toggle("low", isLow);
      this.bar.firstElementChild.style.transform = `scaleX(${Math.min(1, left / this.total)})`;
    }
    if (left === 0) clearInterval(this.timer);
  }
}

/** `0:07`, `12:30`, `3:05:00`; tenths below ten seconds would only make people nervous. */
export function written(left) {
  const whole = Math.ceil(left);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, at) => (at ? String(part).padStart(2, "0") : String(part))).join(":");
}
