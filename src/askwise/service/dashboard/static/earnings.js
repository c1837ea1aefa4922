// What was earned and spent: by blocks of cases or by day, against buying nothing and everything.

import { LineChart } from "./chart.js";
import { fill, h } from "./dom.js";
import { many, plain, rewardValue, whole } from "./figures.js";

const POINTS = 36;
const FEWEST = 16; // cases in a point: fewer are mostly luck
const RECENT = 0.2; // of all cases, for the figures of now
const COMPARED = 30; // rewards from which on cases are compared with buying nothing or everything

export class Earnings {
  constructor(problem, figures) {
    this.beta = rewardValue(problem);
    this.figures = figures;
    this.actionsCost = problem.actions.some((one) => one.cost > 0);
    const spent = this.actionsCost ? "Spent in a case, on observations and its action" : "Spent on observations in a case";
    this.spent = spent[0].toLowerCase() + spent.slice(1);
    this.buysAll = (problem.max_observations ?? problem.observations.length) >= problem.observations.filter((o) => !o.given).length;
    this.tiles = h("div", { class: "tiles" }, h("div", { class: "card" }, h("b", {}, "…"), h("span", {}, "loading")));
    const write = { axis: plain, value: (y) => figures.gain(y) };
    this.gain = new LineChart({ title: "Gain of a case", across: "case", write });
    this.spend = new LineChart({ title: spent, across: "case", write });
    this.by = h("select", { onchange: () => this.show(this.summary, this.worth), "aria-label": "Draw by" }, h("option", { value: "case" }, "by case"), h("option", { value: "day" }, "by day"));
    this.by.hidden = true;
    this.element = h(
      "section",
      { "aria-labelledby": "earned" },
      this.tiles,
      h("div", { class: "head" }, h("h2", { id: "earned" }, "Earned and spent"), this.by),
      h("div", { class: "pair" }, h("div", { class: "card" }, this.gain.element), h("div", { class: "card" }, this.spend.element)),
    );
  }

  show(summary, worth) {
    if (!summary) return;
    this.summary = summary;
    this.worth = worth;
    this.by.hidden = summary.days.length < 2;
    const byDay = !this.by.hidden && this.by.value === "day";
    const points = byDay ? days(summary.days, this.beta) : blocks(summary.blocks, this.beta);
    const axis = byDay ? { across: "day", ticks: dayTicks(points) } : {};
    const [nothing, everything] = [worth?.gain_of_nothing, worth?.gain_of_everything];
    const all = this.buysAll ? "buying everything" : "buying all one may";
    const levels = [
      { name: all, kind: "everything", y: everything },
      { name: "buying nothing", kind: "nothing", y: nothing },
    ].filter((level) => typeof level.y === "number");
    const isStaked = summary.blocks.some(({ stake, rewarded }) => stake !== rewarded);
    this.gain.show({ ...axis, name: isStaked ? "as decided, per unit of stake" : "as decided", levels: isStaked ? levels.map((l) => ({ ...l, name: `${l.name} at stake 1` })) : levels, points: points.map((p) => ({ x: p.x, y: p.gain, words: this.words(p) })) });
    // what the actions would cost is not known, so where they cost something there is nothing to compare with
    const spends = this.actionsCost ? [] : [{ name: all, kind: "everything", y: worth?.cost_of_everything }, { name: "buying nothing", kind: "nothing", y: 0 }].filter((level) => typeof level.y === "number");
    this.spend.show({ ...axis, name: "as decided", levels: spends, points: points.map((p) => ({ x: p.x, y: p.spend, words: this.words(p) })) });
    this.showTiles(summary, nothing, everything, all);
  }

