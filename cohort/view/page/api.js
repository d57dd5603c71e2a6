// Asks the server.

/** The answer to GET api/<name>; a value of the query may be a list. Throws an Error with the server's message. */
export async function ask(name, query = {}, signal = undefined) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") parameters.append(key, one);
    }
  }
  const answer = await fetch(`api/${name}?${parameters}`, {
    signal,
    headers: { accept: "application/json" },
  });
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(body?.error?.message ?? `the server answered ${answer.status}`);
  return body;
}

/**
 * Calls f({run, step, version}) after each change of a run, and onState(whether the server can be reached). Only while
 * the page is visible: a browser grants six connections to a server, and each hidden page would keep one.
 */
export function follow(f, onState) {
  let source = null;
  const close = () => {
    source?.close();
    source = null;
  };
  const connect = () => {
    if (source || document.visibilityState !== "visible") return;
    source = new EventSource("events");
    source.onopen = () => onState(true);
    source.onerror = () => onState(false);
    source.onmessage = (event) => f(JSON.parse(event.data));
  };
  document.addEventListener("visibilitychange", () =>
    document.visibilityState === "visible" ? connect() : close(),
  );
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", connect);
  connect();
}
