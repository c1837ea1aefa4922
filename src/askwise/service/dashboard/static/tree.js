// The policy as a tree that unfolds. What was folded stays folded when a new version comes, the
// focus stays where it is, and what has changed lights up.

import { fill, h, section } from "./dom.js";
import { plain, share } from "./figures.js";

const OPEN = 0.05; // a branch that fewer cases take is folded at first
const NORMAL = 1.96;

export class PolicyTree {
  constructor(figures, changed) {
    this.figures = figures;
    this.changed = changed;
    this.folded = new Map(); // by path, as people left it
    this.before = null; // what stood where
    const { element, body } = section(
      "What to buy and do",
      "Each node says how many cases come there, what they have spent by then, what they gain in the end, and what would be done if one stopped there.",
    );
    this.element = element;
    this.version = h("span", { class: "about" });
    this.which = h(
      "select",
      { "aria-label": "Which policy", onchange: () => this.draw(true) },
      h("option", { value: "follows" }, "what cases follow now"),
      h("option", { value: "recommends" }, "what has been learned so far"),
    );
    this.list = h("ul", { class: "tree" });
    fill(body, h("div", { class: "head" }, this.which, this.version), this.list);
  }

  show(policy) {
    this.policy = policy;
    this.draw(false);
  }

  draw(isOther) {
    const { tree } = this.policy[this.which.value];
    this.version.textContent = `policy ${this.policy.policy_version}`;
    const focused = document.activeElement?.dataset?.path;
    const places = new Map();
    const isNew = (path, title) => {
      places.set(path, title);
      return this.before.get(path) !== title;
    };
    const compared = isOther || this.before === null ? (path, title) => void places.set(path, title) : isNew;
    fill(this.list, this.item(tree, "", "0", compared));
    const changed = [...places].some(([path, title]) => this.before?.get(path) !== title);
    if (!isOther && this.before !== null && changed) this.changed(this.policy.policy_version);
    this.before = places;
    if (focused) this.list.querySelector(`[data-path="${CSS.escape(focused)}"]`)?.focus();
  }

  item(node, label, path, isNew) {
    const when = label && h("span", { class: "when" }, label);
    const title = titleOf(node, path);
    const fresh = isNew(path, `${label} ${title}`) ? "fresh" : null;
    const name = [when, h("b", {}, title)];
    if (node.branches === undefined) return h("li", { class: `leaf ${fresh ?? ""}` }, name, this.why(node));
    const isFolded = this.folded.get(path) ?? (node.share !== undefined && node.share < OPEN);
    const summary = h("summary", { "data-path": path }, name, this.why(node));
    const details = h(
      "details",
      { open: !isFolded, ontoggle: () => this.folded.set(path, !details.open) },
      summary,
      h("ul", {}, node.branches.map((child) => this.item(child, labelOf(node, child), `${path}/${child.values.join("|")}`, isNew))),
    );
    return h("li", { class: fresh }, details);
  }

  why(node) {
    if (node.share === undefined) return null;
    if (node.share === 0) return h("small", {}, "never seen");
    const { figures } = this;
    const part = share(node.share);
    const doubt = (error) => (error > 0 ? ` ± ${figures.gain(NORMAL * error)}` : "");
    return h(
      "small",
      {},
      h("span", {}, h("meter", { value: node.share.toFixed(4), title: "share of all cases", "aria-hidden": "true" }), ` ${part}`),
      h("span", {}, `spent ${figures.amount(node.spent)}`),
      h("span", {}, node.gain === null ? "gain ?" : `gain ${figures.gain(node.gain)}${doubt(node.gain_error)}`),
      node.stop && h("span", {}, `stopping here: ${node.stop.action} ${node.stop.gain === null ? "" : figures.gain(node.stop.gain) + doubt(node.stop.gain_error)}`),
    );
  }
}

function titleOf(node, path) {
  if (node.action !== undefined) {
    const done = node.cost ? `${node.action} (${plain(node.cost)})` : node.action;
    return path === "0" ? `${done} (buying nothing)` : done;
  }
  return node.buy.length ? `buy ${node.buy.join(" + ")} (${plain(node.cost)})` : `${node.observation}?`;
}

/** What a branch is for; of several bought together it says of which observation. */
function labelOf(node, child) {
  const values = child.values.map((value) => (value === null ? "unavailable" : String(value))).join(" or ");
  return node.buy.length > 1 ? `${node.observation} ${values}` : values;
}
