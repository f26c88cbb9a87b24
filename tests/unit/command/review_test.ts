/** `/review` in the session of a chat: its options, its saved reviews, and the context of the next turn. */
import { executeLine } from "../../../src/command/headless.ts";
import { allCommands } from "../../../src/command/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { reportResult } from "../../../src/frontend/mod.ts";
import { say } from "../../support/agent_fixture.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { CommandFixture, type CommandFixtureOptions } from "../../support/command_fixture.ts";

async function git(dir: string, ...args: string[]): Promise<void> {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
  const { success, stderr } = await new Deno.Command("git", { args: [...identity, ...args], cwd: dir })
    .output();
  assert(success, new TextDecoder().decode(stderr));
}

/** The answers of the agents. */
interface Script {
  find: readonly {
    readonly path: string;
    readonly line: number;
    readonly quote: string;
    readonly title: string;
  }[];
  holds: boolean;
  requests: string[];
  before?: Promise<unknown>;
  /** Called when a request waits for `before`. */
  waits?: () => void;
}

type Replies = NonNullable<CommandFixtureOptions["replies"]>;

function repliesOf(script: Script): Replies {
  const reply: Replies[number] = async function* (signal, request) {
    const text = String(request.messages.at(-1)?.content ?? "");
    script.requests.push(text);
    if (script.before) {
      script.waits?.();
      const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await Promise.race([script.before, stopped]);
      signal.throwIfAborted();
    }
    const found = script.find.map((each) => ({
      ...each,
      end_line: each.line,
      priority: "P1",
      confidence: 0.8,
      body: "It fails.",
    }));
    const ids = Array.from({ length: 30 }, (_, at) => at + 1);
    const decisions = ids.map((id) => ({ id, holds: script.holds, reason: "seen", confidence: 0.9 }));
    yield { type: "usage", usage: { inputTokens: 10, cachedTokens: 0, outputTokens: 5, reasoningTokens: 0 } };
    yield* say(JSON.stringify(text.includes("Try to refute") ? { decisions } : { findings: found }));
  };
  return Array.from({ length: 60 }, () => reply);
}

/** A chat in a repository with one commit and an uncommitted line. */
async function chatOf(script: Script, options: CommandFixtureOptions = {}): Promise<CommandFixture> {
  const chat = await CommandFixture.open({ ...options, replies: repliesOf(script) });
  await git(chat.dir, "init", "-q", "-b", "main");
  await chat.write("a.js", "one();\ntwo();\n");
  await git(chat.dir, "add", ".");
  await git(chat.dir, "commit", "-q", "-m", "one");
  await chat.write("a.js", "one();\ntwo();\nthree();\n");
  return chat;
}

const THREE = { path: "a.js", line: 3, quote: "three();", title: "Three is not defined" };

function reviewsOf({ home }: CommandFixture): string[] {
  const files: string[] = [];
  for (const { name } of Deno.readDirSync(`${home}/projects`)) {
    const directory = `${home}/projects/${name}/reviews`;
    try {
      files.push(...[...Deno.readDirSync(directory)].map((file) => `${directory}/${file.name}`));
    } catch { /* a project without reviews */ }
  }
  return files;
}

Deno.test("/review shows its findings as Markdown, and the model knows them in the next turn", async () => {
  const script: Script = { find: [THREE], holds: true, requests: [] };
  await using chat = await chatOf(script);
  await chat.type("/review the $& calls");
  assertStringIncludes(script.requests[0] ?? "", "the $& calls");
  const shown = chat.takeSaid();
  assertMatch(
    shown,
    /^\*\*Review of uncommitted changes\*\*\n\n1\. \*\*P1\*\* `a\.js:3` Three is not defined/,
  );
  assertEquals(chat.sent, []);
  await chat.type("fix 1");
  const { messages } = (await chat.session()).controller.recorder;
  const context = messages.findLast(({ role, content }) =>
    role === "user" && String(content).startsWith("<review>")
  );
  assertStringIncludes(String(context?.content), "1. P1 a.js:3\n   Three is not defined");
  assertEquals(String(context?.content).match(/<\/review>/g)?.length, 1);
});

Deno.test("/review --incremental reviews what is new, and marks earlier findings as fixed or known", async () => {
  const script: Script = { find: [THREE], holds: true, requests: [] };
  await using chat = await chatOf(script);
  await chat.type("/review --incremental");
  assertStringIncludes(chat.takeSaid(), "There is no earlier review of this change");
  const first = script.requests.length;
  await chat.type("/review --incremental");
  assertEquals(script.requests.length, first);
  assertStringIncludes(chat.takeSaid(), "(known)");

  // Another key has another saved review.
  await chat.type("/review --commit HEAD --incremental");
  assertStringIncludes(chat.takeSaid(), "There is no earlier review of this change");
  const [uncommitted = "", commit = ""] = [`"key":"uncommitted"`, `"key":"commit `].map((key) =>
    reviewsOf(chat).find((file) => Deno.readTextFileSync(file).includes(key))
  );
  for (const file of [uncommitted, commit]) assertEquals((Deno.statSync(file).mode ?? 0) & 0o777, 0o600);

  script.find = [];
  await chat.write("a.js", "one();\ntwo();\nfour();\n");
  await chat.type("/review --incremental --uncommitted");
  assertStringIncludes(chat.takeSaid(), "- fixed: P1 `a.js:3` Three is not defined");

  for (
    const damage of [
      "",
      "{",
      "[]",
      '{"version":1,"key":"uncommitted","findings":[{}]}',
      Deno.readTextFileSync(commit),
    ]
  ) {
    await Deno.writeTextFile(uncommitted, damage);
    const before = script.requests.length;
    await chat.type("/review --incremental --uncommitted");
    assertStringIncludes(
      chat.takeSaid(),
      `Cannot use the earlier review ${uncommitted}: `,
      damage.slice(0, 60),
    );
    assert(script.requests.length > before);
  }
});

