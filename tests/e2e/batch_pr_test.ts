/** `reasonix batch pr` with the built program, killed between its steps. */
import { manifestOf, ResultsDir, type TaskResult } from "../../src/batch/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const NO_TOKENS = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

function result(id: string, more: Partial<TaskResult> = {}): TaskResult {
  return {
    id,
    ok: true,
    reason: "done",
    answer: "Greets @everyone, see #1\n\n/merge\n/usr/bin/true",
    session: id,
    model: "mock-1",
    usage: NO_TOKENS,
    cost: null,
    duration_ms: 1,
    checks: [{ command: "deno test", ok: true, exit_code: 0, output: "" }],
    patch: null,
    ...more,
  };
}

/** A program of a service, which prints `$listed` for a branch that has a request. */
interface Client {
  readonly program: string;
  readonly host: string;
  readonly listed: string;
  readonly url: string;
  /** The text that it gets, from its arguments on. */
  readonly given: (title: string, body: string) => string;
}

const CLIENTS: readonly Client[] = [
  {
    program: "gh",
    host: "github.com",
    listed: '"url":"https://github.com/me/hello/pull/\'"$head"\'","headRepositoryOwner":{"login":"me"}',
    url: "https://github.com/me/hello/pull/",
    given: (title, body) => `--title=${title} --body-file -\n${body}`,
  },
  {
    program: "glab",
    host: "gitlab.com",
    listed: '"web_url":"https://gitlab.com/me/hello/-/merge_requests/\'"$head"\'",' +
      '"source_project_id":7,"target_project_id":7',
    url: "https://gitlab.com/me/hello/-/merge_requests/",
    given: (title, body) => `--title=${title} --description=${body}`,
  },
];

for (const client of CLIENTS) {
  const name =
    `batch pr opens one request of ${client.program} for each patch of done tasks, also when it is killed`;
  Deno.test(name, () => openRequests(client));
}

async function openRequests({ program, host, listed, url, given }: Client): Promise<void> {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:9"));
  const { dir, home } = world;
  const env = { GIT_CONFIG_GLOBAL: `${home}/gitconfig`, GIT_CONFIG_NOSYSTEM: "1" };
  const git = async (...args: string[]) => {
    const { code, stdout, stderr } = await new Deno.Command("git", { args, cwd: dir, env }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  };
  const remote = `${home}/hello.git`;
  await Deno.writeTextFile(
    env.GIT_CONFIG_GLOBAL,
    `[user]\nname = Test\nemail = t@example.com\n[url "${remote}"]\ninsteadOf = https://${host}/me/hello\n`,
  );
  await git("init", "-qb", "main");
  await world.write("greet.ts", "greet();\n");
  await git("add", ".");
  await git("commit", "-qm", "Begin");
  await git("init", "-q", "--bare", remote);
  await git("remote", "add", "origin", `https://${host}/me/hello`);
  await git("push", "-q", "origin", "main");
  const base = (await git("rev-parse", "HEAD")).trim();

  const ids = ["one", "two/2", "open", "red", "idle", "late"];
  const tasks = ids.map((id) => ({ id, prompt: id, dir, checks: [] }));
  const results = ResultsDir.open(`${home}/results`, manifestOf({ tasks, text: "", file: "/x/tasks.jsonl" }));
  const put = async (id: string, more: Partial<TaskResult> = {}) => {
    await world.write("greet.ts", `greet("${id}");\n`);
    const patch = `${home}/patch`;
    await Deno.writeTextFile(patch, await git("diff"));
    await git("checkout", "-q", ".");
    const session = `${home}/session`;
    const event = { v: 1, seq: 2, time: "2026-03-01T09:30:00.000Z", type: "turn.start", turn: 1 };
    const said = { ...event, seq: 3, type: "message.user", origin: "user", content: `Greet ${id}\nby name` };
    await Deno.writeTextFile(session, `${JSON.stringify(event)}\n${JSON.stringify(said)}\n`);
    const run = { started: "2026-03-01T09:30:00.000Z", base };
    results.put(ids.indexOf(id), run, result(id, more), more.ok === undefined ? { patch, session } : {});
  };
  await put("one");
  await put("two/2");
  await put("red", { ok: false, reason: "check" });
  results.put(ids.indexOf("idle"), { started: "2026-03-01T09:30:00.000Z", base }, result("idle"), {});

  // The service knows the branches that were created; the texts are for this test.
  const bin = `${home}/bin`;
  await Deno.mkdir(bin);
  const answers = async (onCreate: string) =>
    await Deno.writeTextFile(
      `${bin}/${program}`,
      `#!/bin/sh
for word in "$@"; do case "$before" in --head | --source-branch) head="$word";; esac; before="$word"; done
if [ "$2" = list ]; then
  if grep -qx "$head" "${home}/created"
  then echo '[{${listed}}]'
  else echo "[]"; fi; exit
fi
${onCreate}\n`,
      { mode: 0o755 },
    );
  const create = `{ echo "$@"; cat; } >> "${home}/texts"; echo "$head" >> "${home}/created"`;
  await Deno.writeTextFile(`${home}/created`, "");
  const path = `${bin}:${Deno.env.get("PATH")}`;
  const run = (...words: string[]) => world.run(["batch", "pr", ...words], { env: { ...env, PATH: path } });
  const unasked = await run(results.path);
  assertEquals(unasked.code, 2);
  assertStringIncludes(unasked.stderr, "add --yes");

  await answers("kill -9 $PPID");
  assert((await run(results.path, "--yes")).code !== 0);
  assertEquals(
    (await git("--git-dir", remote, "branch", "--list", "reasonix/*")).trim().split("\n").length,
    1,
  );
  await answers(`${create}; kill -9 $PPID`);
  assert((await run(results.path, "--yes")).code !== 0);
  await answers(`${create}; echo "${url}$head"`);
  const done = await run(results.path, "--yes", "--rate", "1000");
  assertEquals(done.code, 0, done.stderr);
  const lines = done.stdout.trim().split("\n");
  const created = (await Deno.readTextFile(`${home}/created`)).trim().split("\n");
  assertEquals(lines, [`one: ${url}${created[0]}`, `two/2: ${url}${created[1]}`]);
  const left = ["open: left out, it has no result", "red: left out, a check failed"];
  for (const line of [...left, "idle: left out, nothing was changed", "late: left out, it has no result"]) {
    assertStringIncludes(done.stderr, line);
  }
  assertStringIncludes(done.stderr, "1 opened, 1 were there, 0 failed");
  assertEquals(created.map((name) => name.replace(/-[0-9a-f]{6,}/g, "")), ["reasonix/one", "reasonix/two_2"]);
  const texts = await Deno.readTextFile(`${home}/texts`);
  assertStringIncludes(
    texts,
    given("one: Greet one", "Greets @\u200beveryone, see #\u200b1\n\n/\u200bmerge\n/usr/bin/true\n"),
  );
  assertStringIncludes(texts, "```text\nGreet one\nby name\n```");
  assertStringIncludes(texts, "```sh\ndeno test\n```");
  assertStringIncludes(texts, "Task `two/2` of `tasks.jsonl`, done with Reasonix and `mock-1`.");
  assertEquals(await git("--git-dir", remote, "show", `${created[1]}:greet.ts`), 'greet("two/2");\n');
  assertEquals(await git("status", "--porcelain"), "");

  const wrong = await run(results.path, "--rate", "0");
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.stderr, "it is not a number above 0");
}
