import { openConversation, Recorder } from "../../../src/control/mod.ts";
import { MemoryStore } from "../../../src/control/memory_store.ts";
import type { Event } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../support/assert.ts";

const TOOL = { name: "t", description: "d", parameters: { type: "object" } };
const WANTED = { system: "S", tools: [TOOL], model: "m", context: ["<environment>\none\n</environment>"] };

function types(recorder: Recorder, events: readonly Event[]): string[] {
  void recorder;
  return events.map((event) => event.type);
}

Deno.test("openConversation sends prefix and environment once", async () => {
  const store = new MemoryStore();
  const recorder = new Recorder(store);
  await openConversation(recorder, WANTED);
  await openConversation(recorder, WANTED);
  assertEquals(types(recorder, store.events), ["context.prefix", "message.user"]);
});

Deno.test("openConversation declares a reset only for another model or tool set", async () => {
  const store = new MemoryStore();
  const recorder = new Recorder(store);
  await openConversation(recorder, WANTED);
  await openConversation(recorder, { ...WANTED, model: "other" });
  await openConversation(recorder, { ...WANTED, model: "other", tools: [] });
  const other = { ...TOOL, description: "D" };
  await openConversation(recorder, { ...WANTED, tools: [other, { ...TOOL, name: "u" }] });
  await openConversation(recorder, { ...WANTED, tools: [TOOL, { ...TOOL, name: "u" }] });
  const resets = store.events.flatMap((event) =>
    event.type === "context.prefix" ? [[event.reason, event.detail]] : []
  );
  assertEquals(resets, [
    ["start", undefined],
    ["model", "m → other"],
    ["tools", "−t"],
    ["model", "other → m; +t +u"],
    ["tools", "other descriptions or another order"],
  ]);
});

Deno.test("openConversation declares a reset for another provider and another tool mode", async () => {
  const store = new MemoryStore();
  const recorder = new Recorder(store);
  const at = { ...WANTED, provider: "a" };
  await openConversation(recorder, at);
  await openConversation(recorder, { ...at, toolMode: "official" });
  await openConversation(recorder, { ...at, toolMode: "pseudo" });
  await openConversation(recorder, { ...at, toolMode: "pseudo" });
  await openConversation(recorder, { ...at, provider: "b", toolMode: "pseudo" });
  await openConversation(recorder, { ...at, provider: "b", toolMode: "none", tools: [] });
  await openConversation(recorder, { ...at, provider: "b" });
  const resets = store.events.flatMap((event) =>
    event.type === "context.prefix" ? [[event.reason, event.detail, event.toolMode]] : []
  );
  assertEquals(resets, [
    ["start", undefined, undefined],
    ["tool_mode", "official → pseudo", "pseudo"],
    ["model", "a/m → b/m", "pseudo"],
    ["tool_mode", "pseudo → none; −t", "none"],
    ["tool_mode", "none → official; +t", undefined],
  ]);
});

Deno.test("openConversation sends changed instructions and facts as messages, not as a new prefix", async () => {
  const store = new MemoryStore();
  const recorder = new Recorder(store);
  await openConversation(recorder, WANTED);
  const changed = { ...WANTED, system: "S2", context: ["<environment>\ntwo\n</environment>"] };
  await openConversation(recorder, changed);
  await openConversation(recorder, changed);
  assertEquals(types(recorder, store.events), [
    "context.prefix",
    "message.user",
    "message.user",
    "message.user",
  ]);
  assertEquals(recorder.prefix.system, "S");
  assertStringIncludes(recorder.messages[1]?.content ?? "", "S2");
});

Deno.test("a recorder delivers every event to every subscriber in order and waits for slow ones", async () => {
  const recorder = new Recorder(new MemoryStore());
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  recorder.subscribe((event) => void seen.push(`a${event.type}`));
  const remove = recorder.subscribe((event) => {
    seen.push(`b${event.type}`);
    return gate.promise;
  });
  const behind = recorder.record({ type: "turn.start", turn: 1 });
  assert(behind instanceof Promise);
  gate.resolve();
  await behind;
  remove();
  assertEquals(recorder.record({ type: "todo.update", items: [] }), undefined);
  assertEquals(seen, ["aturn.start", "bturn.start", "aturn.state", "bturn.state", "atodo.update"]);
});

Deno.test("a recorder without a prefix rejects a turn", () => {
  assertThrows(() => new Recorder(new MemoryStore()).prefix, TypeError, "no prefix");
});
