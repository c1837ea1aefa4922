// Projects beside each other: what they earn and spend, what their observations are worth, and, of
// two, how their policies differ.

import { get, path } from "./api.js";
import { comparison } from "./changes.js";
import { fill, h } from "./dom.js";
import { perCase } from "./earnings.js";
import { Figures, plain, rewardValue, share, whole } from "./figures.js";

const MOST = 6;

/** Show them; returns how to leave. */
export function showComparison(main, names) {
  const left = new AbortController();
  const choice = h("form", { class: "card", "aria-label": "Which projects" });
  const result = h("div", {}, h("p", { class: "about" }, "Looking…"));
  fill(main, h("h1", {}, "Compare projects"), h("p", { class: "about" }, `Choose two or more, at most ${MOST}. `, h("a", { href: "#/" }, "All projects")), choice, result);
  run(choice, result, names, left.signal).catch((error) => {
    if (!left.signal.aborted) fill(result, h("p", { class: "refused", role: "alert" }, error.message));
  });
  return () => left.abort();
}

async function run(choice, result, names, signal) {
  const { projects } = await get(path("projects"), signal);
  const chosen = names.filter((name) => projects.some((one) => one.name === name)).slice(0, MOST);
  const boxes = projects.map(({ name }) => h("label", {}, h("input", { type: "checkbox", value: name, checked: chosen.includes(name), disabled: chosen.length >= MOST && !chosen.includes(name), onchange: () => choose(choice) }), ` ${name}`));
  fill(choice, h("fieldset", { class: "ways" }, h("legend", {}, "Projects"), boxes));
  if (chosen.length < 2) {
    fill(result, h("p", { class: "about" }, "Nothing to compare yet."));
    return;
  }
  const read = (name, what) => get(path("projects", name, ...what), signal);
  const found = await Promise.all(
    chosen.map(async (name) => {
      const [project, summary, worth, alarms] = await Promise.all([read(name, []), read(name, ["summary"]), read(name, ["worth"]), read(name, ["alarms"])]);
      return { name, project, summary, worth, alarms: alarms.alarms, figures: new Figures(project.problem) };
    }),
  );
  fill(result, tableOf(found), found.length === 2 && (await trees(found, read)));
}

function choose(choice) {
  const chosen = [...choice.querySelectorAll("input:checked")].slice(0, MOST).map((box) => encodeURIComponent(box.value));
  location.replace(`#/${["compare", ...chosen].join("/")}`);
}

function tableOf(found) {
  const row = (words, of) => h("tr", {}, h("th", { scope: "row" }, words), found.map((one) => h("td", {}, of(one) ?? "–")));
  const ofCase = ({ project, summary, figures }) => {
    const [acted, rewarded, stake] = ["acted", "rewarded", "stake"].map((name) => summary.days.reduce((sum, day) => sum + day[name], 0));
    if (!acted || !rewarded) return [null, null];
    const mean = perCase({ ...summary, acted, rewarded, stake }, rewardValue(project.problem));
    return [figures.gain(mean.gain) + (mean.isStaked ? " per unit of stake" : ""), figures.amount(mean.spend)];
  };
  const estimate = (figures, e) => (e ? `${figures.gain(e.value)} (${figures.gain(e.low)} to ${figures.gain(e.high)})` : null);
  const names = [...new Set(found.flatMap(({ worth }) => worth.observations.map((o) => o.name)))];
  const price = ({ worth, figures }, name) => {
    const o = worth.observations.find((one) => one.name === name);
    if (!o) return "not in it";
    if (o.share === null || o.verdict === "no cases yet") return `costs ${plain(o.cost)}`;
    return `${share(o.share)}, pays up to ${o.break_even === null ? "any price" : figures.amount(o.break_even)} (costs ${plain(o.cost)})`;
  };
  return h(
    "div",
    { class: "card wide" },
    h(
      "table",
      { class: "numbers compared" },
      h("thead", {}, h("tr", {}, h("th", {}), found.map(({ name }) => h("th", { scope: "col" }, h("a", { href: `#/p/${encodeURIComponent(name)}` }, name))))),
      h(
        "tbody",
        {},
        row("cases", ({ summary }) => whole(summary.cases)),
        row("gain of a case", (one) => ofCase(one)[0]),
        row("spent in a case", (one) => ofCase(one)[1]),
        row("the best policy gains, as believed", ({ worth, figures }) => worth.gain !== null && figures.gain(worth.gain)),
        row("buying nothing gains", ({ worth, figures }) => worth.gain_of_nothing !== null && figures.gain(worth.gain_of_nothing)),
        row("still to learn", ({ worth, figures }) => estimate(figures, worth.still_to_learn)),
        row("policy", ({ project }) => `version ${project.policy_version}`),
        row("alarms", ({ alarms }) => (alarms.length ? alarms.map((a) => a.name.replaceAll("_", " ")).join(", ") : "none")),
        names.map((name) => row(`${name}: bought in, and break-even`, (one) => price(one, name))),
      ),
    ),
  );
}

async function trees(found, read) {
  const policies = await Promise.all(found.map(({ name }) => read(name, ["policy"])));
  return [h("h2", {}, "Their policies"), h("p", { class: "about" }, "What cases follow now; what differs is marked."), comparison(found.map(({ name }, k) => [name, policies[k]]), found[0].figures)];
}
