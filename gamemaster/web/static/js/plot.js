// Values over the steps of a match, as a picture.

import { make, makeSvg } from "./lib.js";

const WIDTH = 420, HEIGHT = 170, LEFT = 44, BOTTOM = 24, TOP = 14, RIGHT = 10, SERIES = 8;

const seriesClass = ({ colour }, number) => (colour ? `c-${colour}` : `s${(number % SERIES) + 1}`);

/** series: [{ name, colour: of the pieces, values: [number | null] }], 0 to 100; `at` is the step that is shown; `go` is called with a step. */
export function valuePlot(series, steps, at, go, label = "Expected goal value after each step") {
  const x = (step) => LEFT + ((WIDTH - LEFT - RIGHT) * step) / Math.max(1, steps);
  const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (100 - value)) / 100;
  const svg = makeSvg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const value of [0, 50, 100]) {
    svg.append(makeSvg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }));
    svg.append(makeSvg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)));
  }
  for (const step of new Set([0, Math.round(steps / 2), steps])) {
    svg.append(makeSvg("text", { x: x(step), y: HEIGHT - 5, "text-anchor": step === 0 ? "start" : step === steps ? "end" : "middle" }, String(step)));
  }
  svg.append(makeSvg("line", { class: "here", x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM }));
  series.forEach((one, number) => {
    const group = makeSvg("g", { class: seriesClass(one, number) });
    const points = one.values.map((value, step) => (value === null || value === undefined ? null : [x(step), y(value)]));
    let path = "";
    points.forEach((point) => {
      if (!point) return;
      path += `${path ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
      group.append(makeSvg("circle", { class: "point", cx: point[0], cy: point[1], r: 2.6 }));
    });
    group.prepend(makeSvg("path", { class: "curve", d: path || "M0 0" }));
    svg.append(group);
  });
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    go(Math.max(0, Math.min(steps, Math.round(share * steps))));
  });
  const legend = make("ul", { class: "legend" }, ...series.map((one, number) => make("li", { class: seriesClass(one, number) }, one.name)));
  return [svg, legend];
}
