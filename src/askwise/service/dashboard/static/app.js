// Signing in, and which page is shown: #/ lists the projects, #/p/NAME is one of them, and
// #/compare/NAME/NAME sets some beside each other. #/sign-in/LINK is what the server printed.

import { asksForTokens, forgetToken, get, hasToken, keepToken, path, useLink } from "./api.js";
import { showComparison } from "./compare.js";
import { during, field, fill, h, say } from "./dom.js";
import { showProject } from "./project.js";
import { showProjects } from "./projects.js";

const main = document.getElementById("main");
const where = document.getElementById("where");
const signOut = document.getElementById("sign-out");

let may = null; // what the token may do
let leave = () => {}; // ends what the page before is still doing

const LINK = "#/sign-in/";

async function start() {
  if (location.hash.startsWith(LINK)) {
    const link = decoded(location.hash.slice(LINK.length));
    history.replaceState(null, "", "#/"); // it is good once, and belongs in no history
    try {
      await useLink(link);
    } catch (error) {
      showSignIn(`${error.status ? "This link was used already, or has expired" : error.message}. Sign in with a token, or start the server again.`);
      return;
    }
  }
  if (hasToken() || !(await asksForTokens())) {
    try {
      may = await get(path("token"));
    } catch (error) {
      forgetToken();
      showSignIn(error.status === 401 ? "The token of this tab is not good any more." : error.message);
      return;
    }
    signOut.hidden = !hasToken();
    await route();
  } else {
    showSignIn();
  }
}

function showSignIn(why = "") {
  const token = h("input", {
    type: "password",
    name: "token",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    placeholder: "askw_…",
  });
  const button = h("button", { type: "submit" }, "Sign in");
  const answer = h("div", {}, why && h("p", { class: "refused", role: "alert" }, why));
  const enter = during(button, answer, async () => {
    keepToken(token.value.trim());
    try {
      may = await get(path("token"));
    } catch (error) {
      forgetToken();
      throw error;
    }
    signOut.hidden = false;
    await route();
  });
  title("");
  fill(
    main,
    h(
      "form",
      { class: "card sign-in", onsubmit: enter, "aria-labelledby": "sign-in" },
      h("h1", { id: "sign-in" }, "Which information is worth its price?"),
      h("p", { class: "about" }, "Sign in with a token. It was shown when the server first started, or when a project was created; ", h("code", {}, "askwise token create"), " makes another."),
      field("Token", token, "Kept in this tab only, until it is closed."),
      answer,
      button,
    ),
  );
  token.focus();
}

async function route() {
  leave();
  leave = () => {};
  const [, kind, name, ...others] = location.hash.split("/").map(decoded);
  if (kind === "p" && name) {
    title(name);
    leave = showProject(main, name, may);
  } else if (may.project) {
    location.replace(`#/p/${encodeURIComponent(may.project)}`);
    return;
  } else if (kind === "compare") {
    title("Compare");
    leave = showComparison(main, [name, ...others].filter(Boolean));
  } else {
    title("");
    leave = showProjects(main, may);
  }
  main.focus({ preventScroll: true }); // what had the focus is gone: go on from the top of the page
  say(kind === "compare" ? "Compare projects" : name ? `Project ${name}` : "Projects");
}

/** A part of the address as it was before it was encoded; as it is, if it never was. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function title(name) {
  document.title = name ? `${name} – askwise` : "askwise";
  fill(where, name ? [h("span", { "aria-hidden": "true" }, "/ "), name] : "");
  document.getElementById("pulse").hidden = true;
  window.scrollTo(0, 0);
}

window.addEventListener("hashchange", () => {
  if (location.hash === "#main") main.focus(); // the link that skips the head
  else if (location.hash.startsWith(LINK)) start();
  else if (may) route();
});

signOut.addEventListener("click", () => {
  leave();
  leave = () => {};
  forgetToken();
  may = null;
  signOut.hidden = true;
  history.replaceState(null, "", "#/");
  showSignIn();
});

start().catch((error) => fill(main, h("p", { class: "refused", role: "alert" }, error.message)));
