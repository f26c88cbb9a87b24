/** Scripts that were written for `claude -p`, with this program under that name on the path. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, finished, makeWorld, mockConfig } from "../support/program.ts";
import { needs } from "../support/tools.ts";

interface Script {
  readonly name: string;
  readonly script: string;
  /** A part of the request to the model. */
  readonly asked: string;
  readonly stdout?: string;
}

const ANSWER = "fix: add two numbers";

const SCRIPTS: readonly Script[] = [
  {
    name: "a log is piped into a question",
    script: 'cat error.log | claude -p "Diagnose this error"',
    asked: "TypeError: größe",
  },
  {
    name: "a loop feeds its prompt file",
    script: "for i in 1 2; do cat PROMPT.md | claude -p --dangerously-skip-permissions; done",
    asked: "Study the plan",
    stdout: `${ANSWER}\n${ANSWER}\n`,
  },
  {
    name: "the prompt comes on standard input, named or not",
    script: "claude --print --output-format text < PROMPT.md && claude -p - < PROMPT.md",
    asked: "Study the plan",
    stdout: `${ANSWER}\n${ANSWER}\n`,
  },
  {
    name: "a commit-message hook",
    script: "git add add.js && printf '#!/bin/sh\\n" +
      'git diff --cached | claude -p "Write a commit message" --model haiku --output-format text > "$1"\\n\' ' +
      "> .git/hooks/prepare-commit-msg && chmod +x .git/hooks/prepare-commit-msg && " +
      "git commit -q --no-edit && git log -1 --format=%s",
    asked: "+const add = (a, b) => a + b;",
  },
  {
    name: "a review of a diff in continuous integration",
    script: 'git diff --no-index /dev/null add.js | claude -p "Review this change" ' +
      '--allowedTools "Bash(git:*) Read" --disallowedTools "Edit,Write" --max-turns 5 --permission-mode plan',
    asked: "Review this change",
  },
  {
    name: "an action that streams from a named pipe",
    script: "mkfifo in && (cat PROMPT.md > in &) && claude -p --verbose --output-format stream-json " +
      "--mcp-config '{\"mcpServers\":{}}' --allowedTools Edit,Read,Write --max-turns 30 < in | " +
      'tail -1 | grep -o \'"subtype":"success"\'',
    asked: "Study the plan",
    stdout: '"subtype":"success"\n',
  },
  {
    name: "tools at the end of the line, one word each",
    script:
      'claude -p "build phase 1" --output-format text --permission-mode default --allowedTools Edit Bash',
    asked: "build phase 1",
  },
  {
    name: "an editor's plugin asks without tools",
    script: 'claude -p "Explain add" --system-prompt "You are terse." --tools "" --max-turns 1 ' +
      "--no-session-persistence --strict-mcp-config --setting-sources '' --model claude-sonnet-4-5",
    asked: "Explain add",
  },
  {
    name: "a task runner that continues with the session",
    script: 'claude -p "first" > /dev/null && claude --continue -p "second" --permission-mode acceptEdits',
    asked: "second",
  },
  {
    name: "a bot with a separate session",
    script: "id=3f0c7f6e-1111-4222-8333-444455556666; " +
      'claude -p "first" --session-id $id > /dev/null && claude -p --resume "$id" "second" --fork-session',
    asked: "second",
  },
  {
    name: "agents, settings and plugins next to the prompt",
    script: 'claude -p --agents \'{"r":{"description":"d","prompt":"p"}}\' --settings \'{}\' ' +
      '--plugin-dir ./p --fallback-model sonnet --append-system-prompt "Be brief." --add-dir . -- "Do it"',
    asked: "Do it",
  },
  {
    name: "a nightly job with a log and a deadline",
    script: 'timeout 60 claude -p --dangerously-skip-permissions "Inspect" >> night.log 2>&1; ' +
      "echo $? && grep -c . night.log > /dev/null && tail -n 20 night.log | grep -o '^fix.*'",
    asked: "Inspect",
    stdout: `0\n${ANSWER}\n`,
  },
];

const WITH_JQ: readonly Script[] = [
  {
    name: "the answer of the result",
    script: 'claude -p --output-format json "Summarize" | jq -r .result',
    asked: "Summarize",
  },
  {
    name: "session and cost of the result",
    script: "out=$(claude -p 'Summarize' --output-format json --max-budget-usd 5.00) && " +
      "echo \"$out\" | jq -e '.is_error == false and .total_cost_usd >= 0 and (.session_id | length) > 0'",
    asked: "Summarize",
    stdout: "true\n",
  },
  {
    name: "text as it streams",
    script: "claude -p 'Write' --output-format stream-json --verbose --include-partial-messages | jq -rj " +
      '\'select(.type == "stream_event" and .event.delta.type? == "text_delta") | .event.delta.text\'',
    asked: "Write",
    stdout: ANSWER,
  },
];

function play(scripts: readonly Script[]): () => Promise<void> {
  return async () => {
    await using server = startModelServer([], { fallback: { text: ANSWER }, check: { prefix: false } });
    for (const { name, script, asked, stdout = `${ANSWER}\n` } of scripts) {
      await using world = await makeWorld(mockConfig(server.url, "", "price = { input = 1, output = 2 }"));
      await world.write("error.log", "TypeError: größe is undefined 🦊\n");
      await world.write("PROMPT.md", "Study the plan.\nDo one thing.\n");
      await world.write("add.js", "const add = (a, b) => a + b;\n");
      const claude = await world.shim("claude");
      const env = { PATH: `${claude.replace(/\/claude$/, "")}:${Deno.env.get("PATH")}`, ...denoDir() };
      const git = 'git init -q . && git config user.name T && git config user.email "t@localhost"';
      const child = new Deno.Command("sh", {
        args: ["-c", `${git} && ${script}`],
        cwd: world.dir,
        env: { ...env, GIT_EDITOR: "true", GIT_CONFIG_GLOBAL: "/dev/null", REASONIX_LANG: "en" },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const done = await finished(child);
      assertEquals([name, done.code, done.stdout], [name, 0, stdout], done.stderr);
      assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json.messages), asked);
    }
    assert(server.requests.length >= scripts.length);
  };
}

Deno.test("scripts written for claude -p run unchanged", play(SCRIPTS));

const jq = await new Deno.Command("jq", { args: ["--version"] }).output().then(() => true, () => false);

Deno.test({
  ...needs("jq", jq, "scripts that read the output of claude -p with jq run unchanged"),
  fn: play(WITH_JQ),
});
