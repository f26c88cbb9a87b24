import { type Schema, Validator } from "@cfworker/json-schema";

import { openApiText, webApiPage } from "../../../../scripts/gen_web_api.ts";
import { say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
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
    const { responses } = operationOf(method, path);
    const declared = responses[response.status] ?? responses.default;
    const body = await response.json();
    const schema: Schema = declared.content["application/json"].schema;
    const { valid, errors } = new Validator(schema, "2020-12", false).validate(body);
    assert(valid, `${request}: ${JSON.stringify(errors)}\n${JSON.stringify(body).slice(0, 2000)}`);
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

/** Waits until no message of a session runs or waits. */
async function idle({ stage: { sessions } }: ServedHere, id: string): Promise<void> {
  const live = sessions.get(id);
  assert(live, id);
  while (live.submissions.busy) {
    await new Promise<void>((resolve) => {
      const detach = live.attach({ name: "test", event() {}, queued: () => [detach(), resolve()] });
      if (!live.submissions.busy) [detach(), resolve()];
    });
  }
}

let made = 0;
const newId = () => `message-${String(++made).padStart(6, "0")}`;

Deno.test("a session is begun, listed, read, renamed, copied, closed, opened and deleted", async () => {
  await using served = await serveHere({ replies: [say("first"), say("second")], files: { "a/x.txt": "x" } });
  const { stage: { cwd } } = served;
  const api = await apiOf(served.owner);
  for (
    const [directory, why] of [
      ["work", "the path is relative"],
      [`${cwd}/none`, "there is no such directory"],
      [`${cwd}/a/x.txt`, "there is no such directory"],
    ]
  ) {
    const refusal = await api.refusal("POST /sessions", { directory });
    assertEquals(refusal, [400, `Cannot work in "${directory}": ${why}`]);
  }
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
  await api(`PATCH /sessions/${id}`, { title: "Renamed in its file" });
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
