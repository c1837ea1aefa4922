// All projects, what is the matter with them, and the form that makes another.

import { get, path } from "./api.js";
import { Creation, DEFAULT } from "./creation.js";
import { fill, h } from "./dom.js";
import { ago, many } from "./figures.js";

const ALARMED = 24; // projects whose alarms are looked for
const ALARMS_EVERY = 30_000; // milliseconds

/** Show them; returns how to leave. */
export function showProjects(main, may) {
  const left = new AbortController();
  const list = h("ul", { class: "projects" }, h("li", { class: "about" }, "Looking…"));
  const compare = h("p", { hidden: true }, h("a", { href: "#/compare" }, "Compare projects"));
  const found = { projects: [], alarms: new Map() };
  fill(
    main,
    h("h1", {}, "Projects"),
    h("p", { class: "about" }, "A project is a problem (what can be bought, what can be decided, at what price) and a learner that finds out what is worth buying."),
    list,
    compare,
    may.scope === "admin" ? new Creation().element : null,
  );
  const look = async () => {
    await load(list, found, left.signal);
    compare.hidden = found.projects.length < 2;
  };
  const listen = () => alarms(list, found, left.signal);
  look().then(listen);
  const again = setInterval(() => document.hidden || look(), 5000);
  const alarmed = setInterval(() => document.hidden || listen(), ALARMS_EVERY);
  return () => {
    clearInterval(again);
    clearInterval(alarmed);
    left.abort();
  };
}

async function load(list, found, signal) {
  try {
    found.projects = (await get(path("projects"), signal)).projects;
    show(list, found);
  } catch (error) {
    if (!signal.aborted) fill(list, h("li", { class: "refused" }, error.message));
  }
}

/** Of the first projects; what is the matter with others is on their own pages, and in the metrics. */
async function alarms(list, found, signal) {
  for (const { name } of found.projects.slice(0, ALARMED)) {
    const raised = await get(path("projects", name, "alarms"), signal).catch(() => null);
    if (signal.aborted) return;
    if (raised) found.alarms.set(name, raised.alarms);
  }
  show(list, found);
}

function show(list, { projects, alarms: raised }) {
  const focused = document.activeElement?.closest?.(".projects a")?.getAttribute("href");
  fill(list, projects.length ? projects.map((one) => card(one, raised.get(one.name) ?? [])) : h("li", { class: "about" }, "There is none yet."));
  if (focused) list.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
}

function card(project, raised) {
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
      project.archived && h("small", {}, `archived ${ago(project.archived)}`),
      raised.length > 0 && h("small", { class: "alarmed" }, `${many(raised.length, "alarm")}: ${raised.map(({ name }) => name.replaceAll("_", " ")).join(", ")}`),
      project.plan_failure && h("small", { class: "refused" }, `no new policy: ${project.plan_failure}`),
    ),
  );
}
