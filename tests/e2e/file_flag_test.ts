/** `--file` of `run`, `-p` and the chat. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

// deno-lint-ignore no-explicit-any
const last = (request: any): string => request?.json.messages.at(-1).content;

Deno.test("--file attaches files like references, in run, -p and the first message of a chat", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "alpha\n");
  await world.write("sub/with blank.txt", "beta\n");
  const block = '<file path="a.txt">\nalpha\n</file>';
  for (const args of [["run", "-f", "a.txt", "explain"], ["-p", "explain", "--file", "./sub/../a.txt"]]) {
    const done = await world.run(args);
    assertEquals(done.code, 0, done.stderr);
    assertStringIncludes(last(server.requests.at(-1)), "alpha");
    assertStringIncludes(last(server.requests.at(-1)), "explain\n\n@");
  }
  await world.run(["run", "-f", "sub/with blank.txt", "-f", "a.txt", "explain"]);
  const both = last(server.requests.at(-1));
  assert(both.includes("beta") && both.includes(block), both);
  await world.run(["run", "-f", "a.txt"], { stdin: "the task" });
  assertStringIncludes(last(server.requests.at(-1)), "the task\n\n@a.txt");
  await world.run(["run", "--dir", "sub", "-f", "a.txt", "explain"]);
  assertStringIncludes(last(server.requests.at(-1)), "alpha");
  const chat = await world.run(["chat", "-f", "a.txt", "explain"], { stdin: "" });
  assertEquals(chat.code, 0, chat.stderr);
  assertStringIncludes(last(server.requests.at(-1)), block);
});

Deno.test("--file refuses a missing file and a line without a message to attach it to", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "alpha\n");
  const lines = [
    [["run", "-f", "none.txt", "explain"], "Cannot attach none.txt: there is no such file"],
    [["chat", "-f", "a.txt"], "Cannot attach files to a chat without a first message"],
    [["run", "--tasks", "t.jsonl", "-f", "a.txt"], "Cannot use --file together with --tasks"],
    [
      ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "-f", "a.txt"],
      "Cannot use --file together with --input-format stream-json",
    ],
  ] as const;
  for (const [args, message] of lines) {
    const { code, stdout, stderr } = await world.run(args);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stdout + stderr, message);
  }
  assertEquals(server.requests.length, 0);
});