  showTiles(summary, nothing, everything, all) {
    const now = recent(summary.blocks, this.beta);
    const { figures } = this;
    const isCompared = now && now.rewarded >= COMPARED;
    const than = (other) => (isCompared && typeof other === "number" ? figures.difference(now.gain - other) : "–");
    const at = now && now.isStaked ? " at stake 1" : "";
    const against = (what) => (isCompared ? `against ${what}${at}, as believed today` : `against ${what}: after ${COMPARED} rewards`);
    const tile = (number, words, kind = "") => h("div", { class: `card ${kind}` }, h("b", {}, number), h("span", {}, words));
    fill(
      this.tiles,
      tile(now ? figures.gain(now.gain) : "–", now ? `gain ${now.isStaked ? "per unit of stake" : "of a case"}, in the last ${many(now.cases, "case")}` : "gain of a case"),
      tile(now ? figures.amount(now.spend) : "–", this.spent),
      tile(than(nothing), against("buying nothing"), "nothing"),
      tile(than(everything), against(all), "everything"),
      ...(summary.budget ? [tile(`${figures.amount(summary.budget.spent)} of ${figures.amount(summary.budget.allowed)}`, `spent on observations in a case, within the budget; one more to spend would add ${figures.amount(summary.budget.shadow_price)}`)] : []),
      tile(whole(summary.cases), `${summary.cases === 1 ? "case" : "cases"}, ${whole(summary.statuses.observing)} still open, ${many(summary.statuses.acted, "reward")} still awaited`),
    );
  }

  words(point) {
    return `${point.label}: gain ${this.figures.gain(point.gain)}${point.isStaked ? " per unit of stake" : ""}, spent ${this.figures.amount(point.spend)} a case`;
  }
}

/** Neighbouring blocks together, until each point stands for enough cases. */
export function blocks(found, beta) {
  const total = found.reduce((sum, b) => sum + b.acted, 0);
  const enough = Math.max(FEWEST, total / POINTS);
  const points = [];
  let open = null;
  for (const block of found) {
    open = joined(open, block);
    if (open.rewarded >= enough) {
      points.push(open);
      open = null;
    }
  }
  if (open && open.rewarded >= enough / 2) points.push(open);
  else if (open && points.length) points.push(joined(points.pop(), open));
  else if (open?.rewarded) points.push(open);
  return points.map((p) => ({
    x: Math.round((p.first + p.last) / 2),
    label: `cases ${whole(p.first)} to ${whole(p.last)}`,
    ...perCase(p, beta),
    cases: p.acted,
  }));
}

function joined(one, other) {
  if (!one) return { ...other };
  const sum = { first: one.first, last: other.last };
  for (const name of ["acted", "rewarded", "reward", "spend", "stake"]) sum[name] = one[name] + other[name];
  return sum;
}

/** What cases spent, and what they gained per unit of stake: estimates are for a stake of 1. */
export function perCase({ acted, rewarded, reward, spend, stake }, beta) {
  const spent = spend / acted;
  const isStaked = Math.abs(stake - rewarded) > 1e-6;
  const gain = (beta * reward) / rewarded - spent;
  return { spend: spent, gain: isStaked ? gain * (rewarded / stake) : gain, isStaked };
}

function recent(found, beta) {
  const total = found.reduce((sum, b) => sum + b.rewarded, 0);
  let open = null;
  for (const block of found.toReversed()) {
    open = open ? joined(block, open) : { ...block };
    if (open.rewarded >= Math.max(4 * FEWEST, RECENT * total)) break;
  }
  if (!open?.rewarded) return null;
  return { ...perCase(open, beta), cases: open.acted, rewarded: open.rewarded };
}

function days(found, beta) {
  return found
    .filter((day) => day.rewarded && day.acted)
    .map((day) => ({
      x: Date.parse(day.day) / 86_400_000,
      label: day.day,
      ...perCase(day, beta),
      spend: day.spend / day.acted,
    }));
}

function dayTicks(points) {
  const step = Math.ceil(points.length / 5);
  return points.filter((_, k) => k % step === 0).map((p) => ({ x: p.x, name: p.label.slice(5) }));
}
