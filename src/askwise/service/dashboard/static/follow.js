// A case by hand: open it, say what was seen, see what it wants next, give it its reward.

import { get, path, post } from "./api.js";
import { gainOf, pathOf } from "./cases.js";
import { during, field, fill, h, say, section } from "./dom.js";
import { many, plain, rewardValue, rewardWords } from "./figures.js";

export class Follow {
  /** mayDecide: whether the token allows more than to look. */
  constructor(project, problem, figures, mayDecide) {
    this.project = project;
    this.problem = problem;
    this.figures = figures;
    this.mayDecide = mayDecide;
    const { element, body } = section("Follow a case", "Decide one case by hand, or look at any other step by step.", { class: "follow" });
    this.element = element;
    this.place = h("div", {});
    this.refusal = h("div", {});
    fill(body, this.place, this.refusal);
    this.showStart();
  }

  /** Whether cases may be decided here, which an archived project does not allow. */
  allow(mayDecide) {
    if (mayDecide === this.mayDecide) return;
    this.mayDecide = mayDecide;
    if (this.case) this.show(this.case.case, false);
    else this.showStart();
  }

  showStart() {
    const given = this.problem.observations.filter((o) => o.given);
    const onFile = this.problem.observations.filter((o) => !o.given);
    const known = [...given.map((o) => this.input(o, true)), ...onFile.map((o) => this.input(o, false))];
    const button = h("button", { type: "submit" }, "Open a case");
    const open = during(button, this.refusal, async () => {
      checkSaid(known);
      const values = read(known);
      const body = Object.keys(values).length ? { known: values } : {};
      const answer = await post(path("projects", this.project, "cases"), body);
      await this.show(answer.case);
    });
    const number = h("input", { type: "number", min: 1, step: 1, inputmode: "numeric", required: true });
    const look = h("button", { type: "submit", class: "quiet" }, "Look");
    const find = during(look, this.refusal, () => this.show(Number(number.value)));
    fill(
      this.place,
      this.mayDecide &&
        h(
          "form",
          { onsubmit: open, novalidate: true },
          known.slice(0, given.length).map((one) => one.field),
          h("details", {}, h("summary", {}, "Something is on file already"), h("div", { class: "fields" }, known.slice(given.length).map((one) => one.field))),
          button,
        ),
      h("form", { class: "inline", onsubmit: find }, field("Case number", number), look),
    );
  }

  /** Show a case as it stands. */
  async show(number, focus = true) {
    fill(this.refusal);
    const one = await get(path("projects", this.project, "cases", number));
    this.case = one;
    const title = h("h3", { tabindex: -1 }, `Case ${one.case}`);
    fill(
      this.place,
      title,
      h("p", { class: "about" }, `under policy ${one.policy_version}, spent ${this.figures.amount(one.cost)}`),
      pathOf(one),
      one.status === "observing" && this.observing(one),
      one.action !== null && h("p", { class: "action-now" }, "Do ", h("b", {}, one.action)),
      one.status === "acted" && this.rewarding(one),
      this.ending(one),
      h("button", { type: "button", class: "quiet", onclick: () => this.leave() }, "Another case"),
    );
    if (!focus) return;
    this.element.scrollIntoView({ block: "nearest" });
    (this.place.querySelector("form select, form input") ?? title).focus();
    say(one.wanted.length ? `Case ${one.case} wants ${one.wanted.join(", ")}` : `Case ${one.case}: ${one.action ?? "cancelled"}`);
  }

  /** From elsewhere on the page. */
  async look(number) {
    try {
      await this.show(number);
    } catch (error) {
      fill(this.refusal, h("p", { class: "refused", role: "alert" }, error.message));
    }
  }

  leave() {
    this.case = null;
    this.showStart();
    this.place.querySelector("button, input").focus();
  }

