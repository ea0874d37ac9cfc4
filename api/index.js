import { end, login, request } from "/session.js";

const byId = (id) => document.getElementById(id);

async function start() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  let failed = "";
  if (code) {
    history.replaceState(null, "", location.pathname); // the code is not kept in the history
    failed = await login(code);
  }
  const answer = await request("/healthz");
  if (answer.ok || answer.status === 503) {
    byId("state").textContent = "This browser is logged in.";
    byId("links").hidden = false;
    return;
  }
  if (answer.status === 401) end();
  if (failed) byId("state").textContent = "The browser is not logged in: " + failed;
}

byId("end").addEventListener("click", () => {
  end();
  location.reload();
});
start();
