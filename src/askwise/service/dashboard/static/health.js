// How the replanner is: which policy is current, what it has not seen yet, why none came.

import { fill, h, section } from "./dom.js";
import { ago, many, whole } from "./figures.js";

const LATE = 60_000; // milliseconds without a new policy though there are new events

/** What an operator should look at, on top of the page; nothing, if all is well. */
export class Alarms {
  constructor() {
    this.element = h("div", { role: "alert" });
  }

  show(alarms) {
    const items = alarms.map(({ name, detail }) => h("li", {}, h("strong", {}, name.replaceAll("_", " ")), `: ${detail}`));
    const words = alarms.map(({ name, detail }) => name + detail).join();
    if (words === this.words) return; // said once
    this.words = words;
    fill(this.element, items.length > 0 && h("ul", { class: "alarms card" }, items));
  }
}

export class Health {
  constructor() {
    const { element, body } = section("The replanner", "Policies are planned in the background; cases never wait for one.");
    this.element = element;
    this.body = h("div", {});
    fill(body, this.body);
  }

  show(project, late) {
    const behind = project.events - project.planned_events;
    const isLate = behind > 0 && Date.now() - Date.parse(project.planned) > LATE;
    const state = project.plan_failure ? "fails" : isLate ? "late" : "well";
    const words = {
      well: "It keeps up.",
      late: "There are new events, and no new policy for over a minute: is a replanner running?",
      fails: `The last plan failed, so the policy before it stays: ${project.plan_failure}`,
    }[state];
    fill(
      this.body,
      h("p", { class: `health ${state}`, role: state === "well" ? null : "alert" }, words),
      h(
        "dl",
        {},
        fact("policy", `version ${project.policy_version}, planned ${ago(project.planned)}`),
        fact("planned with", many(project.planned_events, "event")),
        fact("recorded", `${many(project.events, "event")}${behind > 0 ? `, ${whole(behind)} of them newer than the policy` : ""}`),
        typeof late === "number" && fact("reports", `read from a replica, ${late < 1 ? "less than a second" : many(Math.round(late), "second")} behind`),
        fact("learner", learnerOf(project)),
        fact("since", new Date(project.created).toLocaleString()),
      ),
    );
  }
}

const fact = (name, words) => [h("dt", {}, name), h("dd", {}, words)];

function learnerOf({ learner: { name = "learner", options: chosen = {} } }) {
  const options = Object.entries(chosen).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return options.length ? `${name} (${options.join(", ")})` : name;
}
