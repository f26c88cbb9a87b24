/** Lines that begin with `@` and `#`, as a person types and pastes them into the program on a terminal. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { EMPTY, onTerminal, openChat } from "../support/terminal_chat.ts";
import type { Terminal } from "../support/tmux.ts";

const lastText = (server: { requests: readonly { json: { messages: { content: unknown }[] } }[] }) =>
  JSON.stringify(server.requests.at(-1)?.json.messages.at(-1)?.content);

/** Exits the chat, so that nothing is written after its home is removed. */
async function leave(terminal: Terminal): Promise<void> {
  await terminal.press("C-d");
  await terminal.shows("left-with-0");
}

for (const [columns, rows] of [[80, 24], [40, 15]] as const) {
  onTerminal(
    `@ finds a file deep in the tree, an agent and an earlier session at ${columns}×${rows}`,
    async () => {
      await using server = startModelServer([], { fallback: { text: "Noted." }, check: { prefix: false } });
      await using chat = await openChat(mockConfig(server.url), { columns, rows });
      const { terminal, world } = chat;
      await world.write("src/util/long_name_helper.ts", "export const deep = 1;\n");
      await world.write("node_modules/helper/index.js", "no\n");
      await terminal.shows(EMPTY);
      await terminal.type("look at @helper");
      await terminal.shows("src/util/long_name_helper.ts");
      await terminal.press("Enter");
      await terminal.press("Enter");
      await server.received(1);
      assertStringIncludes(JSON.stringify(server.requests[0]?.json.messages), "export const deep = 1;");
      await terminal.shows("Noted.");
      await terminal.type("check it @revi");
      await terminal.shows("agent:review");
      await terminal.press("Enter", "Enter");
      await server.received(2);
      assertStringIncludes(lastText(server), 'the agent \\"review\\" to do this: call task');
      await terminal.shows(EMPTY);
      await chat.enter("/new");
      await terminal.shows("A new session has begun");
      await terminal.shows(EMPTY);
      await terminal.type("continue @look");
      await terminal.shows("session:");
      await terminal.press("Enter", "Enter");
      await server.received(3);
      const text = lastText(server);
      assertStringIncludes(text, "User: look at @src/util/long_name_helper.ts");
      assertStringIncludes(text, "Answer: Noted.");
      await leave(terminal);
    },
  );
}

for (const [columns, rows] of [[80, 24], [40, 15]] as const) {
  for (const lang of ["en", "zh-CN"]) {
    onTerminal(
      `"# " remembers a typed line, and a pasted heading is sent, at ${columns} by ${rows} in ${lang}`,
      async () => {
        await using server = startModelServer([], { fallback: { text: "Noted." }, check: { prefix: false } });
        await using chat = await openChat(mockConfig(server.url), {
          columns,
          rows,
          env: { REASONIX_LANG: lang },
        });
        const { terminal } = chat;
        await terminal.shows("mock-1");
        await chat.enter("# we use tabs");
        await terminal.shows("we-use-tabs");
        assertEquals(server.requests.length, 0);
        await chat.enter("/memory forget we-use-tabs");
        await terminal.shows("archive");
        await terminal.paste("# Release notes");
        await terminal.shows("> # Release notes");
        await terminal.press("Enter");
        await server.received(1);
        assertStringIncludes(lastText(server), "# Release notes");
        await chat.enter("#hotfix now");
        await server.received(2);
        assertStringIncludes(lastText(server), "#hotfix now");
        await leave(terminal);
      },
    );
  }
}

Deno.test("a headless run resolves @agent and @session and reports an unknown reference", async () => {
  await using server = startModelServer([], {
    fallback: { text: "First answer." },
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "first question"]);
  const [{ id }] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  await world.run(["run", `use @session:${id} and @agent:explore`]);
  const text = JSON.stringify(server.requests.at(-1)?.json.messages);
  assertStringIncludes(text, "User: first question\\nAnswer: First answer.");
  assertStringIncludes(text, 'the agent \\"explore\\" to do this: call task or read_only_task');
  const { stderr } = await world.run(["run", "use @agent:nosuch and @session:nosuch"]);
  assertStringIncludes(stderr, 'There is no agent "nosuch"');
  assertStringIncludes(stderr, 'Cannot find a session "nosuch"');
  assert(JSON.stringify(server.requests.at(-1)?.json.messages).includes("use @agent:nosuch"));
});
