/** The updates of a turn for an editor, live and when the session is loaded again. */
import { methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import { startAcp } from "../support/acp.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const calls = (...list: readonly (readonly [name: string, args: unknown])[]) => ({
  text: `${list.length} calls`,
  calls: list.map(([name, args], at) => ({ id: `${name}-${at}`, name, args })),
});

/** Texts by message, then each call with its last title, its states and the last of its content. */
function shownBy(updates: readonly SessionUpdate[]) {
  const messages: Record<string, string> = {};
  const found: Record<string, { title?: string; states: string[]; content: unknown[]; locations: unknown }> =
    {};
  for (const update of updates) {
    if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") {
      const call = found[update.toolCallId] ??= { states: [], content: [], locations: undefined };
      if (update.title) call.title = update.title;
      if (update.status && call.states.at(-1) !== update.status) call.states.push(update.status);
      call.content = update.content ?? call.content;
      call.locations = update.locations ?? call.locations;
    } else if ("messageId" in update && update.content.type === "text") {
      const id = `${update.sessionUpdate} ${update.messageId}`;
      messages[id] = (messages[id] ?? "") + update.content.text;
    }
  }
  return { messages, calls: found };
}

Deno.test("an editor is shown a turn as it happens, and the same when the session is loaded", async () => {
  await using server = startModelServer([
    { reasoning: ["Let me ", "see"], ...calls(["read_file", { path: "a.txt", offset: 2 }]) },
    calls(["edit_file", { path: "a.txt", old_string: "two", new_string: "zwei 🦊" }]),
    calls(["write_file", { path: "sub/new.txt", content: "fresh\n" }], ["write_file", {
      path: "b.txt",
      content: "b",
    }]),
    calls(["bash", { command: "echo from the jail; echo ❤; exit 3" }]),
    calls(["todo_write", { todos: [{ content: "Test", status: "in_progress" }] }]),
    calls(["read_file", { path: "none.txt" }]),
    { text: ["It ", "is ", "done"] },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "one\ntwo\nthree\n");
  const args = ["--approval-mode=yolo"];
  const acp = await startAcp(world, { args, capabilities: { _meta: { terminal_output: true } } });
  const id = await acp.newSession();
  assertEquals(await acp.prompt(id, "Do all of it"), "end_turn");
  const updates = acp.updates(id);
  const live = shownBy(updates);
  const file = `${world.dir}/a.txt`;
  const runs = ["pending", "in_progress", "completed"];
  const { "read_file-0": read, "edit_file-0": edit, "write_file-0": write, "bash-0": bash } = live.calls;
  assertEquals([read?.title, read?.states], ["read a.txt from line 2", runs]);
  assertEquals(read?.locations, [{ path: file, line: 2 }]);
  assertEquals([edit?.title, edit?.states], ["edit a.txt", runs]);
  assertEquals(edit?.locations, [{ path: file, line: 2 }]);
  assertEquals(edit?.content, [
    { type: "diff", path: file, oldText: "one\ntwo\nthree\n", newText: "one\nzwei 🦊\nthree\n" },
  ]);
  assertEquals(write?.content, [{ type: "diff", path: `${world.dir}/sub/new.txt`, newText: "fresh\n" }]);
  assertEquals([bash?.title, bash?.states.at(-1)], ["$ echo from the jail; echo ❤; exit 3", "failed"]);
  assertEquals(bash?.content, [{ type: "terminal", terminalId: "bash-0" }]);
  const terminal = updates.flatMap((update) => "_meta" in update && update._meta ? [update._meta] : []);
  assertEquals(terminal[0], { terminal_info: { terminal_id: "bash-0", cwd: world.dir } });
  const output = terminal.map((meta) => (meta.terminal_output as { data?: string } | undefined)?.data ?? "");
  assertEquals(output.join(""), "from the jail\n❤\n");
  assertEquals(terminal.at(-1), { terminal_exit: { terminal_id: "bash-0", exit_code: 3, signal: null } });
  assertEquals(Object.values(live.messages).at(-1), "It is done");
  assert(Object.entries(live.messages).some(([name, text]) => /thought/.test(name) && text === "Let me see"));
  // The client shows its prompt itself.
  assert(!Object.keys(live.messages).some((name) => name.startsWith("user")));
  const states = Object.values(live.calls).map(({ states }) =>
    states.filter((state) => /completed|failed/.test(state))
  );
  assert(states.every((ends) => ends.length === 1), JSON.stringify(states));
  // A call is shown before it is part of a whole message.
  const first = updates.find(({ sessionUpdate }) => sessionUpdate === "tool_call");
  assert(first && !("rawInput" in first), JSON.stringify(first));
  assertEquals((await acp.end()).code, 0);

  const again = await startAcp(world, { args, capabilities: { _meta: { terminal_output: true } } });
  await again.agent.request(methods.agent.session.load, { sessionId: id, cwd: world.dir, mcpServers: [] });
  const replayed = again.updates(id);
  const loaded = shownBy(replayed);
  const { [Object.keys(loaded.messages)[0] ?? ""]: prompt, ...answers } = loaded.messages;
  assertEquals(prompt, "Do all of it");
  assertEquals(answers, live.messages);
  assertEquals(Object.keys(loaded.calls), Object.keys(live.calls));
  for (const [name, call] of Object.entries(loaded.calls)) {
    assertEquals([call.title, call.states], [live.calls[name]?.title, live.calls[name]?.states.slice(-1)]);
    assertEquals(call.locations, live.calls[name]?.locations);
    if (name !== "bash-0") assertEquals(call.content, live.calls[name]?.content);
  }
  assert(JSON.stringify(loaded.calls["bash-0"]?.content).includes("from the jail"));
  assert(!/terminal_|"terminal"|<env|reminder/.test(JSON.stringify(replayed)));
  const plans = [...updates, ...replayed].filter(({ sessionUpdate }) => sessionUpdate === "plan");
  assertEquals(plans.map((plan) => "entries" in plan && plan.entries), [
    [{ content: "Test", status: "in_progress", priority: "medium" }],
    [{ content: "Test", status: "in_progress", priority: "medium" }],
  ]);
  assertEquals((await again.end()).code, 0);
});
