// Elements from plain calls: h("p", { class: "note" }, "words", h("b", {}, "bold")).
// Text is always text, so nothing that a project or a case is called can become markup.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes = {}, ...children) => build(document.createElement(tag), attributes, children);

export const s = (tag, attributes = {}, ...children) => build(document.createElementNS(SVG, tag), attributes, children);

/** Put these children in place of what was there. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Tell those who listen, and do not see. */
export function say(words) {
  document.getElementById("says").textContent = words;
}

/** A section of a page, with the place where its content goes. */
export function section(title, about, attributes = {}) {
  const id = title.toLowerCase().replace(/[^a-z]+/g, "-");
  const body = h("div", { class: "card" });
  const element = h(
    "section",
    { "aria-labelledby": id, ...attributes },
    h("h2", { id }, title),
    about && h("p", { class: "about" }, about),
    body,
  );
  return { element, body };
}

/** A field with its label; `hint` says what is expected. */
export function field(label, control, hint) {
  control.id ||= `f${(field.next = (field.next ?? 0) + 1)}`;
  const note = hint && h("small", { id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

/** What is wrong in a form, and the control in which it is. */
export class Amiss extends Error {
  constructor(words, control) {
    super(words);
    this.control = control;
  }
}

/** Show an error by the control that it is about, which is marked, or else in its place. */
function refuse(place, error) {
  const words = h("p", { class: "refused", role: "alert" }, error.message);
  const { control } = error;
  const field = control?.closest(".observation") ?? control?.closest(".field"); // a row has more room
  if (!field) {
    fill(place, words);
    return;
  }
  control.setAttribute("aria-invalid", "true");
  field.append(words);
  control.focus();
  place.mend = () => {
    words.remove();
    control.removeAttribute("aria-invalid");
  };
  control.addEventListener("input", place.mend, { once: true });
}

/** Take back what was said there, also by a control. */
export function clear(place) {
  place.mend?.();
  place.mend = null;
  fill(place);
}

/** Run what a button asks for: it cannot be pressed twice meanwhile, and a refusal is shown. */
export function during(button, place, work) {
  return async (event) => {
    event?.preventDefault();
    button.disabled = true;
    clear(place);
    try {
      await work();
    } catch (error) {
      refuse(place, error);
    } finally {
      button.disabled = false;
    }
  };
}
