/**
 * The preset `ra` on the wire: every sentence of the specification of `ra` is a row with its check. The rows
 * inspect a few runs of the program against a scripted server.
 */
import { type ScriptedTurn, startModelServer } from "../support/model_server.ts";
import { type Finished, makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";

const RA = ["run", "--preset", "ra"] as const;
const TASK = "Count the lines of every file";

interface Message {
  readonly role: string;
  readonly content: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string }[];
}

interface Run extends Finished {
  /** The bodies of the requests. */
  // deno-lint-ignore no-explicit-any
  readonly requests: readonly any[];
  readonly dir: string;
  readonly files: Readonly<Record<string, string>>;
}

const call = (id: string, name: string, args: Readonly<Record<string, unknown>>) => ({ id, name, args });

interface Stage {
  readonly script: readonly ScriptedTurn[];
  readonly settings?: string;
  /** Tasks, one run each in one session. */
  readonly runs?: readonly (readonly string[])[];
  /** Answers requests that the script does not cover. */
  readonly fallback?: ScriptedTurn;
  /** Requests that do not extend the one before. */
  readonly resets?: number;
}

/** Runs the program in a directory below the one with the workspace's AGENTS.md. */
async function play(stage: Stage): Promise<Run> {
  const { script, settings = "", runs = [[...RA, TASK]], resets = 0, fallback } = stage;
  await using server = startModelServer(script, fallback ? { fallback } : {});
  for (let i = 0; i < resets; i++) server.expectReset();
  await using world = await makeWorld(mockConfig(server.url, settings));
  await world.write("AGENTS.md", "outer rule\n");
  await world.write("project/AGENTS.md", "middle rule\n");
  await world.write("project/below/AGENTS.md", "inner rule\n");
  await world.write("project/below/a.txt", "one\ntwo\nthree\n");
  await world.write("project/below/log.txt", `${"x ".repeat(1500)}\n`.repeat(12));
  await Deno.mkdir(`${world.dir}/project/.git`, { recursive: true });
  const dir = `${world.dir}/project/below`;
  let done: Finished = { code: 0, stdout: "", stderr: "" };
  for (const args of runs) done = await world.run(args, { cwd: dir });
  const names = ["a.txt", "ran"];
  const read = async (name: string) => [name, await Deno.readTextFile(`${dir}/${name}`).catch(() => "")];
  const files = Object.fromEntries(await Promise.all(names.map(read)));
  return { ...done, dir, files, requests: server.requests.map(({ json }) => json) };
}

/** Shares a run between all rows that inspect it. */
function once(stage: Stage): () => Promise<Run> {
  let run: Promise<Run> | undefined;
  return () => run ??= play(stage);
}

const PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";

const plain = once({
  script: [
    { text: "First a look.", calls: [call("a", "shell_command", { command: "echo a >> ran" })] },
    {
      calls: ["b", "c", "d"].map((id) => call(id, "shell_command", { command: `echo ${id} >> ran` })),
    },
    { calls: [call("e", "apply_patch", { patch: PATCH })] },
    { calls: [call("f", "shell_command", { command: "seq 100000", max_output_chars: 400 })] },
    { calls: [call("g", "read_file", { file_path: "log.txt" })] },
    { text: "Three files." },
  ],
});

const pages = once({
  script: [
    { calls: [call("a", "read_file", { file_path: "a.txt", offset: 2, limit: 1 })] },
    { calls: [call("b", "list_dir", { dir_path: ".", offset: 2, limit: 1, depth: 1 })] },
    { calls: [call("c", "read_file", { file_path: "a.txt", limit: 0 })] },
    { calls: [call("d", "list_dir", { dir_path: ".", depth: 0 })] },
    { calls: [call("e", "list_dir", { dir_path: ".", limit: -1 })] },
    { calls: [call("f", "grep_files", { pattern: "t", path: ".", include: "a.*", limit: 0 })] },
    { calls: [call("g", "read_file", { file_path: "a.txt", offset: -1 })] },
    { calls: [call("h", "grep_files", { pattern: "t", path: ".", include: "a.*", limit: 1 })] },
    { calls: [call("i", "list_dir", { dir_path: ".", depth: 99 })] },
    { text: "ok" },
  ],
});

