// Lists of cases: the newest with their paths, and those whose reward is still awaited.

import { fill, h, section } from "./dom.js";
import { ago, plain, rewardValue, whole } from "./figures.js";

export const WORDS = {
  observing: "still looking",
  acted: "awaits its reward",
  defaulted: "reward by default",
  rewarded: "rewarded",
  cancelled: "cancelled",
};

export class CaseList {
  /** follow(number): show that case step by step. */
  constructor(title, about, problem, figures, follow) {
    this.beta = rewardValue(problem);
    this.figures = figures;
    this.follow = follow;
    const { element, body } = section(title, about);
    this.element = element;
    this.list = h("ol", { class: "cases" });
    this.note = h("p", { class: "note" }, "Loading…");
    fill(body, this.list, this.note);
  }

  show(cases, total) {
    const focused = document.activeElement?.dataset?.case;
    fill(this.list, cases.length ? cases.map((one) => this.row(one)) : h("li", { class: "about" }, "None."));
    const more = (total ?? 0) - cases.length;
    this.note.textContent = more > 0 ? `and ${whole(more)} more` : "";
    if (focused) this.list.querySelector(`[data-case="${focused}"]`)?.focus();
  }

  row(one) {
    return h(
      "li",
      {},
      h("button", { type: "button", class: "quiet number", "data-case": one.case, onclick: () => this.follow(one.case), "aria-label": `Follow case ${one.case}` }, `#${one.case}`),
      pathOf(one),
      h("span", { class: "outcome" }, this.outcome(one), h("small", {}, ago(one.opened))),
    );
  }

  outcome(one) {
    if (one.reward === null) return h("span", { class: `status ${one.status}` }, WORDS[one.status]);
    return h("span", { class: `status ${one.status}`, title: WORDS[one.status] }, `gain ${this.figures.gain(gainOf(one, this.beta))}`);
  }
}

/** What a case gained: its stake multiplies its reward; beta is what a reward of 1 is worth. */
export const gainOf = (one, beta) => one.stake * beta * one.reward - one.cost;

/** What was known, what was bought and what it showed, and what was done. */
export function pathOf(one) {
  const given = Object.keys(one.known).filter((name) => !one.path.includes(name));
  const shown = (name) => (one.known[name] === null ? "unavailable" : String(one.known[name]));
  const step = (kind) => (name) => h("span", { class: `step ${kind}` }, h("i", {}, name), " ", h("b", {}, shown(name)));
  return h(
    "span",
    { class: "path" },
    given.map(step("given")),
    one.path.map(step("bought")),
    one.wanted.map((name) => h("span", { class: "step wanted" }, `wants ${name}`)),
    one.action !== null && h("span", { class: "step action" }, one.overruled && h("i", {}, "people "), h("b", {}, one.action)),
    one.stake !== 1 && h("span", { class: "step given" }, h("i", {}, "stake "), h("b", {}, plain(one.stake))),
  );
}
