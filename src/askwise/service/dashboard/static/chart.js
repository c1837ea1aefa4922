// A line chart: one line of points, some level lines to compare it with, a read-out for pointer and
// keyboard. It is drawn in the pixels it has, so text keeps its size on a phone.

import { fill, h, s } from "./dom.js";

const HIGH = 230;
const LEFT = 46; // at least
const RIGHT = 12;
const TOP = 14;
const BOTTOM = 34;
const LETTER = 6.4;
const HALF = 7; // of the height of a name
const PARTS = 16; // of the line between two points, where names keep off it
const NARROW = 420;
const HINT = "Point at the line to read it.";

export class LineChart {
  /** title: what is drawn; across: what x is; write(y): a number as text. */
  constructor({ title, across, write }) {
    this.title = title;
    this.across = across;
    this.write = write;
    this.data = { points: [], levels: [], isLoading: true };
    this.chosen = null;
    this.picture = s("svg", { class: "chart", role: "img", height: HIGH });
    this.readOut = h("output", { class: "read-out", "aria-live": "polite" });
    this.frame = h(
      "div",
      {
        class: "frame",
        tabindex: 0,
        role: "group",
        "aria-label": `${title}: arrow keys move from point to point`,
        onpointermove: (event) => this.choose(this.nearest(event)),
        onpointerleave: () => this.choose(null),
        onkeydown: (event) => this.keys(event),
        onblur: () => this.choose(null),
      },
      this.picture,
    );
    this.key = h("div", { class: "key" });
    this.element = h("figure", {}, h("figcaption", {}, h("h3", {}, title), this.key), this.frame, this.readOut);
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  /** points: [{ x, y, words }], levels: [{ y, name, kind }]; the line is called `name`. */
  show(data) {
    this.data = data;
    if (this.chosen !== null && this.chosen >= data.points.length) this.chosen = null;
    fill(
      this.key,
      h("span", { class: "mine" }, data.name),
      data.levels.map((level) => h("span", { class: level.kind }, level.name)),
    );
    this.draw();
  }

  draw() {
    const { points, levels } = this.data;
    const wide = this.frame.clientWidth;
    if (!wide) return;
    this.picture.setAttribute("viewBox", `0 0 ${wide} ${HIGH}`);
    this.picture.setAttribute("aria-label", this.described());
    if (points.length === 0) {
      fill(this.picture, s("text", { x: wide / 2, y: HIGH / 2, "text-anchor": "middle" }, this.data.isLoading ? "loading…" : "nothing to draw yet"));
      fill(this.readOut);
      return;
    }
    const ys = [...points.map((p) => p.y), ...levels.map((l) => l.y)];
    const [low, high] = widened(Math.min(...ys), Math.max(...ys));
    const steps = ticks(low, high, 5);
    this.left = Math.max(LEFT, 10 + LETTER * Math.max(...steps.map((y) => this.write.axis(y).length)));
    const first = points[0].x;
    const last = points.length > 1 ? points.at(-1).x : first + 1;
    this.x = (x) => this.left + ((x - first) / (last - first)) * (wide - this.left - RIGHT);
    this.y = (y) => TOP + ((high - y) / (high - low)) * (HIGH - TOP - BOTTOM);
    const line = points.map((p, k) => `${k ? "L" : "M"}${this.x(p.x).toFixed(1)} ${this.y(p.y).toFixed(1)}`).join(" ");
    fill(
      this.picture,
      this.axes(wide, steps, first, last),
      levels.map((level) => s("path", { class: `level ${level.kind}`, d: `M${this.left} ${this.y(level.y)}H${wide - RIGHT}` })),
      this.labels(levels, wide),
      s("path", { class: "line mine", d: line }),
      points.length < 60 && points.map((p) => s("circle", { class: "mine", cx: this.x(p.x), cy: this.y(p.y), r: points.length === 1 ? 4 : 1.8 })),
    );
    this.mark();
  }

  axes(wide, steps, first, last) {
    const across = this.data.ticks ?? ticks(first, last, Math.max(4, Math.floor(wide / 110)), 1).map((x) => ({ x, name: x.toLocaleString("en-US") }));
    return [
      steps.map((y) => [
        s("path", { class: "grid", d: `M${this.left} ${this.y(y)}H${wide - RIGHT}` }),
        s("text", { x: this.left - 7, y: this.y(y) + 4, "text-anchor": "end" }, this.write.axis(y)),
      ]),
      across.map(({ x, name }) => s("text", { x: this.x(x), y: HIGH - 18, "text-anchor": this.x(x) > wide - 40 ? "end" : "middle" }, name)),
      s("text", { x: wide - RIGHT, y: HIGH - 3, "text-anchor": "end" }, this.data.across ?? this.across),
    ];
  }

  /** The levels are named where the line and the other names are farthest; where there is little
   * room, the colour names them. */
  labels(levels, wide) {
    const line = this.data.points.flatMap((p, k, all) => (k ? between(all[k - 1], p) : [p]));
    const taken = line.map((p) => ({ from: this.x(p.x), to: this.x(p.x), y: this.y(p.y) }));
    return levels.map((level) => {
      const words = `${wide < NARROW ? "" : `${level.name} `}${this.write.value(level.y)}`;
      const width = words.length * LETTER;
      const others = levels.filter((other) => other !== level).map((other) => ({ from: 0, to: wide, y: this.y(other.y) }));
      // the nearest place with room enough; where there is none, the one with most
      const places = [9.5, 22, 35, 48].flatMap((off) =>
        [this.left + 6, (this.left + wide - RIGHT - width) / 2, wide - RIGHT - width].flatMap((from) =>
          [-off, off].map((far) => ({ from, to: from + width, y: this.y(level.y) + far })),
        ),
      );
      const near = (place) => (one) => one.to > place.from - 8 && one.from < place.to + 8;
      const room = (place) =>
        Math.min(...[...taken, ...others].filter(near(place)).map((one) => Math.abs(one.y - place.y) - (one.isName ? HALF : 0)), place.y - 4, HIGH - BOTTOM - place.y);
      const best = places.find((place) => room(place) >= HALF) ?? places.reduce((one, other) => (room(other) > room(one) ? other : one));
      best.isName = true;
      taken.push(best);
      return s("text", { class: `name ${level.kind}`, x: best.from, y: best.y + 4 }, words);
    });
  }

  nearest(event) {
    if (!this.data.points.length) return null;
    const at = event.clientX - this.frame.getBoundingClientRect().left;
    const far = this.data.points.map((p) => Math.abs(this.x(p.x) - at));
    return far.indexOf(Math.min(...far));
  }

  keys(event) {
    const end = this.data.points.length - 1;
    const now = this.chosen ?? (event.key === "ArrowRight" ? -1 : end + 1);
    const next = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: end }[event.key];
    if (next === undefined || end < 0) return;
    event.preventDefault();
    this.choose(Math.min(Math.max(next, 0), end));
  }

