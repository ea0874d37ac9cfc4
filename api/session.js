// The session of this browser with the server that the page is from. It is kept where only pages
// of this origin, port included, can read it, and sent as a header: a cookie would be sent to
// every server on this host.

const name = "pawl-session";

// headers returns the headers of a request with the session, if there is one.
export function headers(more = {}) {
  const token = localStorage.getItem(name);
  return token ? { ...more, Authorization: "Bearer " + token } : more;
}

// request is fetch with the session.
export function request(address, options = {}) {
  return fetch(address, { ...options, headers: headers(options.headers) });
}

// login exchanges the code of a login link for a session. It returns why that failed; empty if
// it did not.
export async function login(code) {
  const answer = await fetch("/api/v1/sessions", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }),
  });
  const body = await answer.json();
  if (!answer.ok) return body.error;
  localStorage.setItem(name, body.token);
  return "";
}

// end forgets the session.
export function end() { localStorage.removeItem(name); }
