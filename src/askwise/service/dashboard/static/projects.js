// All projects, and the form that makes another.

import { get, learners, path, post } from "./api.js";
import { during, field, fill, h, say } from "./dom.js";
import { ago, many } from "./figures.js";

const EXAMPLE = {
  observations: [
    { name: "mammogram", values: ["low", "high"], cost: 1 },
    { name: "mri", values: ["neg", "pos"], cost: 9 },
  ],
  actions: ["wait", "treat"],
  reward_value: 100,
};

const DEFAULT = "learner";

/** Show them; returns how to leave. */
export function showProjects(main, may) {
  const left = new AbortController();
  const list = h("ul", { class: "projects" }, h("li", { class: "about" }, "Looking…"));
  fill(
    main,
    h("h1", {}, "Projects"),
    h("p", { class: "about" }, "A project is a problem (what can be bought, what can be decided, at what price) and a learner that finds out what is worth buying."),
    list,
    may.scope === "admin" ? creation() : null,
  );
  load(list, left.signal);
  const again = setInterval(() => document.hidden || load(list, left.signal), 5000);
  return () => {
    clearInterval(again);
    left.abort();
  };
}

async function load(list, signal) {
  try {
    const { projects } = await get(path("projects"), signal);
    fill(list, projects.length ? projects.map(card) : h("li", { class: "about" }, "There is none yet."));
  } catch (error) {
    if (!signal.aborted) fill(list, h("li", { class: "refused" }, error.message));
  }
}

function card(project) {
  const { observations, actions } = project.problem;
  return h(
    "li",
    {},
    h(
      "a",
      { class: "card", href: `#/p/${encodeURIComponent(project.name)}` },
      h("b", {}, project.name),
      h("span", {}, `${many(project.cases, "case")} · policy ${project.policy_version} · ${project.learner.name ?? DEFAULT}`),
      h("small", {}, `${many(observations.length, "observation")}, ${many(actions.length, "action")} · begun ${ago(project.created)}`),
      project.plan_failure && h("small", { class: "refused" }, `no new policy: ${project.plan_failure}`),
    ),
  );
}

function creation() {
  const name = h("input", {
    name: "name",
    required: true,
    maxlength: 64,
    pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "clinic",
  });
  const learner = h("select", { name: "learner" }, h("option", { value: DEFAULT }, "learner (the default)"));
  const options = h("input", { name: "options", value: "{}", spellcheck: "false", autocomplete: "off" });
  const problem = h("textarea", { name: "problem", rows: 10, spellcheck: "false" });
  problem.value = asText(EXAMPLE);
  const button = h("button", { type: "submit" }, "Create the project");
  const answer = h("div", {});
  const create = during(button, answer, async () => {
    const body = {
      name: name.value.trim(),
      problem: parsed(problem.value, "the problem"),
      learner: { name: learner.value, options: parsed(options.value || "{}", "the options") },
    };
    const made = await post(path("projects"), body);
    fill(answer, welcome(made));
    say(`Project ${made.name} is created`);
    answer.querySelector("a").focus();
  });
  learners().then((names) => fill(learner, names.map((one) => h("option", { value: one }, one === DEFAULT ? `${one} (the default)` : one))));
  return h(
    "section",
    { "aria-labelledby": "new" },
    h("h2", { id: "new" }, "A new project"),
    h(
      "form",
      { class: "card creation", onsubmit: create },
      h(
        "div",
        { class: "fields" },
        field("Name", name, "Letters, digits, dots, dashes; it stands in the path of every call."),
        field("Learner", learner, "The default is good without tuning."),
        field("Options of the learner", options, "JSON; {} leaves all as it is."),
      ),
      field("Problem", problem, "JSON, as problem files have it: reward_value is what a reward of 1 is worth, in the currency of the costs; or rewards, [lowest, highest], where rewards are money."),
      answer,
      button,
    ),
  );
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
function asText(problem) {
  const lines = problem.observations.map((o) => `    ${JSON.stringify(o).replaceAll(",\"", ", \"").replaceAll("\":", "\": ")}`);
  return `{
  "observations": [
${lines.join(",\n")}
  ],
  "actions": ${JSON.stringify(problem.actions).replaceAll(",", ", ")},
  "reward_value": ${problem.reward_value}
}`;
}
