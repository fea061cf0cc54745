// A short sound with each step, for those who want it; off until then.

const KEY = "sound", SECONDS = 0.09;
let context = null;

const isOn = () => { try { return localStorage.getItem(KEY) === "on"; } catch { return false; } };

function tick() {
  context ??= new AudioContext();
  const tone = context.createOscillator(), volume = context.createGain(), now = context.currentTime;
  tone.frequency.setValueAtTime(520, now);
  tone.frequency.exponentialRampToValueAtTime(260, now + SECONDS);
  volume.gain.setValueAtTime(0.12, now);
  volume.gain.exponentialRampToValueAtTime(0.001, now + SECONDS);
  tone.connect(volume).connect(context.destination);
  tone.start(now);
  tone.stop(now + SECONDS);
}

/** Lets a button switch sounds on and off, in this browser for all matches. */
export function sounding(button) {
  const show = () => button.setAttribute("aria-pressed", String(isOn()));
  show();
  button.removeAttribute("data-waits");
  button.onclick = () => {
    try { localStorage.setItem(KEY, isOn() ? "off" : "on"); } catch { /* a browser that keeps nothing */ }
    show();
    if (isOn()) tick(); // a browser lets a page sound only after a click
  };
}

/** Sounds for a step, if that is wanted. */
export const soundStep = () => { if (isOn()) tick(); };
