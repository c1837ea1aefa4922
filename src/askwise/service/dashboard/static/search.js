// Find a case: by its number, or by what was seen, done or awaited, among the newest ones first.

import { get, path } from "./api.js";
import { CaseList, WORDS } from "./cases.js";
import { during, field, fill, h } from "./dom.js";
import { many, whole } from "./figures.js";

const PAGE = 500; // cases that are looked through at a time
const PAGES = 10; // before one is asked whether to go on
const FOUND = 20;

export class CaseSearch {
  /** follow(number): show that case step by step. */
  constructor(project, problem, figures, follow) {
    this.project = project;
    this.follow = follow;
    this.words = h("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "mri pos treat" });
    const button = h("button", { type: "submit", class: "quiet" }, "Find");
    this.more = h("button", { type: "button", class: "quiet", hidden: true }, "Look further");
    this.list = new CaseList("Find a case", "", problem, figures, follow);
    this.element = this.list.element;
    this.says = h("div", {});
    this.list.list.hidden = true;
    fill(this.list.note); // nothing is looked for yet
    const form = h("form", { class: "inline search", onsubmit: during(button, this.says, () => this.begin()) }, field("A number, or words", this.words, "What was seen, what was done, or how it stands: all of them must be there."), button);
    this.more.addEventListener("click", during(this.more, this.says, () => this.goOn()));
    this.list.note.before(this.more, this.says);
    this.list.list.before(form);
  }

  async begin() {
    const words = this.words.value.trim().replace(/^#/, "").toLowerCase();
    this.list.list.hidden = this.more.hidden = true;
    this.list.note.textContent = "";
    if (!words) throw new Error("Still missing: what to look for.");
    if (/^\d+$/.test(words)) return this.follow(Number(words));
    this.wanted = words.split(/\s+/);
    this.before = null;
    this.seen = 0;
    this.found = [];
    this.shown = 0;
    this.isEnd = false;
    await this.goOn();
  }

  async goOn() {
    const enough = this.shown + FOUND;
    let { isEnd } = this;
    for (let page = 0; page < PAGES && !isEnd && this.found.length < enough; page += 1) {
      const before = this.before === null ? "" : `&before=${this.before}`;
      const { cases } = await get(`${path("projects", this.project, "cases")}?limit=${PAGE}${before}`);
      isEnd = cases.length === 0;
      if (isEnd) break;
      this.before = cases.at(-1).case;
      this.seen += cases.length;
      this.found.push(...cases.filter((one) => this.wanted.every((word) => textOf(one).some((part) => part.startsWith(word)))));
      isEnd = this.before <= 1;
    }
    const shown = this.found.slice(0, enough);
    const left = this.found.length - shown.length;
    this.shown = shown.length;
    this.isEnd = isEnd;
    this.list.list.hidden = shown.length === 0;
    this.list.show(shown);
    this.more.hidden = isEnd && left === 0;
    const found = left > 0 ? `${many(this.found.length, "case")} found, ${whole(shown.length)} shown,` : many(shown.length, "case");
    this.list.note.textContent = `${found} of the newest ${whole(this.seen)}${isEnd ? ", which are all" : ""}.`;
  }
}

/** All words that a case can be found by. */
function textOf(one) {
  const seen = Object.entries(one.known).flatMap(([name, value]) => [name, value === null ? "unavailable" : String(value)]);
  const people = one.overruled ? ["people", "overruled"] : [];
  return [...seen, one.action ?? "", ...one.wanted, one.status, ...WORDS[one.status].split(" "), ...people].map((text) => text.toLowerCase());
}
