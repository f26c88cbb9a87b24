/** A stored session that has every kind of row of the web page, with texts that a test chooses. */
import type { NewEvent } from "../../src/core/mod.ts";
import { say } from "./agent_fixture.ts";
import type { ServedHere } from "./web.ts";

const USAGE = { inputTokens: 1200, cachedTokens: 900, outputTokens: 80, reasoningTokens: 40 };
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The first reply of the model, for the session that these events follow. */
export const FIRST_REPLY = say("The session begins.");

/** Events of one turn; `text` gives the text for each place that shows one. */
function everyRow(text: (place: string) => string): NewEvent[] {
  const call = (id: string, name: string, written: object) =>
    ({
      type: "tool.start",
      readOnly: false,
      summary: text("summary"),
      call: { id, name, arguments: JSON.stringify(written) },
    }) as const;
  const end = (callId: string, name: string, more: object = {}) =>
    ({
      type: "tool.end",
      callId,
      name,
      outcome: "ok",
      content: text("output"),
      summary: text("result"),
      durationMs: 5,
      ...more,
    }) as const;
  const diff = `@@ -1,2 +1,2 @@\n-${line(text("removed"))}\n+${line(text("added"))}\n same\n`;
  const change = { path: text("path"), change: "updated", added: 1, removed: 1, diff };
  const agent = { id: "agent-1", agent: text("agent"), callId: "c5" } as const;
  return [
    { type: "turn.start", turn: 2 },
    {
      type: "message.user",
      content: text("question"),
      origin: "user",
      images: [{ mime: "image/png", data: PIXEL }],
    },
    {
      type: "message.end",
      step: 1,
      model: text("model"),
      content: text("answer"),
      reasoning: text("thinking"),
      usage: USAGE,
      durationMs: 5,
    },
    call("c1", "read_file", { path: text("path") }),
    end("c1", "read_file"),
    call("c2", "edit_file", { path: text("path"), old_string: "a", new_string: text("added") }),
    end("c2", "edit_file", { changes: [change] }),
    call("c3", "bash", { command: text("command") }),
    end("c3", "bash", { outcome: "error", exitCode: 1 }),
    call("c4", `mcp__${text("server")}`, { query: text("query") }),
    end("c4", `mcp__${text("server")}`, { title: text("title"), outcome: "blocked", denied: true }),
    {
      type: "todo.update",
      items: [{ content: text("todo"), status: "completed" }, {
        content: text("todo"),
        status: "in_progress",
      }, { content: text("todo"), status: "pending" }],
    },
    call("c5", "task", { prompt: text("prompt"), description: text("description") }),
    {
      type: "subagent.start",
      ...agent,
      session: "s",
      model: "m",
      prompt: text("prompt"),
      description: text("description"),
    },
    {
      type: "subagent.end",
      ...agent,
      outcome: "ok",
      summary: text("summary"),
      steps: 1,
      usage: USAGE,
      durationMs: 5,
    },
    end("c5", "task"),
    { type: "plan.change", state: "proposed", plan: text("plan") },
    {
      type: "goal.change",
      goal: "g",
      state: "active",
      objective: text("objective"),
      turns: 0,
      leg: { turns: 0, durationMs: 0, cost: 0 },
      idle: 0,
    },
    {
      type: "hook",
      event: text("event"),
      command: text("command"),
      outcome: "failed",
      durationMs: 5,
      text: text("hook"),
    },
    { type: "mcp.server", server: text("server"), state: "failed", detail: text("detail") },
    { type: "lsp.server", server: text("server"), state: "stopped", detail: text("detail") },
    { type: "job.change", job: "j", command: text("command"), status: "exited" },
    {
      type: "verification",
      round: 1,
      command: text("command"),
      outcome: "failed",
      exitCode: 1,
      text: text("verification"),
      durationMs: 5,
    },
    {
      type: "compaction",
      reason: text("reason"),
      from: 1,
      to: 2,
      digest: text("digest"),
      tokensBefore: 9000,
      tokensAfter: 900,
    },
    { type: "notice", level: "warning", code: "x", text: text("notice") },
    { type: "error", code: "x", text: text("error") },
    { type: "session.rename", title: line(text("title")) },
    {
      type: "message.end",
      step: 2,
      model: "m",
      content: "This is the end.",
      interrupted: true,
      usage: USAGE,
      durationMs: 5,
    },
    {
      type: "turn.end",
      turn: 2,
      reason: "done",
      answer: "",
      steps: 2,
      usage: USAGE,
      durationMs: 1500,
      cost: { amount: 0.01, currency: "USD" },
    },
  ] as NewEvent[];
}

function line(text: string): string {
  return text.replaceAll("\n", " ");
}

/** Makes a session with one turn of the program, and adds a turn with every row. Returns its id. */
export async function storeEveryRow(
  { owner, stage }: ServedHere,
  text: (place: string) => string,
): Promise<string> {
  const { id } = await (await owner("/api/v1/sessions", { json: { directory: stage.cwd } })).json();
  const live = stage.sessions.get(id);
  if (!live?.assembly) throw new Error("The session is not open");
  await owner(`/api/v1/sessions/${id}/messages`, { json: { id: crypto.randomUUID(), text: "Begin." } });
  while (!live.assembly.session.eventsAfter(0).some(({ type }) => type === "turn.end")) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { path } = live.assembly.session.paths;
  await live.end();
  const stored = await Deno.readTextFile(path);
  let { seq } = JSON.parse(stored.trimEnd().split("\n").at(-1) ?? "{}") as { seq: number };
  const time = new Date().toISOString();
  const lines = everyRow(text).map((event) => `${JSON.stringify({ v: 1, seq: ++seq, time, ...event })}\n`);
  await Deno.writeTextFile(path, lines.join(""), { append: true });
  return id;
}
