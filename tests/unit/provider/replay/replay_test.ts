import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../support/assert.ts";
import { type Message, ReasonixError } from "../../../../src/core/mod.ts";
import { createProvider, type Provider } from "../../../../src/provider/mod.ts";
import { collect, HELLO, InstantClock, openClient, providerEntry } from "../../../support/model_client.ts";
import { startModelServer, type Turn } from "../../../support/model_server.ts";
import { removeTree } from "../../../support/remove_tree.ts";

type Values = Record<string, string>;

async function inDirectory(test: (cassette: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await test(`${directory}/cassette.jsonl`);
  } finally {
    await removeTree(directory);
  }
}

function play(cassette: string, values: Values = {}, clock = new InstantClock()): Promise<Provider> {
  const entry = providerEntry({ name: "demo", kind: "replay", cassette });
  return createProvider({ entry, model: "m", version: "1", values, deps: { clock } });
}

const write = (file: string, lines: readonly unknown[]) =>
  Deno.writeTextFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

/** A tiny agent: sends the task, answers every call with `result`, until the model is done. */
async function converse(provider: Provider, system: string, task: string, result: string): Promise<string> {
  const messages: Message[] = [{ role: "user", content: task }];
  const prefix = { system, tools: [{ name: "ls", description: "Lists", parameters: {} }] };
  while (true) {
    let text = "";
    const calls = [];
    for await (const chunk of provider.stream({ prefix, messages }, new AbortController().signal)) {
      if (chunk.type === "text") text += chunk.text;
      if (chunk.type === "tool_call") calls.push(chunk.call);
      if (chunk.type === "error") return `${chunk.error.kind}: ${chunk.error.message}`;
    }
    messages.push({ role: "assistant", content: text, calls });
    if (calls.length === 0) return text;
    for (const call of calls) {
      messages.push({
        role: "tool",
        callId: call.id,
        name: call.name,
        content: `${call.arguments} ${result}`,
      });
    }
  }
}

async function record(file: string, workspace: string, header: Record<string, unknown> = {}): Promise<void> {
  const turns: Turn[] = [{ calls: [{ name: "ls", args: { path: `${workspace}/src` } }] }, {
    text: `Saw ${workspace}/src`,
  }];
  await using server = startModelServer(turns);
  const provider = await openClient(server, {
    record: { file },
    values: { workspace, home: "/home/ann" },
  });
  await converse(
    provider,
    `You are in ${workspace} of /home/ann`,
    `List ${workspace}`,
    "3 files in 12ms on 2026-09-14",
  );
  const [first = "", ...exchanges] = (await Deno.readTextFile(file)).split("\n");
  await Deno.writeTextFile(
    file,
    [JSON.stringify({ ...JSON.parse(first), ...header }), ...exchanges].join("\n"),
  );
}

Deno.test("replay provider plays a recording when paths, dates and durations of the run differ", async () => {
  await inDirectory(async (file) => {
    await record(file, "/tmp/first");
    assert(!(await Deno.readTextFile(file)).includes("/tmp/first"));
    const provider = await play(file, { workspace: "C:\\work\\x", home: "C:\\home" });
    const system = "You are in C:\\work\\x of C:\\home";
    const answer = await converse(provider, system, "List C:\\work\\x", "3 files in 1.5 s on 2031-01-02");
    assertEquals(answer, "Saw C:\\work\\x/src");
  });
});

const VALUES = { workspace: "/tmp/second", home: "/root" };
const SYSTEM = "You are in /tmp/second of /root";

Deno.test("replay provider reports where a request differs from the recording", async () => {
  await inDirectory(async (file) => {
    await record(file, "/tmp/first");
    const task = await converse(await play(file, VALUES), SYSTEM, "Delete /tmp/second", "");
    assertStringIncludes(task, "mismatch: The cassette");
    assertStringIncludes(
      task,
      'exchange 1: message 0 (user) differs at character 0: recorded "List {{workspace}}", now "Delete',
    );
    const result = await converse(
      await play(file, VALUES),
      SYSTEM,
      "List /tmp/second",
      "4 files in 3 ms on 2026-01-01",
    );
    assertStringIncludes(result, "exchange 2: message 2 (tool ls) differs at character 29");
    const system = await converse(await play(file, VALUES), "You are", "List /tmp/second", "");
    assertStringIncludes(system, "the system prompt differs at character 7");
  });
});

Deno.test("replay provider names the tools that differ from the recording", async () => {
  await inDirectory(async (file) => {
    await record(file, "/tmp/first");
    const messages: Message[] = [{ role: "user", content: "List /tmp/second" }];
    const tool = (name: string, description: string) => ({ name, description, parameters: {} });
    for (
      const [tools, expected] of [
        [[tool("ls", "Shows")], "changed: ls"],
        [[tool("ls", "Lists"), tool("rm", "")], "new: rm"],
        [[], "missing: ls"],
      ] as const
    ) {
      const provider = await play(file, VALUES);
      const stream = provider.stream(
        { prefix: { system: SYSTEM, tools }, messages },
        new AbortController().signal,
      );
      const [chunk] = await Array.fromAsync(stream);
      assert(chunk?.type === "error");
      assertStringIncludes(chunk.error.message, `the tools differ (${expected})`);
    }
  });
});

