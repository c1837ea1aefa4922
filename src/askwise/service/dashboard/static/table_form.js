// A project from a table of past cases: choose a file, say what its columns are, fill in the prices
// of the draft, see the first tree.

import { path, send } from "./api.js";
import { Amiss, during, field, fill, h, say } from "./dom.js";
import { Figures, many } from "./figures.js";
import { TreeView } from "./tree.js";

const MOST_BYTES = 900_000; // the server takes a megabyte, with what is around the table
const NONE = "";

export class TableForm {
  /** show(problem): where the draft is shown, to have its prices filled in, or null if there is none;
   * begin(): called when something new is asked for, so that older errors go. */
  constructor(show, begin) {
    this.show = show;
    this.begin = begin;
    this.isDrafted = false;
    this.file = h("input", { type: "file", accept: ".csv,text/csv", onchange: () => this.open() });
    this.says = h("div", {});
    this.place = h("div", {});
    this.result = h("div", {}); // shown after the problem, which stands between
    this.element = h("div", {}, field("Table", this.file, "A CSV: a line with the names of the columns, then a line for every case of the past. At most 900 kB; a larger one goes through askwise fit."), this.says, this.place);
  }

  /** What was fitted is not what stands there any more. */
  changed() {
    this.fitted = null;
    fill(this.result);
  }

  async open() {
    this.changed();
    fill(this.place);
    this.table = null;
    this.begin();
    this.isDrafted = false;
    this.show(null);
    const [file] = this.file.files;
    if (!file) return;
    await during(this.file, this.says, async () => {
      if (file.size > MOST_BYTES) throw new Error(`${file.name} has ${many(Math.ceil(file.size / 1000), "kilobyte")}, at most ${MOST_BYTES / 1000} are taken here: askwise fit reads larger ones.`);
      const table = await file.text();
      const { columns, rows } = await send(path("draft"), { table });
      this.table = table;
      this.askForRoles(columns, rows);
    })();
  }

  askForRoles(columns, rows) {
    const choice = (first) => h("select", {}, h("option", { value: NONE }, first), columns.map((name) => h("option", { value: name }, name)));
    const what = h(
      "select",
      {},
      h("option", { value: "label" }, "which action would have been right"),
      h("option", { value: "action" }, "what was done, and what that earned"),
    );
    this.label = choice("which column?");
    this.action = choice("which column?");
    this.reward = choice("which column?");
    this.acquisition = h(
      "select",
      {},
      h("option", { value: "simultaneous" }, "before any of it was seen"),
      h("option", { value: "sequential" }, "one after the other, from what was seen"),
    );
    this.order = choice("which column?");
    this.stake = choice("every case counts once");
    const right = field("The right action", this.label);
    const steps = field("The order of the looks", this.order, "The column that lists what was looked at, in the order in which it was, with commas between.");
    const done = h("div", { class: "fields" }, field("What was done", this.action), field("What it earned", this.reward), field("What to look at was chosen", this.acquisition), steps);
    const stakes = field("The stake of a case", this.stake, "The column that says how many times the reward of a case counts.");
    const button = h("button", { type: "button" }, "Draft the problem");
    const answer = h("div", {});
    const showRoles = () => {
      right.hidden = what.value !== "label";
      done.hidden = what.value === "label";
      steps.hidden = this.acquisition.value !== "sequential";
    };
    for (const input of [what, this.acquisition]) input.addEventListener("change", showRoles);
    this.what = what;
    button.addEventListener("click", during(button, answer, () => this.draft(answer)));
    fill(this.place, h("p", { class: "about" }, `${many(rows, "case")}, ${many(columns.length, "column")}.`), h("div", { class: "fields" }, field("The table says", what), right), done, h("div", { class: "fields" }, stakes), button, answer);
    showRoles();
  }

  /** Which columns are what; throws what is not said yet. */
  roles() {
    if (!this.table) throw new Error("Still missing: a table.");
    const isStepwise = this.what.value === "action" && this.acquisition.value === "sequential";
    const decided = { action: this.action, reward: this.reward, ...(isStepwise && { order: this.order }) };
    const wanted = this.what.value === "label" ? { label: this.label } : decided;
    const missing = Object.entries(wanted).filter(([, input]) => input.value === NONE);
    const names = { label: "the right action", action: "what was done", reward: "what it earned", order: "the order of the looks" };
    if (missing.length) throw new Amiss(`Still missing: the column of ${missing.map(([name]) => names[name]).join(" and of ")}.`, missing[0][1]);
    const chosen = this.stake.value === NONE ? wanted : { ...wanted, stake: this.stake };
    return Object.fromEntries(Object.entries(chosen).map(([name, input]) => [name, input.value]));
  }

  async draft(answer) {
    this.changed();
    this.begin();
    const { problem, left_out: left, remarks } = await send(path("draft"), { table: this.table, ...this.roles() });
    this.isDrafted = true;
    this.show(problem);
    const rows = Object.entries(left).map(([name, why]) => h("li", {}, h("b", {}, name), ` ${why}`));
    fill(
      answer,
      h("p", { class: "note" }, "Drafted below. Every price is 1 as yet: fill in what each costs, and say what is known from the start."),
      rows.length > 0 && [h("p", { class: "note" }, "Left out:"), h("ul", { class: "note" }, rows)],
      remarks.length > 0 && [h("p", { class: "note" }, "Check before you go on:"), h("ul", { class: "note remarks" }, remarks.map((remark) => h("li", {}, remark)))],
    );
    say("The problem is drafted; fill in the prices");
  }

  /** Learn from the table by this problem; shows the first tree. */
  async fit(problem) {
    const roles = this.roles();
    if (!this.isDrafted) throw new Error("Still missing: the draft of the problem, which stands below once you have asked for it.");
    const chosen = this.what?.value === "action" ? { acquisition: this.acquisition.value } : {};
    this.fitted = await send(path("fit"), { table: this.table, problem, ...roles, ...chosen });
    this.element.querySelectorAll(".refused").forEach((old) => old.remove());
    const tree = new TreeView(new Figures(problem));
    tree.draw(this.fitted.recommends.tree);
    fill(
      this.result,
      h("h3", {}, `What ${many(this.fitted.rows, "case")} say`),
      tree.element,
      h("ul", { class: "note" }, this.fitted.notes.map((note) => h("li", {}, note))),
    );
    say("The first tree is shown");
  }
}
