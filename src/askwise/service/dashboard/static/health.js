// How the replanner is: which policy is current, what it has not seen yet, why none came.

import { fill, h, section } from "./dom.js";
import { ago, many, whole } from "./figures.js";

const LATE = 60_000; // milliseconds without a new policy though there are new events

export class Health {
  constructor() {
    const { element, body } = section("The replanner", "Policies are planned in the background; cases never wait for one.");
    this.element = element;
    this.body = h("div", {});
    this.alarms = h("div", {});
    fill(body, this.alarms, this.body);
  }

  showAlarms(alarms) {
    const items = alarms.map(({ name, detail }) =>
      h("li", {}, h("strong", {}, name.replaceAll("_", " ")), `: ${detail}`),
    );
    fill(this.alarms, ...(items.length ? [h("ul", { class: "health late", role: "alert" }, ...items)] : []));
  }

  show(project) {
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
