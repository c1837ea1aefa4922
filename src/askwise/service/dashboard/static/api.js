// Calls to the service. The token lives in this tab only, and travels in a header.

const TOKEN = "askwise.token";
const TRIES = 4;

/** What the server said no to, in its words. */
export class Refused extends Error {
  constructor(status, problem) {
    const flaw = problem?.errors?.[0];
    const detail = problem?.detail ?? `the server answered ${status}`;
    const where = flaw ? inWords(flaw.pointer) : "";
    const isSaid = where === "" || detail.startsWith(where.split(/[ ,]/)[0]); // observation 'mri': …
    super(isSaid ? detail : `${where}: ${detail}`);
    this.status = status;
    this.pointer = flaw?.pointer ?? "";
  }
}

/** The place of a flaw, as people call it: #/problem/observations/0/cost is observation 1, cost. */
export function inWords(pointer) {
  const parts = pointer.replace(/^(#|[a-z]+:)/, "").split("/").filter((part) => part && part !== "problem");
  const words = parts.map((part, k) => (/^\d+$/.test(part) ? Number(part) + 1 : /^\d+$/.test(parts[k + 1] ?? "") ? part.replace(/s$/, "") : part.replaceAll("_", " ")));
  return words.join(", ").replace(/, (\d+)/g, " $1");
}

export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;
export const keepToken = (token) => sessionStorage.setItem(TOKEN, token);
export const forgetToken = () => sessionStorage.removeItem(TOKEN);

const headers = (more = {}) => {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? more : { ...more, Authorization: `Bearer ${token}` };
};

export const path = (...parts) => ["/v1", ...parts.map(encodeURIComponent)].join("/");

async function read(response) {
  if (response.ok) return response.json();
  throw new Refused(response.status, await response.json().catch(() => null));
}

export async function get(where, signal) {
  return read(await fetch(where, { headers: headers(), cache: "no-store", signal }));
}

/** Send once, whatever happens: what got no answer is sent again under the same key. */
export async function post(where, body) {
  const key = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
  const request = {
    method: "POST",
    headers: headers({ "Content-Type": "application/json", "Idempotency-Key": key }),
    body: JSON.stringify(body),
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await fetch(where, request);
      if (response.status !== 503 || attempt === TRIES) return await read(response);
    } catch (error) {
      if (error instanceof Refused) throw error;
      if (attempt === TRIES) throw new Error("the server cannot be reached");
    }
    await pause(300 * 2 ** attempt);
  }
}

/** Ask something that changes nothing, with a body too large for an address. */
export async function send(where, body) {
  const request = { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
  return read(await fetch(where, request));
}

/** Change a link for a token, which it can be once. */
export async function useLink(link) {
  const asked = { "Content-Type": "application/json", Authorization: `Bearer ${link}` };
  const { token } = await read(await fetch(path("sign-in"), { method: "POST", headers: asked, body: "{}" }));
  keepToken(token);
}

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** What changes in a project, as it changes. EventSource cannot send a token, so this reads the
 * stream itself; it ends with the connection. */
export async function* changes(project, signal) {
  const where = path("projects", project, "live");
  const response = await fetch(where, { headers: headers(), cache: "no-store", signal });
  if (!response.ok) await read(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) if (part.startsWith("data: ")) yield JSON.parse(part.slice(6));
  }
}

/** Whether the server asks for tokens at all: its own description says so. */
export async function asksForTokens() {
  const response = await fetch("/openapi.json");
  return (await read(response)).security.length > 0;
}

/** The learners that a project may have. */
export async function learners() {
  const description = await read(await fetch("/openapi.json"));
  return description.components.schemas.ChosenLearner.properties.name.examples;
}
