// What each observation is worth: how often it is bought, what it adds, what one may pay for it.

import { fill, h, s, section } from "./dom.js";
import { plain, share, whole } from "./figures.js";

const WIDE = 220;
const HIGH = 46;
const LOW = HIGH - 13;

export class Worth {
  constructor(figures) {
    this.figures = figures;
    const { element, body } = section(
      "What one may pay for each",
      "The break-even price is the highest at which the best policy still buys, as believed today: above it, one does better without. “Adds” is what a case gains by having the observation at today's price. Below is the interval in which 19 of 20 such numbers lie. Prices are those that are paid: the fee of a panel is in that of its first.",
    );
    this.element = element;
    this.rows = h("tbody", {});
    const titles = ["Observation", "Price today", "Bought so far", "Worth buying in", "Adds", "Break-even price", "Does it pay?", "Bought in, as the price rises"];
    this.learn = h("p", { class: "note" }, "Loading…");
    fill(
      body,
      h("table", { class: "worth numbers" }, h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))), this.rows),
      h("p", { class: "note" }, h("i", { class: "today-key" }), " today's price; the lighter band has 19 of 20 worlds that are possible"),
      this.learn,
    );
  }

  show(worth, cases, budget) {
    const order = (o) => (o.break_even === null ? (isUnknown(o) ? -1 : Infinity) : withFees(o, o.break_even));
    const sorted = [...worth.observations].sort((a, b) => order(b) - order(a));
    fill(this.rows, sorted.map((o) => this.row(o, cases)));
    const learn = worth.still_to_learn;
    this.learn.hidden = learn === null;
    const beside = budget && budget.shadow_price > 0 ? ", without the budget" : "";
    if (learn) this.learn.textContent = `Still to learn${beside}: knowing this population perfectly would add ${this.figures.gain(learn.value)} (${this.figures.gain(learn.low)} to ${this.figures.gain(learn.high)}) a case.`;
  }

  row(o, cases) {
    const { figures } = this;
    const unknown = isUnknown(o);
    const ceiling = unknown ? "–" : o.break_even === null ? "any" : figures.amount(withFees(o, o.break_even));
    const between = (low, high, text) => {
      if (unknown || low === null || (high !== null && high - low < 1e-9)) return null;
      return h("small", {}, high === null ? `${text(low)} or more` : `${text(low)} to ${text(high)}`);
    };
    const added = [unknown ? "–" : figures.gain(o.adds), between(o.adds_low, o.adds_high, (x) => figures.gain(x))];
    const prices = between(o.break_even_low, o.break_even_high, (x) => figures.amount(withFees(o, x)));
    const often = cases ? `${whole(o.bought)} (${share(o.bought / cases)})` : "0";
    const cell = (title, text, kind) => h("td", { "data-title": title, class: kind }, text);
    return h(
      "tr",
      { class: !unknown && (o.break_even === null || o.break_even > o.cost) ? null : "idle" },
      h("th", { scope: "row" }, o.name),
      cell("price today", plain(o.cost + o.fees)),
      cell("bought so far", often),
      cell("worth buying in", o.share === null ? "–" : share(o.share)),
      cell("adds", added),
      cell("break-even", [ceiling, prices], "ceiling"),
      cell("does it pay?", o.share === null ? "–" : verdict(o)),
      h("td", { class: "curve" }, o.demand.length ? demand(o) : o.share === null ? "not believed to matter" : null),
    );
  }
}

/** Where it is not believed to matter, or no case was seen yet. */
const isUnknown = ({ share: part, verdict: said }) => part === null || said === "no cases yet";

/** A break-even price as it is shown: with the fees, but 0 of what is not bought at any price. */
const withFees = ({ fees }, price) => (price > 0 ? price + fees : 0);

/** Whether it pays, and if that is not known yet, about how many more cases will settle it. */
function verdict(o) {
  if (o.cases_to_settle === 0) return o.verdict;
  if (o.cases_to_settle !== null && o.cases_to_settle < 1.5) return `${o.verdict}: about one case more`;
  if (o.cases_to_settle === null) return `${o.verdict}: more cases than can be foreseen`;
  return `${o.verdict}: some ${whole(Number(o.cases_to_settle.toPrecision(1)))} cases more`;
}

/** The share of the cases that buy as the price rises: steps, and a line at today's price. */
export function demand({ name, cost: own, fees, demand: pieces, demand_band: band = [] }) {
  const cost = own + fees;
  const prices = pieces.map((piece) => piece.price + fees);
  const end = Math.max(1.15 * Math.max(...prices, cost), ...band.map((b) => b.price + fees)) || 1;
  const x = (price) => 2 + (price / end) * (WIDE - 4);
  const y = (part) => LOW - part * (LOW - 5);
  const steps = pieces.slice(1).reduce((path, piece) => `${path}H${x(piece.price + fees).toFixed(1)}V${y(piece.share).toFixed(1)}`, `M2 ${LOW}V${y(pieces[0].share).toFixed(1)}`) + `H${WIDE - 2}`;
  const never = pieces.at(-1).price > 0 ? `, never from ${plain(prices.at(-1))} on` : "";
  const free = pieces[0].share > 0 ? `bought in ${share(pieces[0].share)} of the cases if free` : "never bought, not even if free";
  const words = `${name}: ${free}${never}; today's price is ${plain(cost)}`;
  const point = (b, part) => `${x(b.price + fees).toFixed(1)} ${y(part).toFixed(1)}`;
  const outline = band.length && `M${band.map((b) => point(b, b.high)).join("L")}L${[...band].reverse().map((b) => point(b, b.low)).join("L")}Z`;
  const written = Number(end.toPrecision(2));
  return s(
    "svg",
    { class: "demand", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": words },
    s("title", {}, words),
    outline ? s("path", { class: "area", d: outline }) : s("path", { class: "area", d: `${steps}V${LOW}Z` }),
    s("path", { class: "steps", d: steps }),
    s("path", { class: "today", d: `M${x(cost).toFixed(1)} 2V${LOW + 3}` }),
    x(cost) > 26 && s("text", { x: 2, y: HIGH - 2 }, "0"),
    s("text", { class: "now", x: Math.min(x(cost), WIDE - 50), y: HIGH - 2, "text-anchor": x(cost) < 14 ? "start" : "middle" }, plain(cost)),
    s("text", { x: WIDE - 2, y: HIGH - 2, "text-anchor": "end" }, plain(written)),
  );
}
