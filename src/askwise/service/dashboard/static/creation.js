// The form that makes a project: by a form, from a table of past cases, or as JSON.

import { learners, path, post } from "./api.js";
import { Amiss, clear, during, field, fill, h, say } from "./dom.js";
import { ProblemForm } from "./problem_form.js";
import { TableForm } from "./table_form.js";

const EXAMPLE = {
  observations: [
    { name: "mammogram", values: ["low", "high"], cost: 1 },
    { name: "mri", values: ["neg", "pos"], cost: 9 },
  ],
  actions: ["wait", "treat"],
  reward_value: 100,
};

const WAYS = { form: "by a form", table: "from a table of past cases", json: "as JSON" };

export const DEFAULT = "learner";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export class Creation {
  constructor() {
    const name = { name: "name", required: true, maxlength: 64, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", autocomplete: "off", spellcheck: "false", placeholder: "clinic" };
    this.name = h("input", name);
    this.learner = h("select", { name: "learner" }, h("option", { value: DEFAULT }, "learner (the default)"));
    this.options = h("input", { name: "options", value: "{}", spellcheck: "false", autocomplete: "off" });
    this.problem = new ProblemForm(EXAMPLE, () => this.table.changed());
    this.table = new TableForm((drafted) => this.showDraft(drafted), () => clear(this.answer));
    this.json = h("textarea", { name: "problem", rows: 12, spellcheck: "false" });
    this.button = h("button", { type: "submit" }, "Create the project");
    this.fitButton = h("button", { type: "button", class: "quiet" }, "See the first tree");
    this.answer = h("div", {});
    this.fitButton.addEventListener("click", during(this.fitButton, this.answer, () => this.table.fit(this.problem.value())));
    const ways = Object.entries(WAYS).map(([way, words]) => h("label", {}, h("input", { type: "radio", name: "way", value: way, checked: way === "form", onchange: () => this.choose(way) }), ` ${words}`));
    this.learning = h("div", { class: "fields" }, field("Learner", this.learner, "The default is good without tuning."), field("Options of the learner", this.options, "JSON; {} leaves all as it is."));
    this.written = field("Problem", this.json, "JSON, as problem files have it: reward_value is what a reward of 1 is worth, in the currency of the costs; or rewards, [lowest, highest], where rewards are money.");
    const create = during(this.button, this.answer, () => this.create());
    this.element = h(
      "section",
      { "aria-labelledby": "new" },
      h("h2", { id: "new" }, "A new project"),
      h(
        "form",
        { class: "card creation", onsubmit: create, novalidate: true },
        field("Name", this.name, "Letters, digits, dots, dashes; it stands in the path of every call."),
        h("fieldset", { class: "ways" }, h("legend", {}, "Say what it is about"), ways),
        this.table.element,
        this.problem.element,
        this.written,
        h("details", {}, h("summary", {}, "Another learner than the default"), this.learning),
        this.table.result,
        this.answer,
        this.fitButton,
        this.button,
      ),
    );
    learners().then((names) => fill(this.learner, names.map((one) => h("option", { value: one }, one === DEFAULT ? `${one} (the default)` : one))));
    this.choose("form");
  }

  choose(way) {
    if (way === "json" && this.way !== "json") this.json.value = this.asText();
    this.way = way;
    this.table.element.hidden = way !== "table";
    this.table.result.hidden = way !== "table";
    const isUndrafted = way === "table" && !this.table.isDrafted;
    this.fitButton.hidden = way !== "table" || isUndrafted;
    this.problem.element.hidden = way === "json" || isUndrafted; // the example is not what the table says
    this.written.hidden = way !== "json";
    this.learning.parentElement.hidden = way === "table"; // a table is learned by the default
    clear(this.answer);
  }

  /** The draft of a table; null if there is none any more. */
  showDraft(drafted) {
    if (drafted) this.problem.show(drafted);
    this.choose("table");
  }

  asText() {
    try {
      return asText(this.problem.value());
    } catch {
      return asText(EXAMPLE); // what stands in the form is not whole
    }
  }

  async create() {
    const name = this.name.value.trim();
    if (!name) throw new Amiss("Still missing: the name of the project.", this.name);
    if (!NAME.test(name)) throw new Amiss("A name has letters, digits, dots, dashes and underscores, at most 64 of them. It begins with a letter or a digit.", this.name);
    const content = await this.content();
    const made = await post(path("projects"), { name, ...content }).catch((error) => this.refused(error));
    fill(this.answer, welcome(made));
    say(`Project ${made.name} is created`);
    this.answer.querySelector("a").focus();
  }

  /** Throw what was refused, with the control that it is about, if one is shown. */
  refused(error) {
    const { pointer = "", message } = error;
    if (pointer === "#/name") error.control = this.name;
    else if (this.way === "form") error.control = this.problem.control(pointer, message);
    throw error;
  }

  async content() {
    if (this.way === "table") {
      if (!this.table.fitted) await this.table.fit(this.problem.value());
      return { saved: this.table.fitted.saved };
    }
    const problem = this.way === "json" ? parsed(this.json.value, "the problem") : this.problem.value();
    return { problem, learner: { name: this.learner.value, options: parsed(this.options.value || "{}", "the options") } };
  }
}

function welcome(made) {
  const token = h("input", { readonly: true, value: made.token ?? "", onfocus: () => token.select() });
  return h(
    "div",
    { class: "welcome", role: "status" },
    h("p", {}, h("b", {}, made.name), " is created. ", h("a", { href: `#/p/${encodeURIComponent(made.name)}` }, "Look at it")),
    made.token && field("A token that may decide in it", token, "Shown this once: whoever asks for decisions sends it."),
  );
}

function parsed(text, what) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} is not JSON: ${error.message}`);
  }
}

/** JSON with a line for each observation, short enough to read at a glance. */
function asText({ observations, ...rest }) {
  const spaced = (value) => JSON.stringify(value).replaceAll(",\"", ", \"").replaceAll("\":", "\": ");
  const lines = observations.map((one) => `    ${spaced(one)}`);
  const more = Object.entries(rest).map(([name, value]) => `  ${JSON.stringify(name)}: ${spaced(value)}`);
  return `{\n${[`  "observations": [\n${lines.join(",\n")}\n  ]`, ...more].join(",\n")}\n}`;
}