  choose(point) {
    this.chosen = point;
    this.mark();
  }

  mark() {
    this.picture.querySelectorAll(".mark").forEach((old) => old.remove());
    const point = this.data.points[this.chosen ?? -1];
    if (!point) {
      this.readOut.textContent = this.data.points.length ? HINT : "";
      return;
    }
    const x = this.x(point.x);
    this.picture.append(
      s("path", { class: "mark", d: `M${x} ${TOP}V${HIGH - BOTTOM}` }),
      s("circle", { class: "mark mine", cx: x, cy: this.y(point.y), r: 4.5 }),
    );
    this.readOut.textContent = point.words;
  }

  described() {
    const { points, levels, name } = this.data;
    if (!points.length) return `${this.title}: ${this.data.isLoading ? "loading" : "nothing to draw yet"}`;
    const compared = levels.map((l) => `${l.name} ${this.write.value(l.y)}`).join(", ");
    return `${this.title}: ${name} from ${this.write.value(points[0].y)} to ${this.write.value(points.at(-1).y)}; ${compared}`;
  }
}

/** Points from one to another, the last included: so close that no name fits between two of them. */
const between = (one, other) => Array.from({ length: PARTS }, (_, k) => mixed(one, other, (k + 1) / PARTS));
const mixed = (one, other, share) => ({ x: one.x + share * (other.x - one.x), y: one.y + share * (other.y - one.y) });

function widened(low, high) {
  const more = 0.08 * (high - low) || Math.abs(high) || 1;
  return [low >= 0 && low - more < 0 ? 0 : low - more, high + more];
}

/** Round numbers from low to high, about so many; `least` is the smallest step, 1 for what is counted. */
export function ticks(low, high, number, least = 0) {
  const rough = (high - low) / number;
  const power = 10 ** Math.floor(Math.log10(rough));
  const steps = least ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10]; // 2.5 is no whole number
  const step = Math.max(least, power * steps.find((f) => f * power >= rough));
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k += 1) found.push(Number((k * step).toPrecision(12)));
  return found;
}