Deno.test("reviews at the same time leave one whole saved review, and old ones are removed", async () => {
  const script: Script = { find: [THREE], holds: true, requests: [] };
  await using chat = await chatOf(script);
  await chat.type("/review");
  const [file = ""] = reviewsOf(chat);
  const directory = file.replace(/\/[^/]*$/, "");
  for (let at = 0; at < 120; at++) {
    await Deno.writeTextFile(`${directory}/old${at}.json`, "{}");
    await Deno.utime(`${directory}/old${at}.json`, 1, 1 + at);
  }
  await Promise.all(["/review", "/review", "/review --whole"].map((line) => chat.type(line)));
  assertEquals(JSON.parse(Deno.readTextFileSync(file)).findings.length, 1);
  const left = [...Deno.readDirSync(directory)].map(({ name }) => name);
  assertEquals([left.length, left.includes("old119.json"), left.includes("old0.json")], [100, true, false]);
});

Deno.test("/review that is stopped shows what was found and keeps the saved review", async () => {
  const script: Script = { find: [THREE], holds: true, requests: [] };
  await using chat = await chatOf(script);
  await chat.type("/review");
  const [file = ""] = reviewsOf(chat);
  const saved = Deno.readTextFileSync(file);
  chat.takeSaid();
  script.before = new Promise(() => {});
  const waiting = Promise.withResolvers<void>();
  script.waits = waiting.resolve;
  const stop = new AbortController();
  const command = (await allCommands(chat.scope)).find(({ name }) => name === "review");
  const running = command?.run(chat, "", stop.signal);
  await Promise.race([waiting.promise, running]);
  stop.abort("interrupted");
  await running;
  assertStringIncludes(chat.takeSaid(), "The review is incomplete: it was interrupted");
  assertEquals(Deno.readTextFileSync(file), saved);
});

Deno.test("/review in a run counts the cost of its agents, and an early end has an exit code", async () => {
  const script: Script = { find: [THREE], holds: true, requests: [] };
  await using chat = await chatOf(script);
  const session = await chat.session();
  const whole = await executeLine("/review", session, {});
  assert(!whole.input);
  assertEquals([whole.report.early, whole.report.usage.outputTokens], [undefined, 10]);
  script.before = new Promise(() => {});
  const waiting = Promise.withResolvers<void>();
  script.waits = waiting.resolve;
  const stop = new AbortController();
  const running = executeLine("/review", session, { signal: stop.signal });
  await Promise.race([waiting.promise, running]);
  stop.abort("interrupted");
  const stopped = await running;
  assert(!stopped.input);
  const reason = "The review is incomplete: it was interrupted";
  assertEquals(stopped.report.early, { exit: "interrupt", reason });
  const { exitCode, detail } = reportResult(stopped.report, session);
  assertEquals([exitCode, detail], [130, reason]);
});

Deno.test("/review names bad options, a missing repository and an empty change, and asks no model", async () => {
  const script: Script = { find: [], holds: true, requests: [] };
  await using chat = await chatOf(script, { locale: "zh-CN" });
  const cases: readonly (readonly [string, string, boolean?])[] = [
    ["--base main --commit HEAD", "Cannot review --base and --commit together"],
    ["--head main", "Cannot use --head without --base or --pr"],
    ["--base", "Cannot review with --base: its value is missing"],
    ["--base --whole", "Cannot review with --base: its value is missing"],
    ["--base=", "Cannot review with --base: its value is missing"],
    ["--whole=yes", "Cannot review with --whole: there is no such option"],
    ["--force", "Cannot review with --force: there is no such option"],
    ["--pr none", 'Cannot review the pull request "none"'],
    ["--commit nowhere", "Cannot read the revision"],
    ["--base=--all", "Cannot"],
  ];
  for (const [argument, text] of cases) {
    const error = await assertRejects(() => chat.type(`/review ${argument}`), ReasonixError);
    assertStringIncludes(error.message, text, argument);
    assertEquals(typeof error.remedy, "string", argument);
  }
  await chat.type("/review --base HEAD --head HEAD");
  assertMatch(chat.takeSaid(), /没有可审查的改动$/);
  await Deno.remove(`${chat.dir}/.git`, { recursive: true });
  await assertRejects(() => chat.type("/review"), ReasonixError, "git repository");
  assertEquals(script.requests, []);
});
