import { ReasonixError } from "../../../../src/core/mod.ts";
import { displayWidth } from "../../../../src/util/display_width.ts";
import { VERSION } from "../../../../src/util/version.ts";
import { call, say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { type ChatStage, heldReply, openChat } from "../../../support/chat_stage.ts";
import { scriptedServer } from "../../../support/mcp/scripted_mcp_server.ts";

/** The draft as the screen shows it. */
function composed({ terminal }: ChatStage): string {
  const row = terminal.screen()[terminal.caret.row] ?? "";
  return row.replace(/^\S\s/, "");
}

function turnEnds({ events }: ChatStage): string[] {
  return events.flatMap((event) => event.type === "turn.end" ? [event.reason] : []);
}

Deno.test("the chat sends typed text, shows the answer, and exits on Ctrl-D", async () => {
  await using chat = await openChat({ replies: [say("Forty-two.")] });
  chat.say("what is it?");
  await chat.shows("Forty-two.");
  await chat.until(() => turnEnds(chat).length === 1);
  chat.terminal.press("ctrl+d");
  assertEquals(await chat.left, 0);
  assertEquals(chat.terminal.destructive(), []);
});

Deno.test("the chat accepts keys before the session is open and sends first messages in order", async () => {
  const ready = Promise.withResolvers<void>();
  await using chat = await openChat({
    replies: [say("one"), say("two")],
    first: ["first"],
    beforeOpen: () => ready.promise,
  });
  chat.say("second");
  ready.resolve();
  await chat.until(() => turnEnds(chat).length === 2);
  const asked = chat.provider.requests.map((messages) => messages.at(-1)?.content);
  assertEquals(asked, ["first", "second"]);
});

Deno.test("the chat starts with version and directory, and adds model and loaded files to this line", async () => {
  const ready = Promise.withResolvers<void>();
  await using chat = await openChat({
    config: { skills: { paths: ["skills"] } },
    beforeOpen: () => ready.promise,
    columns: 200,
  });
  const heads = () => chat.terminal.screen().filter((row) => row.includes("Reasonix "));
  await chat.shows(`Reasonix ${VERSION} · ${chat.cwd}`);
  await Deno.writeTextFile(`${chat.cwd}/AGENTS.md`, "Be brief.");
  await Deno.mkdir(`${chat.cwd}/skills/rel`, { recursive: true });
  await Deno.writeTextFile(
    `${chat.cwd}/skills/rel/SKILL.md`,
    "---\nname: rel\ndescription: Releases\n---\nRelease.\n",
  );
  ready.resolve();
  await chat.shows("AGENTS.md");
  const { provider, id } = chat.assembly().provider.model;
  assertEquals(heads().map((row) => row.trimEnd()), [
    `Reasonix ${VERSION} · ${provider}/${id} · ${chat.cwd} · AGENTS.md, 1 skill`,
  ]);
});

Deno.test("Escape stops the answer, keeps its partial text, and returns queued messages", async () => {
  await using chat = await openChat({ replies: [heldReply("Half an ans")] });
  chat.say("go");
  await chat.shows("Half an ans");
  chat.say("and then this");
  await chat.shows("and then this");
  chat.terminal.press("escape");
  await chat.until(() => turnEnds(chat).length === 1);
  assertEquals(turnEnds(chat), ["interrupted"]);
  await chat.until(() => composed(chat) === "and then this");
  const kept = chat.events.find((event) => event.type === "message.end");
  assert(kept?.type === "message.end" && kept.interrupted === true);
  assertEquals(kept.content, "Half an ans");
});

Deno.test("a chat that attaches in the middle of a turn shows the open message or the running command", async () => {
  const end = Promise.withResolvers<void>();
  const ran = call("a", "bash", { command: "echo printed; read line < pipe" });
  const cases = [{ reply: heldReply("Half of it", end.promise), text: "Half of it" }, {
    reply: [ran],
    text: "printed",
  }];
  for (const { reply, text } of cases) {
    await using stage = await openChat({
      replies: [reply, say("The end")],
      async beforeChat(live) {
        const { cwd } = await live.host.current({ approvalMode: "yolo" });
        await new Deno.Command("mkfifo", { args: [`${cwd}/pipe`] }).output();
        void live.submissions.submit({ text: "Do it", steer: false });
        const shown = () => [live.snapshot().message?.text, live.snapshot().calls[0]?.tail].join("");
        while (!shown().includes(text)) await new Promise((resolve) => setTimeout(resolve, 2));
      },
    });
    await stage.shows("Do it");
    await stage.until(() => stage.terminal.text().some((line) => line.includes(text)));
    assert(stage.live.submissions.busy);
    end.resolve();
    if (text === "printed") await Deno.writeTextFile(`${stage.cwd}/pipe`, "\n");
    await stage.until(() => !stage.live.submissions.busy);
  }
});

Deno.test("Up returns the last queued message to an empty composer", async () => {
  await using chat = await openChat({ replies: [heldReply("Working")] });
  chat.say("go");
  await chat.shows("Working");
  chat.say("one");
  chat.say("two");
  chat.terminal.press("up");
  await chat.until(() => composed(chat) === "two");
  chat.terminal.press("ctrl+c");
  await chat.until(() => composed(chat) !== "two");
  assertEquals(turnEnds(chat), []);
});

Deno.test("unused steering is sent as the next message", async () => {
  const release = Promise.withResolvers<void>();
  await using chat = await openChat({ replies: [heldReply("Working", release.promise), say("Noted.")] });
  chat.say("go");
  await chat.shows("Working");
  chat.terminal.type("rather like this");
  chat.terminal.press("ctrl+enter");
  await chat.shows("rather like this");
  release.resolve();
  await chat.until(() => turnEnds(chat).length === 2);
  assertEquals(chat.provider.requests[1]?.at(-1)?.content, "rather like this");
});

Deno.test("a shell line waits for the end of the turn", async () => {
  const release = Promise.withResolvers<void>();
  const config = { sandbox: { bash: "off" as const } };
  await using chat = await openChat({ replies: [heldReply("Working", release.promise)], config });
  chat.say("go");
  await chat.shows("Working");
  chat.terminal.type("!echo out-$((40 + 2))");
  chat.terminal.press("ctrl+enter");
  release.resolve();
  await chat.until(() => turnEnds(chat).length === 2);
  await chat.shows("out-42");
  assertEquals(chat.provider.requests.length, 1);
});

Deno.test("Ctrl-C clears, then stops, then shows how to exit, then exits", async () => {
  await using chat = await openChat({ replies: [heldReply("Working")] });
  chat.say("go");
  await chat.shows("Working");
  chat.terminal.type("half a thought");
  chat.terminal.press("ctrl+c");
  assertEquals(turnEnds(chat), []);
  chat.terminal.press("ctrl+c");
  await chat.until(() => turnEnds(chat).length === 1);
  chat.terminal.press("ctrl+c");
  await chat.shows("Ctrl+C again");
  chat.terminal.press("ctrl+c");
  assertEquals(await chat.left, 0);
});

Deno.test("a session that cannot be opened is reported with its path, and the message is returned", async () => {
  let broken = true;
  await using chat = await openChat({
    replies: [say("There you are.")],
    beforeOpen() {
      if (!broken) return;
      const place = { file: "/home/x/config.toml", line: 3, column: 7 };
      throw new ReasonixError("Cannot read the TOML here", { exit: "config", place, remedy: "correct it" });
    },
  });
  chat.say("hello");
  await chat.shows("/home/x/config.toml:3:7");
  await chat.until(() => composed(chat) === "hello");
  broken = false;
  chat.terminal.press("enter");
  await chat.shows("There you are.");
});

Deno.test("Shift-Tab cycles the approval modes, asks before yolo, and records each", async () => {
  await using chat = await openChat({ replies: [say("ok")] });
  chat.say("hello");
  await chat.until(() => turnEnds(chat).length === 1);
  const { modes } = chat.assembly();
  chat.terminal.press("shift+tab");
  await chat.until(() => modes.approval === "auto");
  chat.terminal.press("shift+tab");
  await chat.shows("Approve everything");
  assertEquals(modes.approval, "auto");
  chat.terminal.press("escape");
  await chat.until(() => modes.approval === "ask");
  const changes = chat.events.flatMap((event) => event.type === "mode.change" ? [event.posture] : []);
  assertEquals(changes, ["auto", "ask"]);
});

Deno.test("a line after ! runs without the model, which sees it with the next message", async () => {
  await using chat = await openChat({
    replies: [say("I saw it.")],
    config: { sandbox: { bash: "off" } },
  });
  chat.say("!echo out-$((40 + 2)); exit 3");
  await chat.shows("out-42");
  await chat.until(() => turnEnds(chat).length === 1);
  assertEquals(chat.provider.requests.length, 0);
  chat.say("what was that?");
  await chat.until(() => turnEnds(chat).length === 2);
  const [line, report] = chat.provider.requests[0]?.slice(-3) ?? [];
  assertEquals([line?.role, line?.content], ["user", "!echo out-$((40 + 2)); exit 3"]);
  assertEquals(report?.role, "assistant");
  assertStringIncludes(String(report?.content), "Exit code: 3\nOutput:\nout-42");
});

Deno.test("Escape stops a line after !, and a destructive one needs approval in yolo, too", async () => {
  await using chat = await openChat({
    config: { sandbox: { bash: "off" } },
    start: { approvalMode: "yolo" },
  });
  chat.say("!echo begun; sleep 60");
  await chat.until(() => chat.events.some((event) => event.type === "tool.delta"));
  chat.terminal.press("escape");
  await chat.until(() => turnEnds(chat).length === 1);
  assertEquals(turnEnds(chat), ["interrupted"]);
  chat.say("!rm -rf ~/everything");
  await chat.until(() => chat.events.some((event) => event.type === "approval.request"));
});

Deno.test("a line that begins with # and a space is saved, and the displayed undo removes it", async () => {
  await using chat = await openChat({ replies: [say("ok")] });
  chat.say("# we indent with tabs");
  await chat.shows('Remembered: "we indent with tabs"');
  await chat.shows("/memory forget we-indent-with-tabs");
  chat.say("go on");
  await chat.until(() => turnEnds(chat).length === 1);
  const texts = chat.provider.requests[0]?.map(({ content }) => String(content)) ?? [];
  assert(texts.some((text) => text.includes("<memory>") && text.includes("we indent with tabs")));
  assertEquals(texts.at(-1), "go on");
  chat.say("/memory forget we-indent-with-tabs");
  await chat.shows("Forgotten: we-indent-with-tabs");
  chat.say("/memory");
  await chat.shows("Nothing is remembered here");
});

Deno.test("#word, a long line and a pasted heading are sent to the model and not saved", async () => {
  await using chat = await openChat({ replies: [say("a"), say("b"), say("c"), say("d")] });
  const long = `# ${"many words ".repeat(20)}end`;
  const wait = (turns: number) => chat.until(() => turnEnds(chat).length === turns);
  chat.say("#hotfix the flaky test");
  await wait(1);
  chat.say(long);
  await wait(2);
  chat.terminal.paste("# Release notes");
  chat.terminal.press("enter");
  await wait(3);
  chat.terminal.paste("# Task\n\nDo it.");
  chat.terminal.press("enter");
  await wait(4);
  const sent = chat.provider.requests.map((messages) => messages.at(-1)?.content);
  assertEquals(sent, ["#hotfix the flaky test", long, "# Release notes", "# Task\n\nDo it."]);
  chat.say("/memory");
  await chat.shows("Nothing is remembered here");
});

Deno.test("//, #12 and paths are text; an unknown command is reported and returned", async () => {
  await using chat = await openChat({ replies: [say("a"), say("b"), say("c")] });
  for (const [at, text] of ["//x", "#12 is broken", "/etc/hosts says what?"].entries()) {
    chat.say(text);
    await chat.until(() => turnEnds(chat).length === at + 1);
  }
  const asked = chat.provider.requests.map((messages) => messages.at(-1)?.content);
  assertEquals(asked, ["/x", "#12 is broken", "/etc/hosts says what?"]);
  chat.say("/hlep");
  await chat.shows("/help");
  await chat.until(() => composed(chat) === "/hlep");
  assertEquals(chat.provider.requests.length, 3);
});

Deno.test("a signal ends the turn as terminated, restores the terminal and exits with 143", async () => {
  await using chat = await openChat({ replies: [heldReply("Working")] });
  chat.say("go");
  await chat.shows("Working");
  chat.terminal.hangUp("SIGHUP");
  assertEquals(await chat.left, 143);
  assertEquals(turnEnds(chat), ["terminated"]);
  assertEquals(chat.terminal.state, "idle");
});

Deno.test("Escape in a prompt refuses the call and stops the turn", async () => {
  await using chat = await openChat({
    replies: [[call("1", "write_file", { path: "a.txt", content: "a" }), {
      type: "done",
      reason: "tool_calls",
    }]],
  });
  chat.say("write it");
  await chat.until(() => chat.events.some((event) => event.type === "approval.request"));
  await chat.shows("a.txt");
  chat.terminal.press("escape");
  await chat.until(() => turnEnds(chat).length === 1);
  assertEquals(turnEnds(chat), ["interrupted"]);
});

Deno.test("a new session keeps the user's modes, and is not used if it cannot be opened", async () => {
  let broken = false;
  await using chat = await openChat({
    replies: [say("one"), say("two"), say("three")],
    beforeOpen() {
      if (broken) throw new ReasonixError("Cannot open it", { exit: "config" });
    },
  });
  chat.say("first");
  await chat.until(() => turnEnds(chat).length === 1);
  const before = chat.assembly();
  await before.modes.setApproval("auto");
  await before.modes.setPermission("plan");
  chat.say("/new");
  await chat.until(() => chat.assembly() !== before);
  await chat.until(() => chat.assembly().modes.permission === "plan");
  assertEquals(chat.assembly().modes.approval, "auto");
  broken = true;
  const kept = chat.assembly();
  chat.say("/new");
  await chat.shows("Cannot open it");
  chat.terminal.press("ctrl+c");
  chat.say("second");
  await chat.until(() => turnEnds(chat).length === 2);
  assertEquals(chat.assembly(), kept);
  const hasNote = chat.provider.requests[1]?.some(({ content }) => String(content).startsWith("<mode>"));
  assertEquals(hasNote, true);
});

Deno.test("a failed session is not opened again while a message is being written", async () => {
  let asked = 0;
  await using chat = await openChat({
    replies: [say("there")],
    beforeOpen: () => {
      if (++asked === 1) throw new ReasonixError("No provider is set up");
      return Promise.resolve();
    },
  });
  await chat.shows("No provider is set up");
  chat.terminal.type("hello");
  await chat.until(() => composed(chat) === "hello");
  // Longer than the delay before the program prepares for a message.
  await new Promise((resolve) => setTimeout(resolve, 400));
  assertEquals(asked, 1);
  chat.terminal.press("enter");
  await chat.shows("there");
  assertEquals(asked, 2);
});

Deno.test("a server that fails before the first message is reported once, immediately", async () => {
  const lines = { "en": "MCP server dead cannot be used", "zh-CN": "MCP 服务器 dead" } as const;
  for (const locale of ["en", "zh-CN"] as const) {
    const plugins = [{ name: "dead", ...scriptedServer({ diesOn: "start" }) }];
    await using chat = await openChat({ replies: [say("Noted.")], config: { plugins }, locale });
    await chat.shows(lines[locale]);
    assertEquals(chat.events, [], "nothing is recorded before the first message");
    chat.say("hello");
    await chat.shows("Noted.");
    await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
    assert(chat.events.some((event) => event.type === "mcp.server" && event.state === "failed"));
    const shown = chat.terminal.text().filter((line) => line.includes(lines[locale]));
    assertEquals(shown.length, 1, chat.terminal.text().join("\n"));
  }
});

/** The last non-empty row of the screen. */
const lastRow = (rows: readonly string[]) => rows.findLast((row) => row !== "") ?? "";

Deno.test("the status line shows model and mode, drops the least important, and never wraps", async () => {
  for (
    const [columns, locale, mode] of [[100, "en", "ask"], [40, "zh-CN", "询问"], [20, "en", "ask"]] as const
  ) {
    await using chat = await openChat({ replies: [say("done.")], columns, locale });
    chat.say("go");
    await chat.shows("done.");
    await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
    const model = chat.assembly().provider.model.id;
    await chat.until(() => lastRow(chat.terminal.screen()).startsWith(`${model} · ${mode}`));
    const line = lastRow(chat.terminal.screen());
    assert(displayWidth(line) <= columns, line);
    assertEquals(line.includes("work"), columns > 20, line);
  }
});

Deno.test("the status line shows a changed mode", async () => {
  await using chat = await openChat();
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· ask"));
  chat.terminal.press("shift+tab");
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· auto"));
});

Deno.test("the status line shows plan mode with the approval mode that follows", async () => {
  for (const [locale, shown] of [["en", "· plan (then auto)"], ["zh-CN", "· 计划（之后 自动）"]] as const) {
    await using chat = await openChat({ locale });
    await chat.until(() => lastRow(chat.terminal.screen()) !== "");
    chat.say("/mode auto");
    chat.say("/mode plan");
    await chat.until(() => lastRow(chat.terminal.screen()).includes(shown));
  }
});

Deno.test("the status line reports that no session is open, and later which one is", async () => {
  let broken = true;
  await using chat = await openChat({
    replies: [say("done.")],
    beforeOpen() {
      if (broken) throw new ReasonixError("Cannot open it", { exit: "config" });
    },
  });
  await chat.shows("Cannot open it");
  await chat.until(() => lastRow(chat.terminal.screen()) === "no session is open");
  broken = false;
  chat.say("go");
  await chat.shows("done.");
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· ask"));
});

Deno.test("the status line does not show a command as running while its prompt waits", async () => {
  await using chat = await openChat();
  await chat.until(() => lastRow(chat.terminal.screen()).includes("· ask"));
  chat.say("/mode");
  await chat.shows("How should the agent work?");
  assert(lastRow(chat.terminal.screen()).includes("· ask"), chat.terminal.screen().join("\n"));
});
