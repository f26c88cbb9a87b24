import { type Schema, Validator } from "@cfworker/json-schema";

import type { LiveSession } from "../../../../src/frontend/session/live_session.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { FRONTENDS } from "../../../../src/frontend/mod.ts";
import { projectDir, SessionLog } from "../../../../src/session/mod.ts";
import { openApiText, webApiPage } from "../../../../scripts/gen_web_api.ts";
import { call, type Reply, say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeImage } from "../../../support/images.ts";
import { liveStage, type LiveStageOptions } from "../../../support/live_stage.ts";
import { longLog } from "../../../support/long_session.ts";
import { randomFrom } from "../../../support/seed.ts";
import { type Client, type ServedHere, serveHere } from "../../../support/web.ts";

const sourceOf = (path: string) => Deno.readTextFile(new URL(`../../../../${path}`, import.meta.url));

Deno.test("docs/web-api.md and openapi.json equal the output of gen_web_api", async () => {
  assertEquals(await sourceOf("docs/web-api.md"), await webApiPage(), "run `deno task gen`");
  const written = await sourceOf("src/frontend/web/openapi.json");
  assertEquals(written, await openApiText(), "run `deno task gen`");
});

// deno-lint-ignore no-explicit-any
type Answer = any;

interface Api {
  /** Sends a request and returns its answer, which is as the API says. */
  (request: string, json?: unknown): Promise<Answer>;
  /** The status and message of a request that is refused. */
  refusal(request: string, json?: unknown): Promise<[status: number, message: string]>;
}

/** Fails unless JSON is as a description says. */
function requireFit({ content }: Answer, json: unknown, request: string): void {
  const schema: Schema = content["application/json"].schema;
  const { valid, errors } = new Validator(schema, "2020-12", false).validate(json);
  assert(valid, `${request}: ${JSON.stringify(errors)}\n${JSON.stringify(json).slice(0, 2000)}`);
}

/** Requests such as "GET /sessions?query=x". */
async function apiOf(client: Client): Promise<Api> {
  const { paths } = JSON.parse(await sourceOf("src/frontend/web/openapi.json"));
  const operationOf = (method: string, path: string) => {
    const parts = path.split(/[/?]/).slice(1, path.split("?")[0]?.split("/").length);
    const found = Object.keys(paths).find((each) => {
      const names = each.split("/").slice(1);
      return names.length === parts.length &&
        names.every((name, at) => /^\{/.test(name) || name === parts[at]);
    });
    return paths[found ?? ""]?.[method.toLowerCase()];
  };
  const send = async (request: string, json?: unknown) => {
    const [method = "", path = ""] = request.split(/ (.*)/s);
    const response = await client(`/api/v1${path}`, { method, ...(json === undefined ? {} : { json }) });
    const { responses, requestBody } = operationOf(method, path);
    const declared = responses[response.status] ?? responses.default;
    const body = await response.json();
    requireFit(declared, body, request);
    if (response.ok && requestBody) requireFit(requestBody, json, request);
    return { response, body };
  };
  const api = async (request: string, json?: unknown) => {
    const { response, body } = await send(request, json);
    assert(response.ok, `${request}: ${response.status} ${JSON.stringify(body)}`);
    return body;
  };
  return Object.assign(api, {
    async refusal(request: string, json?: unknown): Promise<[number, string]> {
      const { response, body } = await send(request, json);
      return [response.status, body.error?.message];
    },
  });
}

/** Waits until something is true of a session, at most 30 seconds. */
async function reached(
  { stage: { sessions } }: ServedHere,
  id: string,
  isSo: (live: LiveSession) => boolean,
): Promise<void> {
  const live = sessions.get(id);
  assert(live, id);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const check = () => isSo(live) && resolve();
  const detach = live.attach({ name: "test", event: check, queued: check });
  AbortSignal.timeout(30_000).addEventListener("abort", () => reject(new Error("It takes too long")));
  check();
  await promise.finally(detach);
}

/** Waits until no message of a session runs or waits. */
const idle = (served: ServedHere, id: string) => reached(served, id, (live) => !live.submissions.busy);

async function allFiles(directory: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    found.push(...(isDirectory ? await allFiles(path) : [path]));
  }
  return found;
}

