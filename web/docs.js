// Lists the operations of the OpenAPI document and sends requests. Text of the server is only
// ever set as text.

import { headers as session, login } from "/session.js";

const byId = (id) => document.getElementById(id);
const token = () => byId("token").value.trim();
let spec;

function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e[key] = value;
  e.append(...children);
  return e;
}

function headers(more = {}) {
  return token() ? { ...more, Authorization: "Bearer " + token() } : session(more);
}

// example returns a value that shows what a schema wants.
function example(schema, depth = 0) {
  if (!schema || depth > 4) return null;
  if (schema.$ref) return example(spec.components.schemas[schema.$ref.split("/").pop()], depth + 1);
  if (schema.enum) return schema.enum[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "object": {
      const value = {};
      for (const name of schema.required || []) value[name] = example((schema.properties || {})[name], depth + 1);
      return value;
    }
    case "array": return [];
    case "integer": case "number": return 0;
    case "boolean": return false;
    case "string": return "";
  }
  return null;
}

function operation(path, method, op) {
  const inputs = {};
  const form = element("form");
  if (op.description) form.append(element("p", { textContent: op.description }));
  for (const p of op.parameters || []) {
    const input = element("input", { required: Boolean(p.required), placeholder: p.description || "" });
    inputs[p.name] = { input, where: p.in };
    form.append(element("label", {}, `${p.name} (${p.in})`, input));
  }
  let body;
  const content = op.requestBody && op.requestBody.content && op.requestBody.content["application/json"];
  if (content) {
    body = element("textarea", { value: JSON.stringify(example(content.schema), null, 2), spellcheck: false });
    form.append(element("label", {}, "body", body));
  }
  const output = element("pre", { hidden: true });
  let stop = new AbortController();
  form.append(element("button", { textContent: "Send" }), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    stop.abort(); // an event stream that was asked for before does not go on in this answer
    const { signal } = (stop = new AbortController());
    output.hidden = false;
    output.textContent = "…";
    let url = path;
    const query = new URLSearchParams();
    const sent = headers(body ? { "Content-Type": "application/json" } : {});
    for (const [name, { input, where }] of Object.entries(inputs)) {
      if (where === "path") url = url.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (input.value === "") continue;
      else if (where === "query") query.append(name, input.value);
      else if (where === "header") sent[name] = input.value;
    }
    const address = spec.servers[0].url + url + (query.size ? "?" + query : "");
    try {
      const answer = await fetch(address, { method: method.toUpperCase(), headers: sent, body: body ? body.value : undefined, signal });
      output.textContent = `${answer.status} ${answer.statusText}\n\n`;
      await read(answer, output);
    } catch (error) {
      if (!signal.aborted) output.textContent += String(error);
    }
  });
  const title = element("summary", {}, element("b", { textContent: method.toUpperCase() }), element("code", { textContent: path }), op.summary || "");
  return element("details", {}, title, form);
}

// read shows a response; of an event stream each event as it comes.
async function read(answer, output) {
  const type = answer.headers.get("Content-Type") || "";
  if (type.startsWith("text/event-stream")) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      output.textContent += value;
    }
  }
  const text = await answer.text();
  try {
    output.textContent += JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    output.textContent += text;
  }
}

async function load() {
  await login();
  const answer = await fetch("openapi.json", { headers: headers() });
  if (!answer.ok) {
    byId("note").textContent = answer.status === 401 ? "Give the token that pawl serve token prints, or log this browser in by pawl serve link." : `The document was not sent: ${answer.status}.`;
    return;
  }
  spec = await answer.json();
  byId("note").textContent = spec.info.description || "";
  const list = byId("operations");
  list.replaceChildren();
  for (const [path, item] of Object.entries(spec.paths)) {
    for (const method of ["get", "post", "put", "patch", "delete"]) {
      if (item[method]) list.append(operation(path, method, item[method]));
    }
  }
}

byId("access").addEventListener("submit", (event) => {
  event.preventDefault();
  load();
});
load();
