// What people did in place of what was advised: how often, and with what result.

import { fill, h, section } from "./dom.js";
import { many, share, whole } from "./figures.js";

export class People {
  constructor(figures) {
    this.figures = figures;
    const { element, body } = section(
      "Where people overruled",
      "What they did in place of what was advised, or before anything was. They often know more of a case than it does, so these rewards say how people do, not what the action earns elsewhere: nothing is learned from them, unless it was said that they knew no more.",
    );
    this.element = element;
    this.element.hidden = true;
    this.rows = h("tbody", {});
    this.looks = h("p", { class: "note" });
    const titles = ["They did", "Cases", "Rewarded", "Mean reward"];
    fill(body, h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))), this.rows), this.looks);
  }

  show({ overruled, unasked, cases }) {
    const looks = Object.entries(unasked);
    this.element.hidden = overruled.length + looks.length === 0;
    fill(this.rows, overruled.map((row) => this.row(row, cases)));
    this.looks.textContent = looks.length ? `Looked at without being asked: ${looks.map(([name, times]) => `${name} ${many(times, "time")}`).join(", ")}.` : "";
  }

  row(row, cases) {
    const cell = (words) => h("td", {}, words);
    const often = cases ? `${whole(row.cases)} (${share(row.cases / cases)})` : whole(row.cases);
    const mean = row.reward === null ? "none yet" : this.figures.gain(row.reward);
    return h("tr", {}, h("th", { scope: "row" }, row.action), cell(often), cell(whole(row.rewarded)), cell(mean));
  }
}
