// The policy as a tree that unfolds. What was folded stays folded when a new version comes, the
// focus stays where it is, and what has changed lights up.

import { fill, h, section } from "./dom.js";
import { plain, share } from "./figures.js";

const OPEN = 0.05; // a branch that fewer cases take is folded at first
const NORMAL = 1.96;

/** A tree by itself; `draw` puts another in its place. */
export class TreeView {
  constructor(figures) {
    this.figures = figures;
    this.folded = new Map(); // by path, as people left it
    this.places = null; // what stands where
    this.element = h("ul", { class: "tree" });
  }

  /** What differs from `before`, the places of another tree, gets this class; whether any does. */
  draw(tree, before = null, mark = "fresh") {
    const focused = document.activeElement?.dataset?.path;
    const places = (this.places = new Map());
    let differs = before !== null && before.size !== countOf(tree);
    const marked = (path, title) => {
      places.set(path, title);
      const isOther = before !== null && before.get(path) !== title;
      differs ||= isOther;
      return isOther ? mark : null;
    };
    fill(this.element, this.item(tree, "", "0", marked));
    if (focused) this.element.querySelector(`[data-path="${CSS.escape(focused)}"]`)?.focus();
    return differs;
  }

  item(node, label, path, marked) {
    const when = label && h("span", { class: "when" }, label);
    const title = titleOf(node, path);
    const kind = marked(path, `${label} ${title}`);
    const name = [when, h("b", {}, title)];
    if (node.branches === undefined) return h("li", { class: `leaf ${kind ?? ""}` }, name, this.why(node));
    const isFolded = this.folded.get(path) ?? (node.share !== undefined && node.share < OPEN);
    const summary = h("summary", { "data-path": path }, name, this.why(node));
    const details = h(
      "details",
      { open: !isFolded, ontoggle: () => this.folded.set(path, !details.open) },
      summary,
      h("ul", {}, node.branches.map((child) => this.item(child, labelOf(node, child), `${path}/${child.values.join("|")}`, marked))),
    );
    return h("li", { class: kind }, details);
  }

  why(node) {
    if (node.share === undefined) return null;
    if (node.share === 0) return h("small", {}, "never seen");
    const { figures } = this;
    const part = share(node.share);
    const gained = (known) => `${figures.gain(known.gain)}${doubt(known, figures)}`;
    return h(
      "small",
      {},
      h("span", {}, h("meter", { value: node.share.toFixed(4), title: "share of all cases", "aria-hidden": "true" }), ` ${part}`),
      h("span", {}, `spent ${figures.amount(node.spent)}`),
      node.gain !== null && h("span", {}, `gain ${gained(node)}`),
      node.stop && h("span", {}, `stopping here: ${node.stop.action} ${node.stop.gain === null ? "" : gained(node.stop)}`),
    );
  }
}

export class PolicyTree {
  constructor(figures, changed) {
    this.changed = changed;
    this.view = new TreeView(figures);
    const { element, body } = section(
      "What to buy and do",
      "Each node says how many cases come there, what they have spent by then, what they gain in the end, and what would be done if one stopped there.",
    );
    this.element = element;
    this.version = h("span", { class: "about" }, "loading…");
    this.which = h(
      "select",
      { "aria-label": "Which policy", onchange: () => this.policy && this.draw(true) },
      h("option", { value: "follows" }, "what cases follow now"),
      h("option", { value: "recommends" }, "what has been learned so far"),
    );
    fill(body, h("div", { class: "head" }, this.which, this.version), this.view.element);
  }

  show(policy) {
    this.policy = policy;
    this.draw(false);
  }

  draw(isOther) {
    const { tree } = this.policy[this.which.value];
    this.version.textContent = `policy ${this.policy.policy_version}`;
    const before = isOther ? null : this.view.places;
    if (this.view.draw(tree, before)) this.changed(this.policy.policy_version);
  }
}

const countOf = (node) => 1 + (node.branches ?? []).reduce((sum, child) => sum + countOf(child), 0);

/** By how much a gain may be off; both ends, if one is the least or the most that can be gained. */
function doubt({ gain, gain_error, gain_low, gain_high }, figures) {
  const reach = NORMAL * gain_error;
  if (!(reach > 0)) return "";
  const isCut = Math.min(gain - gain_low, gain_high - gain) < (1 - 1e-9) * reach;
  return isCut ? ` (${figures.gain(gain_low)} to ${figures.gain(gain_high)})` : ` ± ${figures.gain(reach)}`;
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
  const values = child.range ?? child.values.map((value) => (value === null ? "unavailable" : String(value))).join(" or ");
  return node.buy.length > 1 ? `${node.observation} ${values}` : values;
}