Deno.test("replay provider does not compare fields that the cassette marks as loose or ignored", async () => {
  await inDirectory(async (file) => {
    await record(file, "/tmp/first", {
      loose: ["system", "tools"],
      ignore: [{ match: "^List .*$", replace: "List" }],
    });
    const answer = await converse(
      await play(file, VALUES),
      "Other",
      "List everything",
      "3 files in 9ms on 2026-09-14",
    );
    assertEquals(answer, "Saw /tmp/second/src");
    await record(file, "/tmp/first", { loose: ["system", "tools", "messages"] });
    assertEquals(await converse(await play(file, VALUES), "Other", "Dance", "none"), "Saw /tmp/second/src");
  });
});

Deno.test("replay provider reports the end of the recording", async () => {
  await inDirectory(async (file) => {
    await write(file, [{ cassette: 1 }, { reply: [{ type: "text", text: "only" }] }]);
    const provider = await play(file);
    const first = await collect(provider);
    assertEquals([first.text, first.reason], ["only", "stop"]);
    const second = await collect(provider);
    assertEquals(second.error?.kind, "mismatch");
    assertStringIncludes(second.error?.message ?? "", "holds 1 exchanges and none is left for request 2");
  });
});

Deno.test("replay provider separates concurrent conversations", async () => {
  await inDirectory(async (file) => {
    const exchange = (conversation: number, task: string, text: string) => ({
      conversation,
      request: { from: 0, messages: [{ role: "user", content: task }] },
      reply: [{ type: "text", text }, { type: "done", reason: "stop" }],
    });
    await write(file, [
      { cassette: 1 },
      exchange(0, "a", "A"),
      exchange(1, "b", "B"),
      exchange(2, "b", "B again"),
    ]);
    const provider = await play(file);
    const ask = async (content: string) => (await collect(provider, [{ role: "user", content }])).text;
    assertEquals([await ask("b"), await ask("a"), await ask("b")], ["B", "A", "B again"]);
  });
});

Deno.test("replay provider keeps recorded delays and stops when the signal aborts", async () => {
  await inDirectory(async (file) => {
    const clock = new InstantClock();
    await write(file, [{ cassette: 1 }, {
      reply: [{ type: "text", text: "a", delay: 40 }, { type: "text", text: "b", delay: 2 }],
    }]);
    assertEquals((await collect(await play(file, {}, clock))).text, "ab");
    assertEquals(clock.waits, [40, 2]);
  });
});

Deno.test("createProvider with record fails when the cassette cannot be written", async () => {
  const directory = await Deno.makeTempDir();
  await using server = startModelServer([{ text: "a" }]);
  const provider = await openClient(server, { record: { file: `${directory}/c.jsonl` } });
  await removeTree(directory);
  const outcome = await collect(provider);
  assertEquals([outcome.text, outcome.reason], ["a", undefined]);
  assertStringIncludes(outcome.error?.message ?? "", "Could not write the cassette");
});

Deno.test("createProvider records a cassette that plays back the same chunks", async () => {
  await inDirectory(async (file) => {
    await using server = startModelServer([{ text: ["a", "b"], reasoning: "c", calls: [{ name: "ls" }] }]);
    const entry = providerEntry({ base_url: server.url });
    const live = await collect(await createProvider({ entry, model: "m", version: "1", record: { file } }));
    assertEquals((await collect(await play(file))).chunks, live.chunks);
  });
});

Deno.test("replay provider rejects a missing, invalid or incomplete cassette", async () => {
  await inDirectory(async (file) => {
    const missing = await assertRejects(() => play(file), ReasonixError, "Could not read the cassette");
    assertEquals(missing.exit, "config");
    await write(file, [{ reply: [] }]);
    await assertRejects(() => play(file), ReasonixError, "the first line must be");
    await write(file, [{ cassette: 1 }, { reply: "no" }]);
    const broken = await assertRejects(() => play(file), ReasonixError, "a list named reply");
    assertEquals(broken.place?.line, 2);
    await write(file, [{ cassette: 1, values: ["workspace"] }]);
    await assertRejects(() => play(file), ReasonixError, "needs values for workspace");
    const entry = providerEntry({ kind: "replay" });
    await assertRejects(
      () => createProvider({ entry, model: "m", version: "1" }),
      ReasonixError,
      "names no cassette",
    );
  });
});

Deno.test("replay provider stops when the signal is aborted while it plays", async () => {
  await inDirectory(async (file) => {
    await write(file, [{ cassette: 1 }, {
      reply: [{ type: "text", text: "a" }, { type: "text", text: "b" }],
    }]);
    const controller = new AbortController();
    const seen: string[] = [];
    for await (
      const chunk of (await play(file)).stream(
        { prefix: { system: "", tools: [] }, messages: HELLO },
        controller.signal,
      )
    ) {
      seen.push(chunk.type);
      controller.abort();
    }
    assertEquals(seen, ["text", "error"]);
  });
});
