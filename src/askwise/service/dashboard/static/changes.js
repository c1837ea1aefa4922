// What changed since a date: what cases gain and spend, and what the policy buys and does; or how
// any two versions of the policy differ.

import { get, path } from "./api.js";
import { during, field, fill, h, section } from "./dom.js";
import { perCase } from "./earnings.js";
import { rewardValue, whole } from "./figures.js";
import { TreeView } from "./tree.js";

const DAY = 86_400_000;
const WEEK = 7;

export class Changes {
  constructor(project, problem, figures) {
    this.project = project;
    this.beta = rewardValue(problem);
    this.figures = figures;
    const { element, body } = section("What has changed", "Since a day, against as many days before it; and the policy as it was, beside what it is. Or between two versions of the policy.");
    this.element = element;
    this.since = h("input", { type: "date", max: dayOf(Date.now()), value: dayOf(Date.now() - WEEK * DAY), required: true });
    this.then = h("input", { type: "number", min: 1, step: 1, inputmode: "numeric", placeholder: "by the day" });
    this.now = h("input", { type: "number", min: 1, step: 1, inputmode: "numeric", placeholder: "the newest" });
    this.result = h("div", {});
    this.says = h("div", {});
    const button = h("button", { type: "submit", class: "quiet" }, "Show what changed");
    fill(
      body,
      h("form", { class: "inline first", onsubmit: during(button, this.says, () => this.show()) }, field("Since", this.since), field("From version", this.then), field("To version", this.now), button),
      this.says,
      this.result,
    );
  }

  async show() {
    fill(this.result);
    const start = Date.parse(this.since.value);
    if (Number.isNaN(start)) throw new Error("Still missing: since which day.");
    const [summary, then] = await Promise.all([get(path("projects", this.project, "summary")), this.versionThen(start)]);
    const at = (version) => get(`${path("projects", this.project, "policy")}${version ? `?version=${version}` : ""}`);
    const [before, after] = await Promise.all([at(then.version), at(Number(this.now.value) || 0)]);
    fill(this.result, this.figuresOf(summary.days, start), h("p", { class: "note" }, then.words), comparison([[`version ${before.policy_version}`, before], [`version ${after.policy_version}`, after]], this.figures));
  }

  /** The version that was newest when the day began, or the oldest since that still has a tree. */
  async versionThen(start) {
    if (this.then.value !== "") return { version: Number(this.then.value), words: "Of both versions, what cases follow; what differs is marked." };
    const { versions } = await get(`${path("projects", this.project, "versions")}?before=${Math.max(1, Math.floor(start / 1000))}&limit=200`);
    const newest = versions[0];
    if (!newest) return { version: 1, words: "There was no policy yet on that day: the first one is shown. What differs is marked." };
    const kept = versions.find((one) => !one.is_thinned);
    if (kept === newest) return { version: newest.version, words: `On that day cases followed version ${newest.version}. What differs is marked.` };
    const version = kept?.version ?? 1;
    return { version, words: `On that day cases followed version ${newest.version}, of which just the prices are kept: version ${version}, which came before it, is shown. What differs is marked.` };
  }

  figuresOf(days, start) {
    const length = Math.max(1, Math.ceil((Date.now() - start) / DAY));
    const sum = (from, to) => {
      const some = days.filter(({ day }) => Date.parse(day) >= from && Date.parse(day) < to);
      const total = (name) => some.reduce((all, one) => all + one[name], 0);
      return { opened: total("opened"), acted: total("acted"), rewarded: total("rewarded"), reward: total("reward"), spend: total("spend"), stake: total("stake") };
    };
    const now = sum(start, Infinity);
    const before = sum(start - length * DAY, start);
    const { figures } = this;
    const perCases = (s) => (s.rewarded && s.acted ? perCase(s, this.beta) : null);
    const isStaked = [before, now].some((s) => perCases(s)?.isStaked);
    const gain = (s) => perCases(s)?.gain ?? null;
    const spend = (s) => (s.acted ? s.spend / s.acted : null);
    const row = (words, write, of) => {
      const [a, b] = [of(before), of(now)];
      const change = a === null || b === null ? "" : figures.difference(b - a);
      return h("tr", {}, h("th", { scope: "row" }, words), [a, b].map((x) => h("td", {}, x === null ? "none" : write(x))), h("td", {}, change));
    };
    return h(
      "table",
      { class: "numbers changes" },
      h("thead", {}, h("tr", {}, ["", `${length} days before`, "since then", "change"].map((title) => h("th", { scope: "col" }, title)))),
      h(
        "tbody",
        {},
        h("tr", {}, h("th", { scope: "row" }, "cases opened"), [before, now].map((s) => h("td", {}, whole(s.opened))), h("td", {}, `${now.opened < before.opened ? "−" : "+"}${whole(Math.abs(now.opened - before.opened))}`)),
        row(isStaked ? "gain per unit of stake" : "gain of a case", (x) => figures.gain(x), gain),
        row("spent in a case", (x) => figures.amount(x), spend),
      ),
    );
  }
}

/** Trees beside each other: what differs is marked in both. */
export function comparison(named, figures) {
  const views = named.map(([, policy]) => {
    const view = new TreeView(figures);
    view.draw(policy.follows.tree);
    return view;
  });
  const places = views.map((view) => view.places);
  const differ = named.map(([, policy], k) => views[k].draw(policy.follows.tree, places[k === 0 ? 1 : 0], "differs"));
  const value = ({ follows }) => (follows.value === null ? "" : `, gains ${figures.gain(follows.value)} a case by what was known`);
  return [
    !differ.some(Boolean) && h("p", {}, "They buy and do the same."),
    h("div", { class: "pair" }, named.map(([name, policy], k) => h("div", { class: "card" }, h("h3", {}, name), h("p", { class: "note" }, `what cases follow${value(policy)}`), views[k].element))),
  ];
}

const dayOf = (moment) => new Date(moment).toISOString().slice(0, 10);
