/** What `run` does with every kind of standard input beside its task. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";

// deno-lint-ignore no-explicit-any
const last = (request: any): string => request?.json.messages.at(-1).content;

/** Runs a task with a pipe that `feed` writes to, and that is closed when `feed` says so. */
async function piped(
  world: World,
  feed: (writer: WritableStreamDefaultWriter<Uint8Array>) => Promise<"close" | "leave">,
) {
  const child = await world.spawn(["run", "review this"], { stdin: "open" });
  const writer = child.stdin.getWriter();
  const fed = feed(writer).then(async (then) => then === "close" ? await writer.close() : undefined).catch(
    () => {},
  );
  const done = await finished(child);
  await fed;
  await writer.close().catch(() => {});
  return done;
}

const text = (value: string) => new TextEncoder().encode(value);

Deno.test("run takes a pipe or a file on standard input as context, without a dash", async () => {
  await using server = startModelServer([{ text: "ok" }, { text: "ok" }], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "review this"], { stdin: "diff text\n" });
  assertEquals(last(server.requests[0]), "<stdin>\ndiff text\n</stdin>\n\nreview this");
  await world.write("a.diff", "from a file\n");
  const shell = await world.run(["run", "review this"], { within: ["sh", "-c", '"$@" < a.diff', "sh"] });
  assertEquals([shell.code, last(server.requests[1])], [0, "<stdin>\nfrom a file\n</stdin>\n\nreview this"]);
});

Deno.test("run waits for a pipe that writes slowly, and says that it waits", async () => {
  await using server = startModelServer([{ text: "ok" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const child = await world.spawn(["run", "review this"], { stdin: "open" });
  const writer = child.stdin.getWriter();
  let stderr = "";
  for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) {
    stderr += part;
    if (!stderr.includes("Waiting for standard input")) continue;
    await writer.write(text("one "));
    await writer.write(text("two"));
    await writer.close();
    break;
  }
  await Promise.all([child.stdout.cancel(), child.status]);
  assertEquals(last(server.requests[0]), "<stdin>\none two\n</stdin>\n\nreview this");
});

Deno.test("run goes on without a pipe that never writes and never closes", async () => {
  await using server = startModelServer([{ text: "ok" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const { code, stderr } = await piped(world, () => Promise.resolve("leave"));
  assertEquals([code, last(server.requests[0])], [0, "review this"]);
  assertStringIncludes(stderr, "Nothing came on standard input");
});

Deno.test("run reads neither a device nor a closed descriptor", async () => {
  await using server = startModelServer([{ text: "ok" }, { text: "ok" }], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  for (const redirection of ["< /dev/null", "<&-"]) {
    const { code, stderr } = await world.run(["run", "go"], {
      within: ["sh", "-c", `"$@" ${redirection}`, "sh"],
    });
    assertEquals([code, stderr.includes("standard input")], [0, false], redirection);
  }
  assertEquals(server.requests.map(last), ["go", "go"]);
});

Deno.test("run refuses 50 MB, and what exceeds the model's window, before the first request", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url, "", "context_window = 8000"));
  const large = await piped(world, async (writer) => {
    const block = text("x".repeat(1024 * 1024));
    for (let count = 0; count < 50; count++) await writer.write(block);
    return "close";
  });
  assertEquals(large.code, 2);
  assertStringIncludes(large.stderr, "Standard input is larger than 16 MB");
  const long = await world.run(["run", "review"], { stdin: "some words of text\n".repeat(5000) });
  assertEquals(long.code, 2);
  assert(/The input is too long for mock-1: about [\d,]+ tokens of 8,000/.test(long.stderr), long.stderr);
  assertEquals(server.requests.length, 0);
});