  observing(one) {
    const inputs = one.wanted.map((name) => this.input({ ...this.problem.observations.find((o) => o.name === name), cost: one.prices[name] }, true));
    if (!this.mayDecide) return h("p", {}, `It wants ${one.wanted.join(", ")}.`);
    const button = h("button", { type: "submit" }, "That is what was seen");
    const send = during(button, this.refusal, async () => {
      checkSaid(inputs);
      await post(path("projects", this.project, "cases", one.case, "observations"), { values: read(inputs) });
      await this.show(one.case);
    });
    return h("form", { onsubmit: send, novalidate: true }, h("p", {}, `It wants ${many(one.wanted.length, "observation")}:`), inputs.map((input) => input.field), button, this.cancelling(one));
  }

  rewarding(one) {
    if (!this.mayDecide) return h("p", {}, "Its reward is awaited.");
    const [min, max] = this.problem.rewards ?? [0, 1];
    const reward = h("input", { type: "number", min, max, step: "any", value: max, required: true });
    const button = h("button", { type: "submit" }, "Give the reward");
    const send = during(button, this.refusal, async () => {
      await post(path("projects", this.project, "cases", one.case, "reward"), { reward: Number(reward.value) });
      await this.show(one.case);
    });
    return h("form", { onsubmit: send }, field(`Reward, from ${plain(min)} to ${plain(max)}`, reward, rewardWords(this.problem)), button, this.cancelling(one));
  }

  ending(one) {
    if (one.reward === null) return one.status === "cancelled" && h("p", {}, "It was cancelled.");
    const gain = gainOf(one, rewardValue(this.problem));
    return h("p", {}, `Reward ${plain(one.reward)}${one.by_default ? " by default" : ""}: it gained `, h("b", {}, this.figures.gain(gain)), ".");
  }

  cancelling(one) {
    const button = h("button", { type: "button", class: "quiet" }, "Cancel the case");
    button.addEventListener(
      "click",
      during(button, this.refusal, async () => {
        await post(path("projects", this.project, "cases", one.case, "cancel"), {});
        await this.show(one.case);
      }),
    );
    return button;
  }

  /** Where a value is chosen, or a number typed that falls between edges. */
  input(observation, required) {
    const { name, values = [], edges, fails, other, cost } = observation;
    const words = observation.given || !required ? name : `${name} (${plain(cost)})`;
    if (edges || other !== undefined) {
      const typed = h("input", { name, required: required && !fails, autocomplete: "off" });
      const hint = edges ? `a number or a date; the edges are ${edges.join(", ")}` : `${values.join(", ")}, or anything else`;
      const value = () => (typed.value === "" ? null : edges && !Number.isNaN(Number(typed.value)) ? Number(typed.value) : typed.value);
      const isMissing = () => required && !fails && typed.value.trim() === "";
      return { name, control: typed, isMissing, field: field(words, typed, hint), isSaid: () => typed.value !== "" || required, value };
    }
    const outcomes = fails ? [...values, null] : values;
    const chosen = h(
      "select",
      { name, required },
      h("option", { value: "" }, required ? "what was seen?" : "not known"),
      outcomes.map((value, k) => h("option", { value: k }, value === null ? "unavailable" : String(value))),
    );
    return { name, control: chosen, isMissing: () => required && chosen.value === "", field: field(words, chosen), isSaid: () => chosen.value !== "", value: () => outcomes[Number(chosen.value)] };
  }
}

/** Throw what is still missing, all of it at once, and go to the first. */
function checkSaid(inputs) {
  const missing = inputs.filter((input) => input.isMissing());
  inputs.forEach((input) => input.control.setAttribute("aria-invalid", String(missing.includes(input))));
  if (!missing.length) return;
  missing[0].control.focus();
  throw new Error(`Still missing: what was seen of ${missing.map((input) => input.name).join(", ")}.`);
}

function read(inputs) {
  return Object.fromEntries(inputs.filter((input) => input.isSaid()).map((input) => [input.name, input.value()]));
}
