/** A hostile change in process: what the model receives, and that nothing of the change runs. */
import { assemble } from "../../../src/features/mod.ts";
import { type Chunk, NO_USAGE } from "../../../src/core/mod.ts";
import { Git, readChange } from "../../../src/git/mod.ts";
import type { ModelRequest, Provider } from "../../../src/provider/mod.ts";
import { type ReviewFinding, type ReviewReport } from "../../../src/review/findings.ts";
import { formatReview, FORMATS } from "../../../src/review/formats.ts";
import { review } from "../../../src/review/review.ts";
import { loadTrustedConfig } from "../../../src/run/mod.ts";
import { call, say } from "../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import {
  BASE_RULE,
  DOTENV_SECRET,
  HOSTILE_CALLS,
  makeHostileChange,
  ORDER,
  outsideOfFrames,
  PRIVATE,
  ranPrograms,
} from "./hostile_change.ts";

Deno.test("a hostile change runs nothing, gives no order and shows no secret", async () => {
  await using dir = await makeTempDir();
  const hostile = await makeHostileChange(`${dir.path}/work`, `${dir.path}/markers`);
  const requests: ModelRequest[] = [];
  const provider: Provider = {
    name: "scripted",
    model: { provider: "scripted", id: "m", contextWindow: 0, vision: false },
    async *stream(request) {
      requests.push({ ...request, messages: [...request.messages] });
      yield* answer(request);
    },
  };
  const flags = { permissions: { deny: ["Read(src/private.ts)"] } };
  const paths = { cwd: hostile.dir, home: `${dir.path}/home`, env: (name: string) => Deno.env.get(name) };
  await Deno.mkdir(paths.home);
  await using assembly = await assemble({
    paths,
    loaded: await loadTrustedConfig({ ...paths, flags }, { ignoreUntrusted: true }),
    inMemory: true,
    provider,
    onAsk: "deny",
    permissionMode: "read-only",
    ignoreUntrusted: true,
  });
  const change = await readChange(Git.find(hostile.dir), hostile.dir, {
    kind: "base",
    base: "main",
    head: "head",
  });
  const about = {
    title: `${ORDER}\nEnd of the material.\n${ORDER}`,
    body: `${ORDER}\r\nEnd of the material.\r\n${ORDER}`,
  };
  const report = await review(assembly, { change, focus: "", about }, {
    signal: AbortSignal.timeout(60_000),
    report: () => {},
  });
  assertEquals(ranPrograms(hostile), []);
  assert(requests.length > 4 && requests.length <= 62, `${requests.length} requests`);
  for (const { prefix, messages } of requests) {
    const system = JSON.stringify(prefix);
    assert(
      !system.includes(ORDER) && system.includes("defects in changes"),
      "the system prompt is that of the program",
    );
    for (const { role, content } of messages) {
      const text = String(content);
      for (const secret of [DOTENV_SECRET, PRIVATE, "root:"]) {
        assert(!text.includes(secret), `${secret}: ${text}`);
      }
      if (role === "user") assertEquals(outsideOfFrames(text), []);
    }
  }
  assert(JSON.stringify(requests[0]).includes(BASE_RULE), "the instructions of the base count");
  // The one true finding of the change survives all of it.
  assertEquals(report.findings.map(({ path, line }) => `${path}:${line}`), ["src/code.ts:2"]);
  const skipped = new Map(report.skipped.map(({ path, reason }) => [path, reason]));
  assertEquals(skipped.get(".env"), "it may hold keys");
  assertEquals(skipped.get("src/table.ts"), undefined, "it is in no generated file any more");
  assertEquals(report.incomplete, undefined);
  const results = requests.flatMap(({ messages }) => messages.filter(({ role }) => role === "tool"));
  assert(
    results.some(({ content }) => String(content).includes("return n / 3;")),
    "the tools read the objects",
  );
});

Deno.test("no format lets a name or a text of a hostile change control a terminal, a runner or a reader", async () => {
  await using dir = await makeTempDir();
  const { names } = await makeHostileChange(`${dir.path}/work`, `${dir.path}/markers`);
  const harm =
    "\x1b]0;evil\x07\r\n::error::evil\n##[command]evil\n\u202e\u2028::add-mask::evil %0A::warning::evil";
  const findings = names.map((path, at): ReviewFinding => ({
    ...{ path: `${path}${at % 2 === 0 ? "" : harm}`, line: 1, end_line: 1, priority: "P1", confidence: 1 },
    ...{ title: harm, body: harm, suggestion: harm, quote: harm, id: `${at}`.padStart(16, "0"), agent: harm },
    state: "new",
  }));
  const skipped = names.map((path) => ({ path, reason: harm }));
  const report: ReviewReport = {
    ...{ version: 1, target: harm, key: "base main", findings, skipped, incomplete: harm, model: harm },
    dropped: { malformed: 0, misplaced: 0, outside: 0, refuted: 0, duplicate: 0 },
    ...{ reviewed: 1, hunks: [], usage: NO_USAGE, duration_ms: 0 },
  };
  for (const format of FORMATS) {
    const text = formatReview(report, format);
    // deno-lint-ignore no-control-regex
    assertEquals(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]/.exec(text)?.[0], undefined, format);
    assertEquals(/##\[|##vso/.exec(text)?.[0], undefined, format);
    const commands = text.split("\n").filter((line) => /^\s*::/.test(line));
    const plain = commands.filter((line) =>
      !/^::(?:error|warning|notice) (?:[\w]+=[^:,\r\n]*,?)+::[^\r\n]*$/.test(line)
    );
    assertEquals(plain, [], format);
    const most = format === "github" ? names.length + 3 : 0;
    assert(commands.length <= most, `${format}: ${commands.length} commands`);
    if (["json", "sarif", "gitlab"].includes(format)) JSON.parse(text);
  }
});

/** One true finding, and many whose correction would repeat texts of the change. */
function answer({ messages }: ModelRequest): Iterable<Chunk> {
  const texts = messages.map(({ content }) => String(content));
  const prompt = texts.find((text) => /Find the defects|Another reviewer/.test(text)) ?? "";
  if (prompt.includes("Another reviewer")) {
    const ids = [...prompt.matchAll(/^\| \{"id":(\d+)/gm)].map(([, id]) => Number(id));
    const decisions = ids.map((id) => ({ id, holds: true, reason: "It does", confidence: 0.9 }));
    return say(JSON.stringify({ decisions }));
  }
  const isFirst = prompt.includes("@@ modified src/code.ts");
  if (isFirst && !messages.some(({ role }) => role === "assistant")) {
    const calls = HOSTILE_CALLS.map(([name, args], at) => call(`c${at}`, name, args));
    return [...calls, { type: "done", reason: "tool_calls" }];
  }
  const about = { priority: "P1", confidence: 0.9, body: "It is wrong." };
  const paths = [...prompt.matchAll(/^@@ added (.+)$/gm)].slice(0, 8).map(([, path = ""]) => path);
  const misplaced = paths.map((path, at) => (
    { ...about, path, line: 1, end_line: 1, title: `Wrong ${at}`, quote: "not.there()" }
  ));
  const half = { path: "src/code.ts", line: 2, end_line: 2, quote: "return n / 3;", title: "Not the half" };
  return say(JSON.stringify({ findings: [...misplaced, ...(isFirst ? [{ ...about, ...half }] : [])] }));
}
