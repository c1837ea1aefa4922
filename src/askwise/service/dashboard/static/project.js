// One project, live: the stream says that something changed, and what changed is fetched again, at
// most once a second. What costs the server more, the tree and the worth, comes less often.

import { changes, get, path, pause } from "./api.js";
import { CaseList } from "./cases.js";
import { fill, h, say } from "./dom.js";
import { Earnings } from "./earnings.js";
import { Figures, ago, many, rewardWords } from "./figures.js";
import { Follow } from "./follow.js";
import { Alarms, Health } from "./health.js";
import { Changes } from "./changes.js";
import { People } from "./people.js";
import { CaseSearch } from "./search.js";
import { PolicyTree } from "./tree.js";
import { Worth } from "./worth.js";

const SOON = 1000; // milliseconds between two looks at what cases do
const CALMLY = 3000; // and at what follows from a new policy
const SPOKEN = 15_000; // between two words to those who listen
const CASES = 10;
const AWAITED = 6;
const MOST_NAMED = 6;

/** Show it; returns how to leave. */
export function showProject(main, name, may) {
  const left = new AbortController();
  fill(main, h("p", { class: "about" }, "Looking…"));
  run(main, name, may, left.signal).catch((error) => {
    if (!left.signal.aborted) fill(main, h("p", { class: "refused", role: "alert" }, error.message), h("p", {}, h("a", { href: "#/" }, "All projects")));
  });
  return () => left.abort();
}

async function run(main, name, may, signal) {
  const project = await get(path("projects", name), signal);
  const page = new Page(project, may);
  fill(main, page.elements);
  await page.refresh(signal, true);
  const seen = { events: project.events, version: project.policy_version, at: 0 };
  let now = null;
  let wake = () => {};
  listen(name, signal, (change) => {
    now = change;
    wake();
  });
  while (!signal.aborted) {
    const isNew = now !== null && (now.events !== seen.events || now.policy_version !== seen.version || now.plan_failure !== seen.failure);
    if (isNew && !document.hidden) {
      const isReplanned = now.policy_version !== seen.version && Date.now() - seen.at > CALMLY;
      seen.events = now.events;
      seen.failure = now.plan_failure;
      if (isReplanned) [seen.version, seen.at] = [now.policy_version, Date.now()];
      await page.refresh(signal, isReplanned).catch((error) => signal.aborted || page.wrong(error));
      await pause(SOON);
    } else {
      await Promise.race([pause(SOON), new Promise((done) => (wake = done))]);
    }
  }
}

/** Read the stream for as long as the page is shown, and again when it breaks. */
async function listen(name, signal, changed) {
  const pulse = document.getElementById("pulse");
  for (let wait = 500; !signal.aborted; wait = Math.min(2 * wait, 10_000)) {
    try {
      for await (const change of changes(name, signal)) {
        wait = 500;
        beats(pulse, "live");
        changed(change);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status) beats(pulse, error.message);
    }
    if (!signal.aborted) beats(pulse, "trying to reach the server");
    await pause(wait);
  }
}

function beats(pulse, words) {
  pulse.hidden = false;
  pulse.classList.toggle("lost", words !== "live");
  if (pulse.textContent !== words) pulse.textContent = words;
}

class Page {
  constructor(project, may) {
    this.name = project.name;
    const { problem } = project;
    const figures = new Figures(problem);
    const mayDecide = may.scope !== "read";
    this.spoke = 0;
    this.earnings = new Earnings(problem, figures);
    this.worth = new Worth(figures);
    this.people = new People(figures);
    this.tree = new PolicyTree(figures, (version) => this.speak(`The policy has changed, it is version ${version} now`));
    this.follow = new Follow(project.name, problem, figures, mayDecide);
    const look = (number) => this.follow.look(number);
    this.cases = new CaseList("Newest cases", "", problem, figures, look);
    this.awaited = new CaseList("Rewards still awaited", "", problem, figures, look);
    this.search = new CaseSearch(project.name, problem, figures, look);
    this.changes = new Changes(project.name, problem, figures);
    this.alarms = new Alarms();
    this.health = new Health();
    this.trouble = h("div", {}, h("p", { class: "about", role: "status" }, "Loading…"));
    this.isArchived = h("p", { class: "archived card", role: "status", hidden: true });
    this.mayDecide = mayDecide;
    this.elements = [
      h("h1", {}, project.name),
      h("p", { class: "about" }, about(project)),
      this.isArchived,
      this.trouble,
      this.alarms.element,
      this.earnings.element,
      this.worth.element,
      this.people.element,
      h("div", { class: "pair" }, h("div", {}, this.tree.element, this.cases.element), h("div", {}, this.follow.element, this.search.element, this.awaited.element, this.health.element)),
      this.changes.element,
    ];
  }

  /** Fetch and show; then what follows from a new policy, if there is one: that takes longer. */
  async refresh(signal, isReplanned) {
    const read = (...parts) => get(path("projects", this.name, ...parts), signal);
    const [project, summary, cases, awaited, alarms] = await Promise.all([
      read(),
      read("summary"),
      get(`${path("projects", this.name, "cases")}?limit=${CASES}`, signal),
      get(`${path("projects", this.name, "awaited")}?limit=${AWAITED}`, signal),
      read("alarms"),
    ]);
    fill(this.trouble);
    this.showArchived(project);
    this.earnings.show(summary, this.known);
    this.people.show(summary);
    this.cases.show(cases.cases);
    this.awaited.show(awaited.cases, summary.statuses.acted);
    this.health.show(project, summary.behind);
    this.alarms.show(alarms.alarms);
    if (!isReplanned) return;
    const [policy, worth] = await Promise.all([read("policy"), read("worth")]);
    this.tree.show(policy);
    this.known = worth;
    this.worth.show(worth, summary.cases, summary.budget);
    this.earnings.show(summary, worth);
  }

  /** An archived project can be read, and takes no requests. */
  showArchived({ archived }) {
    this.isArchived.hidden = !archived;
    if (archived) this.isArchived.textContent = `Archived ${ago(archived)}: it can be read, and takes no cases and no rewards until it is restored.`;
    this.follow.allow(this.mayDecide && !archived);
  }

  wrong(error) {
    fill(this.trouble, h("p", { class: "refused", role: "alert" }, error.message));
  }

  speak(words) {
    if (Date.now() - this.spoke < SPOKEN) return;
    this.spoke = Date.now();
    say(words);
  }
}

function about({ problem, created }) {
  const named = (names, word) => (names.length > MOST_NAMED ? many(names.length, word) : names.join(", "));
  const bought = problem.observations.filter((o) => !o.given).map((o) => o.name);
  const decided = problem.actions.map((a) => a.name ?? a);
  return `May buy ${named(bought, "observation")} before it decides between ${named(decided, "action")}. ${rewardWords(problem)} Begun ${ago(created)}.`;
}