const submitting = once({
  settings: "[agent]\nsubmit = true\ntemperature = 0.25\n",
  script: [
    { text: "I think it is 42." },
    { calls: [call("a", "read_file", { file_path: "a.txt" }), call("b", "submit", { answer: "too early" })] },
    { calls: [call("c", "submit", { answer: "42" }), call("d", "shell_command", { command: "touch ran" })] },
  ],
});

const TOO_LONG: ScriptedTurn = {
  status: 400,
  body: { error: { code: "context_length_exceeded", message: "maximum context length is 8192 tokens" } },
};

const reads = (...ids: readonly string[]): ScriptedTurn[] =>
  ids.map((id) => ({ body }) => ({
    calls: [call(id, "read_file", { file_path: "log.txt" })],
    usage: { input: Math.ceil(body.length / 4), output: 20 },
  }));

const pruned = once({
  runs: [[...RA, TASK], [...RA, "-c", "And now the words"]],
  script: [...reads("a", "b", "c"), { text: "Counted." }, ...reads("d", "e"), TOO_LONG, { text: "fits now" }],
  resets: 1,
});

const hopeless = once({
  script: reads("a", "b", "c"),
  fallback: TOO_LONG,
  resets: 9,
});

const endless = { calls: [call("a", "shell_command", { command: "true" })] };

type Row = readonly [sentence: string, check: () => Promise<void>];

const system = (request: { readonly messages: readonly Message[] }) => request.messages[0]?.content ?? "";
const results = (run: Run) =>
  (run.requests.at(-1)?.messages as Message[]).filter(({ role }) => role === "tool");
const resultOf = (run: Run, id: string) =>
  results(run).find((message) => message.tool_call_id === id)?.content ?? "";

/** `name(needed, other?)` of every tool as the request declares it. */
function signatures({ requests }: Run): string[] {
  interface Declared {
    readonly name: string;
    readonly parameters: { readonly properties: object; readonly required: readonly string[] };
  }
  const tools = requests[0]?.tools as readonly { readonly type: string; readonly function: Declared }[];
  assert(tools.every(({ type }) => type === "function"));
  return tools.map(({ function: { name, parameters: { properties, required } } }) => {
    const names = Object.keys(properties).map((one) => required.includes(one) ? one : `${one}?`);
    return `${name}(${names.join(", ")})`;
  });
}

const hasTool = (signature: string) => async () => {
  assert(signatures(await plain()).includes(signature), signatures(await plain()).join("\n"));
};