let made = 0;
const newId = () => `message-${String(++made).padStart(6, "0")}`;

Deno.test("openapi.json is served, and describes each parameter, role and answer", async () => {
  await using served = await serveHere();
  const { openapi, paths, components } = await (await apiOf(served.viewer))("GET /openapi.json");
  assertEquals([openapi, Object.keys(components.schemas).length], ["3.1.0", 10]);
  const operations = Object.entries<Answer>(paths).flatMap(([path, methods]) =>
    Object.entries<Answer>(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  assertEquals(operations.length, Object.keys((await FRONTENDS.web()).ROUTES).length);
  for (const { path, method, operation } of operations) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared = operation.parameters.filter((each: Answer) => each.in === "path");
    assertEquals([path, declared.map((each: Answer) => each.name)], [path, named]);
    assert(declared.every((each: Answer) => each.required), path);
    assert(["none", "viewer", "owner"].includes(operation["x-role"]), path);
    assert(method === "get" || operation["x-role"] !== "viewer" || path === "/sign-out", `${method} ${path}`);
    assertEquals(Object.keys(operation.responses).filter((status) => /^20[012]$/.test(status)).length, 1);
    assert(method !== "get" || !operation.requestBody, path);
  }
});

Deno.test("a session that asks while it is opened is there, and one that cannot be opened is not", async () => {
  let trusted: unknown;
  const options: LiveStageOptions = {
    async beforeOpen({ model }, person) {
      if (model === "none") throw new ReasonixError("Cannot use the model none", { exit: "config" });
      trusted = await person.trust?.(["a hook"], "its command");
    },
    replies: [say("hello")],
  };
  await using served = await serveHere(options);
  const api = await apiOf(served.owner);
  const id = "20260101-000000-bbbb";
  assertEquals(await api.refusal("POST /sessions", { id, model: "none" }), [
    400,
    "Cannot use the model none",
  ]);
  assertEquals(await api.refusal(`GET /sessions/${id}/questions`), [404, `Cannot find session "${id}"`]);
  assertEquals(await api("POST /sessions", { id }), { id });
  const [question] = (await api(`GET /sessions/${id}/questions`)).questions;
  assertEquals([question.kind, question.question.lines], ["trust", ["a hook"]]);
  assertEquals(await api.refusal(`GET /sessions/${id}/files`), [
    409,
    `Cannot do that: session ${id} is being opened`,
  ]);
  // A message waits until it is known whether the session can be opened.
  const sent = api(`POST /sessions/${id}/messages`, { id: newId(), text: "go" });
  await api(`POST /sessions/${id}/questions/${question.id}`, { answer: "trust" });
  assertEquals([await sent, trusted], [{ accepted: true }, "trust"]);
  await idle(served, id);
  await api(`POST /sessions/${id}/close`);
  const { entries } = await api(`GET /sessions/${id}/completions?text=/comp`);
  assertEquals(entries[0].insert, "/compact ");
  assertEquals(served.stage.sessions.all, []);
});

Deno.test("a session is begun, listed, read, renamed, copied, closed, opened and deleted", async () => {
  await using served = await serveHere({ replies: [say("first"), say("second")], files: { "a/x.txt": "x" } });
  const { stage: { cwd } } = served;
  const api = await apiOf(served.owner);
  const id = "20260101-000000-aaaa";
  assertEquals(await api("POST /sessions", { id, directory: `${cwd}/a` }), { id });
  assertEquals(await api("POST /sessions", { id }), { id });
  const entryOf = async (wanted: string) => {
    const { sessions } = await api("GET /sessions");
    return sessions.find((entry: Answer) => entry.id === wanted);
  };
  const begun = await entryOf(id);
  assertEquals([begun.directory, begun.state, begun.live, begun.title], [`${cwd}/a`, "idle", true, ""]);
  assertEquals(await api(`GET /sessions/${id}/events`), { events: [], first: true });

  const message = { id: newId(), text: "Tidy up the code" };
  assertEquals(await api(`POST /sessions/${id}/messages`, message), { accepted: true });
  assertEquals(await api(`POST /sessions/${id}/messages`, message), { accepted: true, repeated: true });
  await idle(served, id);
  const { state, title, cost: _, elsewhere } = await entryOf(id);
  assertEquals([state, title, elsewhere], ["done", "Tidy up the code", false]);
  const { events, first } = await api(`GET /sessions/${id}/events?limit=1000`);
  const texts = events.flatMap((event: Answer) =>
    event.origin === "user" || event.type === "message.end" ? [[event.id, event.content]] : []
  );
  assertEquals([texts, first], [[[message.id, message.text], [undefined, "first"]], true]);
  const { snapshot, facts } = await api(`GET /sessions/${id}/snapshot`);
  assertEquals([snapshot.seq, snapshot.turnState], [events.at(-1).seq, "done"]);
  assert(facts.some(({ kind }: Answer) => kind === "title"));

  await api(`PATCH /sessions/${id}`, { title: "A new name" });
  assertEquals((await entryOf(id)).title, "A new name");
  for (const query of ["NEW na", "tidy up"]) {
    const found = await api(`GET /sessions?query=${encodeURIComponent(query)}`);
    assertEquals(found.sessions.map((entry: Answer) => entry.id), [id]);
  }
  assertEquals((await api("GET /sessions?query=nothing")).sessions, []);
  assertEquals((await api(`GET /sessions?directory=${cwd}`)).sessions, []);
  assertEquals((await api(`GET /sessions?directory=${cwd}/a`)).sessions.length, 1);

  const { id: copy } = await api("POST /sessions", { copyOf: id });
  assertEquals((await entryOf(copy)).title, "A new name");
  assertEquals(await api(`POST /sessions/${id}/close`), { id });
  const closed = await entryOf(id);
  assertEquals([closed.live, closed.state, closed.directory], [false, "done", `${cwd}/a`]);
  // What no process has open is read from its file.
  const stored = await api(`GET /sessions/${id}/events?limit=1000`);
  assertEquals(
    stored.events.map(({ seq }: Answer) => seq).slice(0, events.length),
    events.map(({ seq }: Answer) => seq),
  );
  assertEquals((await api(`GET /sessions/${id}/snapshot`)).snapshot.turnState, "done");
  const reader = (await served.owner("/api/v1/stream", { signal: AbortSignal.timeout(30_000) })).body
    ?.getReader();
  await reader?.read();
  await api(`PATCH /sessions/${id}`, { title: "Renamed in its file" });
  // The list of another browser changes, too.
  let heard = "";
  while (!heard.includes("Renamed in its file")) {
    heard += new TextDecoder().decode((await reader?.read())?.value);
  }
  await reader?.cancel();
  assertEquals((await entryOf(id)).title, "Renamed in its file");
  assertEquals((await api(`GET /sessions/${id}/questions`)).questions, []);
  assertEquals((await api(`GET /sessions/${id}/settings`)).settings, []);
  assertEquals((await entryOf(id)).live, false);

  await api(`POST /sessions/${id}/open`);
  assertEquals((await entryOf(id)).live, true);
  await api(`DELETE /sessions/${id}`);
  await api(`DELETE /sessions/${copy}`);
  assertEquals((await api("GET /sessions")).sessions, []);
  for (
    const request of [
      `GET /sessions/${id}/events`,
      `GET /sessions/${id}/snapshot`,
      `GET /sessions/${id}/questions`,
      `GET /sessions/${id}/files`,
      `POST /sessions/${id}/open`,
      `POST /sessions/${id}/interrupt`,
      `DELETE /sessions/${id}`,
    ]
  ) {
    assertEquals(await api.refusal(request, request.startsWith("GET") ? undefined : {}), [
      404,
      `Cannot find session "${id}"`,
    ], request);
  }
});

Deno.test("what another program has open is read and not changed", async () => {
  await using served = await serveHere({ replies: [say("first")] });
  const { stage: { sessions } } = served;
  const api = await apiOf(served.owner);
  const { id } = await api("POST /sessions", {});
  await api(`POST /sessions/${id}/messages`, { id: newId(), text: "hello" });
  await idle(served, id);
  const path = sessions.get(id)?.assembly?.session.paths.path ?? "";
  await api(`POST /sessions/${id}/close`);
  const other = SessionLog.open(path);
  try {
    const [entry] = (await api("GET /sessions")).sessions;
    assertEquals([entry.live, entry.elsewhere, entry.state], [false, true, "done"]);
    other.append({ type: "turn.start", turn: 2 });
    const [working] = (await api("GET /sessions")).sessions;
    assertEquals(working.state, "working");
    const { events } = await api(`GET /sessions/${id}/events`);
    assertEquals(events.at(-1).type, "turn.start");
    for (
      const [request, json] of [
        [`POST /sessions/${id}/open`, {}],
        [`POST /sessions/${id}/messages`, { id: newId(), text: "hello" }],
        [`PATCH /sessions/${id}`, { title: "x" }],
        [`PATCH /sessions/${id}/settings`, { id: "approval", value: "yolo" }],
        [`DELETE /sessions/${id}`, undefined],
      ] as const
    ) {
      const [status, why] = await api.refusal(request, json);
      assertEquals([request, status], [request, 409]);
      assertStringIncludes(why, `process ${Deno.pid} has it open`);
    }
    assertEquals(sessions.all, []);
    const { id: copy } = await api("POST /sessions", { copyOf: id });
    assert(copy !== id);
  } finally {
    other.close();
  }
  const left = (await api("GET /sessions")).sessions.find((entry: Answer) => entry.id === id);
  // The program has ended within its turn.
  assertEquals([left.state, left.elsewhere], ["failed", false]);
});

Deno.test("a message of images is bounded, and requests say what of them cannot be used", async () => {
  await using served = await serveHere({ replies: [say("seen")] });
  const api = await apiOf(served.owner);
  const { id } = await api("POST /sessions", {});
  const png = (await makeImage(16, 16)).toBase64();
  const send = (body: object) =>
    api.refusal(`POST /sessions/${id}/messages`, { id: newId(), text: "look", ...body });
  const image = (data: string, mime = "image/png") => ({ images: [{ mime, data }] });
  const big = new Uint8Array(10 * 1024 * 1024 + 1);
  big.set(Uint8Array.fromBase64(png));
  const rows: readonly (readonly [body: object, message: string])[] = [
    [{ text: " " }, "Cannot send an empty message"],
    [{ text: 5 }, "Cannot use body.text: it is missing, or its type is not string"],
    [{ id: "short" }, "Cannot use body.id: its form is not the one in docs/web-api.md"],
    [{ txt: "x" }, "Cannot use body: there is no field txt"],
    [{ steer: "yes" }, "Cannot use body.steer: it is missing, or its type is not boolean"],
    [{ ...image(png), text: "" }, "Cannot send images alone: scripted-1 takes none"],
    [
      image(png, "image/svg+xml"),
      "Cannot send image 1: its data is no image of the type image/svg+xml",
    ],
    [image("%%%"), "Cannot send image 1: its data is not base64"],
    [image(btoa("<svg onload=alert(1)>")), "Cannot send image 1: its data is no image of the type image/png"],
    [image(png, "image/jpeg"), "Cannot send image 1: its data is no image of the type image/jpeg"],
    [image(big.toBase64()), "Cannot send image 1: it has more than 10485760 bytes"],
    [
      { images: Array.from({ length: 21 }, () => image(png).images[0]) },
      "Cannot send 21 images: at most 20 are taken",
    ],
  ];
  for (const [body, message] of rows) assertEquals(await send(body), [400, message]);
  assertEquals(await api(`GET /sessions/${id}/events`), { events: [], first: true });
  const before = await allFiles(served.stage.home);
  await api(`POST /sessions/${id}/messages`, { id: newId(), text: "look", ...image(png) });
  await idle(served, id);
  const { events } = await api(`GET /sessions/${id}/events`);
  assertEquals(events.find((event: Answer) => event.origin === "user").images, image(png).images);
  // Only in the log of the session.
  const made = (await allFiles(served.stage.home)).filter((file) => !before.includes(file));
  assertEquals(made.filter((file) => !/\/(sessions|serve)\/[^/]+$/.test(file)), []);
});

Deno.test("questions are listed, checked, answered once, and their calls computed", async () => {
  const ask = {
    questions: [{ question: "Which?", options: [{ label: "red" }, { label: "blue" }], multiple: false }],
  };
  const edit = { path: "a.txt", content: "new\n" };
  const made = ["secret/a.txt", ".env"].map((path, at) => call(`3${at}`, "write_file", { ...edit, path }));
  const replies: Reply[] = [
    [call("1", "ask", ask), { type: "done", reason: "tool_calls" }],
    [call("2", "write_file", edit), { type: "done", reason: "tool_calls" }],
    [...made, { type: "done", reason: "tool_calls" }],
    say("done"),
  ];
  const config = { permissions: { deny: ["Read(secret/**)"], allow: ["Write(secret/**)", "Write(.env)"] } };
  await using served = await serveHere({ replies, config });
  const { stage } = served;
  const [api, viewer] = [await apiOf(served.owner), await apiOf(served.viewer)];
  const { id } = await api("POST /sessions", {});
  const path = `/sessions/${id}/questions`;
  const asked = (kind: string) => reached(served, id, (live) => live.questions.open[0]?.kind === kind);
  await api(`POST /sessions/${id}/messages`, { id: newId(), text: "paint" });
  await asked("ask");
  const [question] = (await viewer(`GET ${path}`)).questions;
  assertEquals([question.kind, question.question.questions[0].question], ["ask", "Which?"]);
  assertEquals((await viewer("GET /sessions")).sessions[0].state, "waiting");
  for (
    const [answer, why] of [
      ["red", "Cannot use answer: it is missing, or its type is not array"],
      [[], "Cannot use the answer: the question has no such choice"],
      [[["red"], ["blue"]], "Cannot use the answer: the question has no such choice"],
      [[[5]], "Cannot use answer.0.0: it is missing, or its type is not string"],
    ]
  ) {
    assertEquals(await api.refusal(`POST ${path}/${question.id}`, { answer }), [400, why]);
  }
  const [status] = await viewer.refusal(`POST ${path}/${question.id}`, { answer: [["red"]] });
  assertEquals(status, 403);
  await api(`POST ${path}/${question.id}`, { answer: [["red"]] });
  assertEquals(await api.refusal(`POST ${path}/${question.id}`, { answer: [["blue"]] }), [
    409,
    'Cannot answer the question: it has an answer from the front end "web"',
  ]);
  await asked("approval");
  const [approval] = (await api(`GET ${path}`)).questions;
  assertEquals([approval.kind, approval.question.tool], ["approval", "write_file"]);
  const answer = { allow: true, scope: "once" };
  for (
    const [refused, why] of [
      [{ ...answer, by: "hook" }, "Cannot use answer: there is no field by"],
      [{ ...answer, scope: "ever" }, "Cannot use answer.scope: it is none of once, session, project, always"],
    ] as const
  ) {
    assertEquals(await api.refusal(`POST ${path}/${approval.id}`, { answer: refused }), [400, why]);
  }
  assertEquals(
    (await api.refusal(`POST ${path}/${approval.id}/run`, { argument: "x" }))[1],
    'Cannot call "run" of a question with "x"',
  );
  assertEquals(
    await api.refusal(`POST ${path}/${approval.id}/preview`, { argument: 0 }),
    [409, 'Cannot execute "preview": this question has no such call'],
  );
  await api(`POST ${path}/${approval.id}`, { answer });
  await idle(served, id);
  assertEquals(await Deno.readTextFile(`${stage.cwd}/a.txt`), "new\n");
  assertEquals((await api.refusal(`POST ${path}/nothing-there`, {}))[0], 409);

  const { changes } = await viewer(`GET /sessions/${id}/changes`);
  const created = { action: "create", added: 1, removed: 0 };
  const hunks = [{ oldStart: 1, oldLines: 0, newStart: 1, newLines: 1, lines: ["+new"] }];
  assertEquals(changes.toSorted((a: Answer, b: Answer) => a.path < b.path ? -1 : 1), [
    // What may not be read is not shown.
    { path: ".env", ...created },
    { path: "a.txt", ...created, hunks },
    { path: "secret/a.txt", ...created },
  ]);
});

Deno.test("settings change the approval mode and the way of working, and prompt for a goal", async () => {
  await using served = await serveHere({ replies: [say("working on it"), say("more")] });
  const api = await apiOf(served.owner);
  const { id } = await api("POST /sessions", {});
  const path = `/sessions/${id}/settings`;
  const currentOf = ({ settings }: Answer) =>
    Object.fromEntries(settings.map((each: Answer) => [each.id, each.current]));
  const now = currentOf(await api(`GET ${path}`));
  assertEquals([now.approval, now.collaboration, now.model], ["ask", "normal", "scripted/scripted-1"]);
  assertEquals(currentOf(await api(`PATCH ${path}`, { id: "approval", value: "auto" })).approval, "auto");
  assertEquals(
    currentOf(await api(`PATCH ${path}`, { id: "collaboration", value: "plan" })).collaboration,
    "plan",
  );
  assertEquals(await api.refusal(`PATCH ${path}`, { id: "approval", value: "always" }), [
    400,
    'Cannot set approval to "always": there is no such value',
  ]);
  assertEquals(await api.refusal(`PATCH ${path}`, { id: "mode", value: "ask" }), [
    400,
    'Cannot change "mode": there is no such setting',
  ]);
  await api(`PATCH ${path}`, { id: "collaboration", value: "normal" });
  await api(`PATCH ${path}`, { id: "collaboration", value: "goal" });
  const [question] = (await api(`GET /sessions/${id}/questions`)).questions;
  assertEquals([question.kind, question.called], ["prompt", true]);
  await api(`POST /sessions/${id}/questions/${question.id}`, { answer: "Tidy up" });
  await reached(served, id, (live) => live.assembly?.session.state.goal?.objective === "Tidy up");
  await api(`POST /sessions/${id}/interrupt`, {});
  await idle(served, id);
});

Deno.test("completions are those of the chat, and a draft can be taken back", async () => {
  const gate = Promise.withResolvers<void>();
  const replies: Reply[] = [async function* () {
    await gate.promise;
    yield* say("done");
  }];
  await using served = await serveHere({
    replies,
    files: { "src/main.ts": "", "src/map.ts": "", "b.txt": "" },
  });
  const api = await apiOf(served.owner);
  const { id } = await api("POST /sessions", {});
  const complete = async (text: string, cursor?: number) => {
    const query = new URLSearchParams({ text, ...(cursor === undefined ? {} : { cursor: `${cursor}` }) });
    return await api(`GET /sessions/${id}/completions?${query}`);
  };
  const { from, to, entries } = await complete("/comp tail", 5);
  assertEquals([from, to, entries[0].insert], [0, 5, "/compact "]);
  // Those of the chat alone are left out, such as /resume.
  const names = (await complete("/re")).entries.map(({ label }: Answer) => label);
  assert(names.includes("rename") && !names.includes("resume"), names);
  assertEquals((await complete("/mode ")).entries.map(({ insert }: Answer) => insert).slice(0, 2), [
    "normal",
    "plan",
  ]);
  const files = await complete("look at @ma");
  assertEquals([files.from, files.entries.map(({ label }: Answer) => label).slice(0, 2)], [8, [
    "src/map.ts",
    "src/main.ts",
  ]]);
  assertEquals((await complete("nothing here")).entries, []);

  const [first, second] = [newId(), newId()];
  await api(`POST /sessions/${id}/messages`, { id: first, text: "work" });
  await api(`POST /sessions/${id}/messages`, { id: second, text: "then this" });
  const [status] = await api.refusal(`DELETE /sessions/${id}/messages/${first}`);
  assertEquals(status, 409);
  assertEquals(await api(`DELETE /sessions/${id}/messages/${second}`), { text: "then this" });
  assertEquals((await api(`GET /sessions/${id}/snapshot`)).snapshot.waiting, []);
  gate.resolve();
  await idle(served, id);
});

Deno.test("files are read under the rules of the session, and nothing outside of its workspace", async () => {
  const files = {
    "src/a.ts": "export {};\n",
    "secret/plan.txt": "hidden",
    "asked/plan.txt": "asked",
    "notes/key.md": "sk-live-aaaaaaaaaaaaaaaaaaaaaaaa",
    ".env": "TOKEN=1",
    ".env.example": "TOKEN=",
    "deploy/server.pem": "key",
    ".git/config": "url = https://user:token@host",
    "long.txt": `${"0123456789abcdef".repeat(64)}\n`.repeat(600),
    "data.bin": "a\0b",
  };
  const config = { permissions: { deny: ["Read(secret/**)"], ask: ["Read(asked/**)"] } };
  await using served = await serveHere({ files, config });
  const { stage: { cwd, home } } = served;
  await Deno.writeFile(`${cwd}/picture.txt`, await makeImage(3, 2));
  await Deno.writeTextFile(`${home}/outside.txt`, "outside");
  await Deno.symlink(`${home}/outside.txt`, `${cwd}/link.txt`);
  await Deno.symlink(home, `${cwd}/linked`);
  await Deno.symlink(`${cwd}/.env`, `${cwd}/env-link.txt`);
  if (Deno.build.os !== "windows") await new Deno.Command("mkfifo", { args: [`${cwd}/pipe`] }).output();
  const [api, owner] = [await apiOf(served.viewer), await apiOf(served.owner)];
  const { id } = await owner("POST /sessions", {});
  const get = (path: string) => `GET /sessions/${id}/files?path=${encodeURIComponent(path)}`;
  assertEquals(await api(get("src/a.ts")), { kind: "file", text: "export {};\n", language: "ts" });
  assertEquals((await api(get(`${cwd}/src/../src/a.ts`))).text, "export {};\n");
  const { kind, mime } = await api(get("picture.txt"));
  assertEquals([kind, mime], ["image", "image/png"]);
  const { text, truncated } = await api(get("long.txt"));
  assertEquals([text.length, truncated], [512 * 1024, true]);
  assertEquals((await api(get(".env.example"))).text, "TOKEN=");
  const { entries } = await api(`GET /sessions/${id}/files`);
  const names = entries.map(({ name }: Answer) => name);
  assertEquals(names, [
    "asked",
    "deploy",
    "notes",
    "src",
    ".env.example",
    "data.bin",
    "long.txt",
    "picture.txt",
  ]);
  assertEquals((await api(get("deploy"))).entries, []);

  const refused: readonly (readonly [path: string, why: string])[] = [
    ["secret/plan.txt", "a rule hides it"],
    ["asked/plan.txt", "refused by the permission policy"],
    [".env", "it may hold keys"],
    ["env-link.txt", "it may hold keys"],
    ["deploy/server.pem", "it may hold keys"],
    [".git/config", "it may hold keys"],
    [".git", "it may hold keys"],
    ["link.txt", "it is outside the workspace"],
    ["linked/outside.txt", "it is outside the workspace"],
    ["../home/outside.txt", "it is outside the workspace"],
    ["src/../../home/outside.txt", "it is outside the workspace"],
    [`${home}/outside.txt`, "it is outside the workspace"],
    ["~/.ssh/id_rsa", "it is outside the workspace"],
    ["/etc/passwd", "it is outside the workspace"],
    ["/proc/self/environ", "it shows the inside of a running process"],
    ["..", "it is outside the workspace"],
    ["src/a.ts\0.png", "NUL"],
    ["%2e%2e/home/outside.txt", "does not exist"],
    ["src\\..\\..\\home\\outside.txt", "does not exist"],
    ["none.txt", "does not exist"],
    ["data.bin", "it is a binary file of 3 bytes"],
    ["x".repeat(4097), "it has more than 4096"],
    ...(Deno.build.os === "windows" ? [] : [["pipe", "it is a named pipe"] as const]),
  ];
  for (const [path, why] of refused) {
    const [status, message] = await api.refusal(get(path));
    assertEquals([path, status], [path, 400]);
    assertStringIncludes(message, why, path);
    assert(path.includes(home) || !message.includes(home), message);
  }
  await owner(`POST /sessions/${id}/messages`, { id: newId(), text: "hello" });
  await idle(served, id);
  await owner(`POST /sessions/${id}/close`);
  assertEquals(await api.refusal(get("src/a.ts")), [409, `Cannot do that: session ${id} is not open`]);
});

Deno.test("the first part of a session of 10,000 messages comes at once", async () => {
  await using served = await serveHere();
  const { stage: { cwd, home } } = served;
  const directory = `${projectDir(home, cwd)}/sessions`;
  await Deno.mkdir(directory, { recursive: true });
  const start = { v: 1, seq: 1, time: "", type: "session.start", session: "long-one", version: "0", cwd };
  await Deno.writeTextFile(`${directory}/long-one.jsonl`, longLog(`${JSON.stringify(start)}\n`));
  const api = await apiOf(served.viewer);
  const { events, first } = await api("GET /sessions/long-one/events?limit=100");
  assertEquals([events.at(-1).type, first, events.length <= 100], ["turn.end", false, true]);
  const { events: earlier } = await api(`GET /sessions/long-one/events?limit=100&before=${events[0].seq}`);
  assertEquals(earlier.at(-1).seq, events[0].seq - 1);
  const [entry] = (await api("GET /sessions")).sessions;
  assertEquals([entry.state, entry.live], ["done", false]);
});

Deno.test("a message that is sent again at random moments, and to a later server, counts once", async () => {
  const random = randomFrom(77);
  const stage = await liveStage({ replies: Array.from({ length: 400 }, () => say("ok")) });
  await using _ = stage;
  const wanted: string[] = [];
  let id = "";
  const rounds = 10;
  for (let round = 0; round < rounds; round++) {
    // A server that has nothing in memory.
    await stage.sessions.close();
    await using served = await serveHere({ stage });
    const api = await apiOf(served.owner);
    id ||= (await api("POST /sessions", {})).id;
    const sent: Promise<Answer>[] = [];
    for (let count = 0; count < 200 / rounds; count++) {
      const isRepeat = wanted.length > 0 && random() < 0.5;
      const messageId = isRepeat ? wanted[Math.floor(random() * wanted.length)] : newId();
      if (messageId && !isRepeat) wanted.push(messageId);
      const request = () =>
        api(`POST /sessions/${id}/messages`, {
          id: messageId,
          text: `do ${messageId}`,
          steer: random() < 0.3,
        });
      // At once, together, and after others.
      sent.push(request());
      if (random() < 0.5) sent.push(request());
      if (random() < 0.3) await Promise.all(sent);
    }
    await Promise.all(sent);
    await idle(served, id);
  }
  await stage.sessions.close();
  await using served = await serveHere({ stage });
  const { events } = await (await apiOf(served.viewer))(`GET /sessions/${id}/events?limit=2000`);
  const ids = events.flatMap((event: Answer) => event.type === "message.user" && event.id ? [event.id] : []);
  assertEquals(ids.toSorted(), wanted.toSorted());
});
