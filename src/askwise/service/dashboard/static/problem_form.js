// A problem by a form: what can be bought and at what price, what can be decided, what is earned.

import { Amiss, field, fill, h } from "./dom.js";

/** The texts between commas; in double quotes one may have commas of its own, as in a CSV. */
const listed = (text) => [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/g)].map(([, quoted, bare]) => (quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"'))).filter(Boolean);

/** Texts as `listed` reads them. */
const written = (texts) => texts.map((text) => (/^\s|[",]|\s$/.test(text) ? `"${String(text).replaceAll('"', '""')}"` : text)).join(", ");

const isNumeric = (text) => text.trim() !== "" && Number.isFinite(Number(text));

export class ProblemForm {
  /** changed(): called whenever something in it is edited. */
  constructor(problem, changed = () => {}) {
    this.rows = h("ul", { class: "rows" });
    this.actions = h("input", { autocomplete: "off", spellcheck: "false" });
    this.kind = h("select", { onchange: () => this.showRewards() }, h("option", { value: "share" }, "from 0 to 1"), h("option", { value: "money" }, "money"));
    this.worth = number({ min: 0 });
    this.low = number();
    this.high = number();
    this.most = number({ min: 1, step: 1, placeholder: "all of them" });
    this.shares = field("A reward of 1 is worth", this.worth, "In the currency of the prices.");
    this.money = h("div", { class: "fields" }, field("Lowest that is earned", this.low), field("Highest", this.high));
    this.element = h(
      "div",
      { class: "problem", oninput: changed },
      h("h3", {}, "What can be bought"),
      this.rows,
      h("button", { type: "button", class: "quiet", onclick: () => this.add({ name: "", values: [], cost: 1 }).focus() }, "Add an observation"),
      h(
        "div",
        { class: "fields" },
        field("Actions", this.actions, "What can be decided, with commas between. Put quotes around one that has a comma."),
        field("At most so many are bought in a case", this.most),
        field("A reward is", this.kind),
        this.shares,
        this.money,
      ),
    );
    this.changed = changed;
    this.show(problem);
  }

  show(problem) {
    this.original = problem;
    fill(this.rows);
    problem.observations.forEach((one) => this.add(one));
    this.actions.value = written(problem.actions.map((one) => one.name ?? one));
    this.most.value = problem.max_observations ?? "";
    this.kind.value = problem.rewards ? "money" : "share";
    this.worth.value = problem.reward_value ?? 1;
    [this.low.value, this.high.value] = problem.rewards ?? [0, 1];
    this.showRewards();
  }

  showRewards() {
    this.shares.hidden = this.kind.value === "money";
    this.money.hidden = this.kind.value !== "money";
  }

  /** One more observation; what the form does not ask stays as it was. */
  add(original) {
    const name = h("input", { value: original.name, autocomplete: "off", spellcheck: "false", required: true });
    const isCut = Boolean(original.edges);
    const values = h("input", { value: written(isCut ? original.edges : original.values), autocomplete: "off", spellcheck: "false", required: true });
    const cost = number({ min: 0, value: original.cost ?? 0, required: true });
    const given = h("select", {}, h("option", { value: "" }, "bought"), h("option", { value: "given" }, "known from the start"));
    given.value = original.given ? "given" : "";
    const fails = h("select", {}, ["", "charged", "refunded"].map((how) => h("option", { value: how }, how === "" ? "never" : `sometimes, ${how}`)));
    fails.value = original.fails ?? "";
    const showPrice = () => (cost.disabled = given.value === "given"); // its place stays, so that columns do
    given.addEventListener("change", showPrice);
    const row = h(
      "li",
      { class: "observation" },
      field("Observation", name),
      field(isCut ? "Edges between its numbers" : "Values, with commas", values),
      field("Price", cost),
      field("It is", given),
      field("It shows nothing", fails),
      h("button", { type: "button", class: "quiet", onclick: () => { row.remove(); this.changed(); } }, "Remove"),
    );
    row.controls = { name, values, edges: values, cost, given, fails };
    row.read = () => readRow(original, { name, values, cost, given, fails }, isCut);
    showPrice();
    this.rows.append(row);
    return name;
  }

  /** The control that a flaw is about: by its pointer, and by what is said of an observation. */
  control(pointer, words) {
    const [, kind, place, part] = pointer.match(/^#\/problem\/(\w+)(?:\/(\d+))?(?:\/(\w+))?/) ?? [];
    const row = kind === "observations" && this.rows.children[Number(place)];
    if (row) return row.controls[part] ?? row.controls[["cost", "values", "edges"].find((name) => words.includes(name)) ?? "name"];
    return { actions: this.actions, max_observations: this.most, reward_value: this.worth, rewards: this.low }[kind];
  }

  /** The problem as it stands in the form; throws what is missing. */
  value() {
    const observations = [...this.rows.children].map((row) => row.read());
    if (!observations.length) throw new Error("Still missing: an observation that can be bought.");
    const names = listed(this.actions.value);
    if (names.length < 2) throw new Amiss("Still missing: two actions or more, with commas between.", this.actions);
    const before = new Map(this.original.actions.map((one) => [one.name ?? one, one]));
    const problem = { ...this.original, observations, actions: names.map((name) => before.get(name) ?? name) };
    for (const part of ["max_observations", "reward_value", "rewards"]) delete problem[part];
    if (this.most.value !== "") problem.max_observations = Number(this.most.value);
    if (this.kind.value === "money") problem.rewards = [asked(this.low, "the lowest that is earned"), asked(this.high, "the highest that is earned")];
    else problem.reward_value = asked(this.worth, "what a reward of 1 is worth");
    return problem;
  }
}

function readRow(original, { name, values, cost, given, fails }, isCut) {
  if (!name.value.trim()) throw new Amiss("Still missing: the name of an observation.", name);
  const parts = listed(values.value);
  if (!parts.length || (!isCut && parts.length < 2)) throw new Amiss(`Still missing: ${isCut ? "the edges" : "two values or more"} of ${name.value}.`, values);
  const one = { ...original, name: name.value.trim() };
  for (const part of ["given", "fails", "cost"]) delete one[part];
  if (isCut) {
    one.edges = parts.map((part) => (isNumeric(part) ? Number(part) : part));
    delete one.values; // they follow from the edges
  } else {
    const before = new Map(original.values.map((value) => [String(value), value]));
    one.values = parts.map((part) => before.get(part) ?? part);
  }
  if (given.value) one.given = true;
  else one.cost = asked(cost, `the price of ${one.name}`);
  if (fails.value) one.fails = fails.value;
  return one;
}

function asked(input, what) {
  if (!isNumeric(input.value)) throw new Amiss(`Still missing: ${what}.`, input);
  return Number(input.value);
}

const number = (more = {}) => h("input", { type: "number", step: "any", inputmode: "decimal", ...more });