const ROWS: readonly Row[] = [
  [
    "Step: one model request and its resulting assistant message, optionally followed by one tool call",
    async () => {
      const { requests, stderr } = await plain();
      assertEquals(requests.length, 6);
      assertStringIncludes(stderr, "5 steps");
    },
  ],
  ["Submit-enabled: the agent continues until the model calls `submit(answer)`", async () => {
    assertEquals((await submitting()).requests.length, 3);
  }],
  ["At most one tool call is executed per step", async () => {
    assertEquals((await plain()).files.ran, "a\nb\n");
  }],
  ["`parallel_tool_calls` is always disabled in the model request", async () => {
    for (const run of [await plain(), await submitting(), await pruned()]) {
      assertEquals(new Set(run.requests.map((request) => request.parallel_tool_calls)), new Set([false]));
    }
  }],
  ["Sampling parameters are only sent if explicitly configured", async () => {
    const sampling = ["temperature", "top_p", "seed", "frequency_penalty", "presence_penalty"];
    const sent = (await plain()).requests[0];
    assertEquals(sampling.filter((name) => name in sent), []);
    assertEquals((await submitting()).requests[0].temperature, 0.25);
  }],
  ["Web tools are not present unless explicitly enabled", async () => {
    assert(!signatures(await plain()).some((one) => one.includes("web")));
  }],
  ["Tool outputs are bounded (pagination and/or truncation)", async () => {
    const run = await plain();
    const [shell, file] = [resultOf(run, "f"), resultOf(run, "g")];
    const kept = shell.split("\n").filter((line) => /^\d+$/.test(line)).join("\n");
    assert(kept.length <= 400, String(kept.length));
    assertMatch(shell, /middle cut: .* left out/);
    assert(file.length < 33_000 && file.includes("line cut"), String(file.length));
  }],
  ["The system prompt is fixed and tool-oriented", async () => {
    assertEquals(new Set((await plain()).requests.map(system)).size, 1);
    assertMatch(system((await plain()).requests[0]), /works with tools/);
  }],
  ["It includes the tool list", async () => {
    const run = await plain();
    for (const one of signatures(run)) assertStringIncludes(system(run.requests[0]), `- ${one}: `);
    assertStringIncludes(system((await submitting()).requests[0]), "- submit(answer): ");
  }],
  ["It includes an environment header (including the working directory)", async () => {
    const { requests, dir } = await plain();
    assertStringIncludes(system(requests[0]), `working directory: ${dir}\n`);
  }],
  ["It includes the constraint “use at most one tool call per step”", async () => {
    assertStringIncludes(system((await plain()).requests[0]), "Use at most one tool call per step");
  }],
  [
    "AGENTS.md of the current directory and of any parent directory is appended, along the chain",
    async () => {
      const text = system((await plain()).requests[0]);
      const found = ["# Instructions", "outer rule", "middle rule", "inner rule"].map((rule) =>
        text.indexOf(rule)
      );
      assert(found.every((at, i) => at > (found[i - 1] ?? 0)), text);
    },
  ],
  ["Submit enabled and no tool calls: a fixed “continue” user message, and another step", async () => {
    const { role, content } = (await submitting()).requests[1].messages.at(-1);
    assertEquals(role, "user");
    assertEquals(
      content,
      "Continue with the task. When it is finished, call the submit tool with your answer.",
    );
  }],
  [
    "shell_command(command, workdir?, timeout_ms?, max_output_chars?)",
    hasTool("shell_command(command, workdir?, timeout_ms?, max_output_chars?)"),
  ],
  ["read_file(file_path, offset?, limit?)", hasTool("read_file(file_path, offset?, limit?)")],
  ["read_file has 1-indexed pagination", async () => {
    assertMatch(resultOf(await pages(), "a"), /^ *2→two\n\[lines 2–2 of 3; continue with offset 3\]$/);
  }],
  ["list_dir(dir_path, offset?, limit?, depth?)", hasTool("list_dir(dir_path, offset?, limit?, depth?)")],
  ["list_dir has 1-indexed pagination and a bounded depth", async () => {
    assertEquals(
      resultOf(await pages(), "b"),
      "./\n  a.txt\n[entries 2-2 of 3; continue with offset 3]",
    );
    assertStringIncludes(resultOf(await pages(), "i"), "depth must be at most 10, got 99");
  }],
  ["grep_files(pattern, path?, include?, limit?)", hasTool("grep_files(pattern, path?, include?, limit?)")],
  ["grep_files searches, and stops at its limit", async () => {
    assertMatch(resultOf(await pages(), "h"), /^a\.txt:2:two\n\[first 1 of /);
  }],
  ["apply_patch(patch) (unified diff)", hasTool("apply_patch(patch)")],
  ["The tools that are always available are these five", async () => {
    assertEquals(signatures(await plain()).length, 5);
  }],
  ["Tools are exposed as function tools with JSON arguments", async () => {
    for (const { function: { parameters } } of (await plain()).requests[0].tools) {
      assertEquals([parameters.type, parameters.additionalProperties], ["object", false]);
    }
  }],
  ["`offset` values are 1-indexed", async () => {
    assertStringIncludes(resultOf(await pages(), "g"), "offset must be at least 1, got -1");
  }],
  ["`limit`/`depth` must be at least 1", async () => {
    const run = await pages();
    for (const [id, problem] of [["c", "limit"], ["d", "depth"], ["f", "limit"]] as const) {
      assertStringIncludes(resultOf(run, id), `${problem} must be at least 1, got 0`);
    }
    assertStringIncludes(resultOf(run, "e"), "limit must be at least 1, got -1");
  }],
  ["`messages` begins as one system message and one user message with the task", async () => {
    const messages = (await plain()).requests[0].messages as Message[];
    assertEquals(messages.map(({ role }) => role), ["system", "user"]);
    assertEquals(messages[1]?.content, TASK);
  }],
  ["Enforce optional `max_steps`", async () => {
    const run = await play({ script: [endless, endless], runs: [[...RA, "--max-steps", "2", TASK]] });
    assertEquals([run.code, run.requests.length], [4, 2]);
  }],
  ["Enforce optional `time_limit`", async () => {
    const slow = { before: new Promise(() => {}), text: "never" };
    const run = await play({ script: [slow], runs: [[...RA, "--time-limit", "1", TASK]] });
    assertEquals(run.code, 4);
    assertStringIncludes(run.stderr, "time limit");
  }],
  [
    'The request has `messages`, tool schemas, `tool_choice: "auto"` and `parallel_tool_calls: false`',
    async () => {
      for (const request of (await plain()).requests) {
        assertEquals([request.tool_choice, request.parallel_tool_calls], ["auto", false]);
        assert(Array.isArray(request.messages) && request.tools.length === 5);
      }
    },
  ],
  ["Append the assistant message to `messages`", async () => {
    const { role, content, tool_calls } = (await plain()).requests[1].messages[2];
    assertEquals([role, content, tool_calls[0].id], ["assistant", "First a look.", "a"]);
  }],
  ["If the first tool call is `submit` and submit is enabled, terminate and return `answer`", async () => {
    const { code, stdout, files, requests } = await submitting();
    assertEquals([code, stdout, files.ran, requests.length], [0, "42\n", "", 3]);
  }],
  ["`submit`'s answer is on standard output, also where every text is printed as it comes", async () => {
    const run = await play({
      settings: "[agent]\nsubmit = true\n",
      script: [{ text: "I think it is 42." }, { calls: [call("a", "submit", { answer: "42" })] }],
      runs: [[...RA, "--stream", TASK]],
    });
    assertEquals([run.code, run.stdout], [0, "I think it is 42.\n42\n"]);
  }],
  ["Without submit enabled there is no such tool", async () => {
    assert(!signatures(await plain()).some((one) => one.startsWith("submit")));
  }],
  ["Execute exactly one tool call (the first)", async () => {
    assertEquals((await plain()).files.ran?.includes("c"), false);
  }],
  ["Append a tool result message with the matching `tool_call_id`", async () => {
    const { role, tool_call_id } = (await plain()).requests[1].messages[3];
    assertEquals([role, tool_call_id], ["tool", "a"]);
  }],
  ["Additional tool calls receive error results indicating they were not executed", async () => {
    const run = await plain();
    for (const id of ["c", "d"]) assertMatch(resultOf(run, id), /^error: Not executed: at most 1 tool call/);
    assertMatch(resultOf(await submitting(), "b"), /^error: Not executed/);
  }],
  ["No tool calls, submit not enabled: terminate and return the assistant text", async () => {
    assertEquals([(await plain()).code, (await plain()).stdout], [0, "Three files.\n"]);
  }],
  ["Context window exceeded: prune the history and retry", async () => {
    const { code, stdout, requests } = await pruned();
    assertEquals([code, stdout, requests.length], [0, "fits now\n", 8]);
    assert(JSON.stringify(requests[7]).length < JSON.stringify(requests[6]).length);
  }],
  ["Keep all system messages", async () => {
    const { requests } = await pruned();
    assertEquals(system(requests[7]), system(requests[0]));
  }],
  ["Keep the initial user task message", async () => {
    assertEquals((await pruned()).requests[7].messages[1], { role: "user", content: TASK });
  }],
  ["Preserve assistant↔tool call/response pairs", async () => {
    const messages = (await pruned()).requests[7].messages as Message[];
    const asked = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
    const answered = messages.flatMap(({ tool_call_id }) => tool_call_id ?? []);
    assertEquals(asked, answered);
    assertEquals(asked, ["d", "e"]);
  }],
  ["Drop the oldest portion (preferably at a user-message boundary)", async () => {
    const messages = (await pruned()).requests[7].messages as Message[];
    assertEquals(messages.map(({ role }) => role), [
      "system",
      "user",
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
    assertEquals(messages[2]?.content, "And now the words");
  }],
  ["If pruning does not recover, the run terminates with an error", async () => {
    const run = await hopeless();
    assertEquals([run.code, run.stdout], [5, ""]);
    assertStringIncludes(run.stderr, "context");
  }],
  ["It can execute shell commands and modify files via patch application", async () => {
    const { files } = await plain();
    assertEquals([files.ran?.startsWith("a\n"), files["a.txt"]], [true, "one\nTWO\nthree\n"]);
  }],
];

for (const [sentence, check] of ROWS) {
  Deno.test({
    name: `preset ra holds that ${sentence}`,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: check,
  });
}
