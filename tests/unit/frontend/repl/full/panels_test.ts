import { call, say } from "../../../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { type ChatStage, type ChatStageOptions, openChat } from "../../../../support/chat_stage.ts";
import type { ArgumentValue, CommandHost } from "../../../../../src/command/mod.ts";
import type { Event, NewEvent } from "../../../../../src/core/mod.ts";
import { FilesPanel } from "../../../../../src/frontend/repl/full/files.ts";
import {
  ListPanel,
  type PanelDeps,
  type PanelTexts,
} from "../../../../../src/frontend/repl/full/list_panel.ts";
import { LogPanel } from "../../../../../src/frontend/repl/full/log_panel.ts";
import { palettePanel } from "../../../../../src/frontend/repl/full/palette.ts";
import { plainText, StyledLines } from "../../../../../src/frontend/repl/overlay/styled_lines.ts";
import { SessionLog } from "../../../../../src/frontend/session/session_log.ts";
import { SideBar } from "../../../../../src/frontend/repl/full/side_bar.ts";
import { withoutStyles } from "../../../../../src/frontend/repl/screen/line.ts";
import { loadTexts, type Locale } from "../../../../../src/i18n/mod.ts";
import { displayWidth } from "../../../../../src/util/display_width.ts";
import { type DiffMarks, loadDiffMarks, palette } from "../../../../../src/view/mod.ts";

const DONE = { type: "done", reason: "tool_calls" } as const;

async function panelTexts(locale: Locale): Promise<PanelTexts> {
  const [details, full, overlay, run, turns, chat] = await Promise.all([
    loadTexts("details", locale),
    loadTexts("full", locale),
    loadTexts("overlay", locale),
    loadTexts("run", locale),
    loadTexts("turn_view", locale),
    loadTexts("chat", locale),
  ]);
  return { details, full, overlay, rows: { ...run, ...turns }, status: chat.statusLine };
}

interface Panels {
  readonly deps: PanelDeps;
  readonly log: SessionLog;
  readonly logPanel: LogPanel;
  readonly files: FilesPanel;
  readonly bar: SideBar;
  /** Resolves when a panel shows a text. */
  shows(panel: { frame: LogPanel["frame"] }, text: string): Promise<void>;
}

/** The panels of a chat whose own view is another one. */
async function panelsOf(chat: ChatStage, locale: Locale = "en"): Promise<Panels> {
  const texts = await panelTexts(locale);
  const colors = palette(true);
  const marks = await loadDiffMarks(colors);
  const failures: unknown[] = [];
  const log = new SessionLog({
    texts: () => texts.rows,
    changed: () => {},
    failed: (error) => failures.push(error),
  });
  log.opened(chat.assembly());
  const deps: PanelDeps = {
    log,
    palette: colors,
    assembly: () => chat.assembly(),
    marks: () => marks,
    texts: () => texts,
    problem: String,
    changed: () => {},
  };
  return {
    deps,
    log,
    logPanel: new LogPanel(deps),
    files: new FilesPanel(deps),
    bar: new SideBar(deps),
    async shows(panel, text) {
      for (let tries = 0; !plain(panel).some((line) => line.includes(text)); tries++) {
        if (failures.length > 0) throw failures[0];
        if (tries > 2000) throw new Error(`No "${text}" in:\n${plain(panel).join("\n")}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    },
  };
}

function plain(panel: { frame: LogPanel["frame"] }, columns = 80, rows = 24): string[] {
  const { lines } = panel.frame(columns, rows);
  assert(lines.length <= rows, `${lines.length} lines of ${rows}`);
  const text = lines.map(withoutStyles);
  for (const line of text) assert(displayWidth(line) <= columns, `${columns}: ${line}`);
  return text;
}

/** A chat in which files were read, written and changed. */
async function worked(options: ChatStageOptions = {}): Promise<ChatStage> {
  const chat = await openChat({
    ...options,
    start: { approvalMode: "yolo" },
    replies: [
      [call("1", "read_file", { path: "notes.txt" }), DONE],
      [call("2", "write_file", { path: "src/main.ts", content: "const a = 1;\nconst b = 2;\n" }), DONE],
      [
        call("3", "edit_file", {
          path: "./src/main.ts",
          old_string: "const a = 1;",
          new_string: "const a = 7;",
        }),
        DONE,
      ],
      [call("4", "read_file", { path: "missing.txt" }), DONE],
      say("Done."),
    ],
  });
  await Deno.writeTextFile(`${chat.cwd}/notes.txt`, "一 note\nand another\n");
  chat.say("Work");
  await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
  return chat;
}

for (const onDisk of [false, true]) {
  Deno.test(`LogPanel lists calls, filters them, and shows one in full (${onDisk ? "a file" : "memory"})`, async () => {
    await using chat = await worked({ onDisk });
    const { logPanel, shows } = await panelsOf(chat);
    assertEquals(plain(logPanel), ["Loading…"]);
    await shows(logPanel, "write src/main.ts");
    const all = plain(logPanel);
    assert(all.some((line) => /\d\d:\d\d:\d\d ✗ .*missing\.txt/.test(line)), all.join("\n"));
    assert(all.some((line) => /\d\d:\d\d:\d\d ✓ .*notes\.txt/.test(line)), all.join("\n"));

    logPanel.key("l");
    logPanel.key("l");
    assertEquals(plain(logPanel).length, 1, "only errors");
    assertStringIncludes(logPanel.title(), "Log · errors · 1 entry");
    logPanel.key("l");
    logPanel.key("s");
    assertStringIncludes(logPanel.title(), "Log · Calls · 4 entries");

    for (let step = 0; step < 3; step++) logPanel.key("up");
    logPanel.key("enter");
    const whole = plain(logPanel).join("\n");
    assertStringIncludes(whole, `{"path":"notes.txt"}`);
    assertStringIncludes(whole, "1→一 note");
    assertStringIncludes(logPanel.copied() ?? "", "and another");
    logPanel.key("escape");
    assertStringIncludes(logPanel.copied() ?? "", "and another");
    assertEquals(plain(logPanel).length, 4);
  });
}

Deno.test("LogPanel follows the end until the cursor is moved", async () => {
  await using chat = await worked();
  const { logPanel, log, shows } = await panelsOf(chat);
  await shows(logPanel, "write src/main.ts");
  let seq = Math.max(...chat.events.map((event) => event.seq));
  const add = (text: string) => {
    const time = new Date().toISOString();
    log.event({ v: 1, seq: ++seq, time, type: "notice", level: "warning", code: "x", text } as Event);
  };
  for (let count = 0; count < 40; count++) add(`notice ${count}`);
  assertStringIncludes(plain(logPanel, 60, 5).at(-1) ?? "", "› ");
  assertStringIncludes(plain(logPanel, 60, 5).at(-1) ?? "", "! notice 39");
  assert(!logPanel.title().includes("new"), logPanel.title());
  logPanel.key("up");
  const before = plain(logPanel, 60, 5);
  for (let count = 40; count < 50; count++) add(`notice ${count}`);
  assertEquals(plain(logPanel, 60, 5), before, "it stays");
  assertStringIncludes(logPanel.title(), " entries · 10 new");
  assert(logPanel.hints().includes("End follows"));
  logPanel.key("l");
  add("a warning");
  assertStringIncludes(logPanel.title(), " entries · 11 new");
  for (const key of ["l", "l"]) logPanel.key(key);
  logPanel.key("end");
  assert(!logPanel.title().includes("new"), logPanel.title());
  assert(!logPanel.hints().includes("End follows"));
  assertStringIncludes(plain(logPanel, 60, 5).at(-1) ?? "", "! a warning");
  // Hidden and reordering characters of a notice are left out.
  add("a\x1b[31mred\u202eevil\x07 一二三");
  assertStringIncludes(plain(logPanel, 60, 5).at(-1) ?? "", "! aredevil 一二三");
  add("long ".repeat(100));
  assert(plain(logPanel, 20, 5).at(-1)?.endsWith("…"));
  for (
    const text of ["👩‍👩‍👧‍👦".repeat(40), "🇩🇪🇨🇳".repeat(30), "字".repeat(99), "e\u0301\u200b\u2066".repeat(60)]
  ) {
    add(text);
    logPanel.key("enter");
    for (const open of [true, false]) {
      for (let columns = 4; columns < 40; columns++) plain(logPanel, columns, 1 + columns % 9);
      if (open) logPanel.key("escape");
      logPanel.key("end");
    }
  }
});

Deno.test("LogPanel names each state of MCP and language servers", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    await using chat = await worked();
    const { logPanel, log, shows } = await panelsOf(chat, locale);
    await shows(logPanel, "src/main.ts");
    let seq = Math.max(...chat.events.map((event) => event.seq));
    const add = (event: NewEvent) =>
      log.event({ v: 1, seq: ++seq, time: new Date().toISOString(), ...event });
    for (const state of ["starting", "ready"] as const) {
      add({ type: "mcp.server", server: "git", state });
      add({ type: "lsp.server", server: "go", state });
    }
    add({ type: "lsp.server", server: "go", state: "stopped", detail: "it ended with exit code 3" });
    for (const key of ["s", "s"]) logPanel.key(key);
    const rows = plain(logPanel).map((line) => line.slice(11));
    assertEquals(
      rows,
      locale === "en"
        ? [
          "· MCP server git: starting",
          "· language server go: starting",
          "· MCP server git: ready",
          "· language server go: ready",
          "! language server go: ended",
        ]
        : [
          "· MCP 服务器 git：正在启动",
          "· 语言服务器 go：正在启动",
          "· MCP 服务器 git：就绪",
          "· 语言服务器 go：就绪",
          "! 语言服务器 go：已结束",
        ],
    );
    logPanel.key("end");
    logPanel.key("enter");
    assertStringIncludes(plain(logPanel).join("\n"), "it ended with exit code 3");
  }
});

Deno.test("SessionLog forgets what a rewind leaves, and reads other texts for another language", async () => {
  await using chat = await worked({ onDisk: true });
  const { log, logPanel, shows } = await panelsOf(chat);
  await shows(logPanel, "write src/main.ts");
  const to = chat.events.findLast(({ type }) => type === "turn.start")?.seq ?? 0;
  const { recorder } = chat.assembly().controller;
  await recorder.record({ type: "rewind", to, scope: "conversation" });
  await recorder.sync();
  await chat.until(() => chat.events.some(({ type }) => type === "rewind"));
  const event = chat.events.at(-1);
  if (event) log.event(event);
  await shows(logPanel, "went back");
  assertEquals(plain(logPanel).filter((line) => line.includes("src/main.ts")), []);
});

Deno.test("FilesPanel lists files newest first, with the diff or the content of the chosen one", async () => {
  await using chat = await worked();
  const { files, shows } = await panelsOf(chat);
  await shows(files, "src/main.ts");
  await shows(files, "const a = 7;");
  const [first = "", second = ""] = plain(files);
  assertEquals([first, second], ["› new +3 −1  src/main.ts", "  read  notes.txt"]);
  assertEquals(files.title(), "Files · 2 entries · +3 −1");
  assertEquals(files.copied(), "src/main.ts");
  files.key("enter");
  const diff = plain(files);
  assertEquals(diff[0], "changed +1 −1", "the last change is first");
  assert(diff.some((line) => line.includes("- const a = 1;")), diff.join("\n"));
  files.key("c");
  await shows(files, "1→const a = 7;");
  files.key("escape");
  files.key("down");
  await shows(files, "1→一 note");
  assert(files.find("main", 1) && files.copied() === "src/main.ts");
  assert(!files.find("nowhere", 1));
});

Deno.test("FilesPanel and LogPanel color only lines near those in view, of a long file and a long diff", async () => {
  const text = Array.from({ length: 9000 }, (_, at) => `const value${at} = "text ${at}";`).join("\n");
  await using chat = await openChat({
    start: { approvalMode: "yolo" },
    replies: [[call("1", "write_file", { path: "src/long.ts", content: text }), DONE], say("Done.")],
  });
  chat.say("Work");
  await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
  const { deps, log, shows } = await panelsOf(chat);
  const marks = await loadDiffMarks(palette(true));
  let colored = 0;
  const counting: DiffMarks = {
    words: marks.words,
    syntax: (code, language) => {
      colored += code.split("\n").length;
      return marks.syntax?.(code, language);
    },
    highlight: (code, language) => {
      colored += code.split("\n").length;
      return marks.highlight?.(code, language);
    },
  };
  const counted = { ...deps, marks: () => counting };
  const files = new FilesPanel(counted);
  const logPanel = new LogPanel(counted);
  // Two parts with the lines before them, and of a diff with the empty text of the other side.
  const most = 2 * (64 + 40 + 1);
  const page = (panel: FilesPanel | LogPanel, key: string) => {
    colored = 0;
    panel.key(key);
    const [before, lines] = [colored, plain(panel, 80, 30)];
    assert(before === 0 && colored <= most, `${key}: ${colored} lines`);
    return lines;
  };
  await shows(files, "1 + const value0");
  files.frame(80, 30);
  page(files, "enter");
  assertStringIncludes(page(files, "end").at(-2) ?? "", "[diff cut");
  for (let pages = 0; pages < 20; pages++) page(files, "pageUp");
  colored = 0;
  for (const columns of [80, 40, 80]) plain(files, columns, 30);
  assert(colored <= 2 * most, `${colored} lines for other widths`);
  page(files, "escape");
  files.key("c");
  await shows(files, "1→const value0");
  page(files, "enter");
  for (const key of ["pageDown", "end", "pageUp", "home"]) page(files, key);
  assert(files.find("value7000 ", 1));
  assert(page(files, "n").some((line) => line.includes('7001→const value7000 = "text 7000";')));
  await shows(logPanel, "write src/long.ts");
  page(logPanel, "enter");
  for (const key of ["end", "pageUp", "home"]) page(logPanel, key);
  assertEquals(log.files.length, 1);
});

Deno.test("FilesPanel shows what commands have changed, once the turn has ended", async () => {
  await using chat = await openChat({
    start: { approvalMode: "yolo" },
    onDisk: true,
    replies: [[call("1", "bash", { command: "echo 你好 > made.txt && rm old.txt" }), DONE], say("Done.")],
  });
  await Deno.writeTextFile(`${chat.cwd}/old.txt`, "old\n");
  chat.say("Work");
  await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
  const { files, bar, shows } = await panelsOf(chat);
  await shows(files, "made.txt");
  await shows(files, "1 + 你好");
  assertEquals(plain(files).slice(0, 2), ["› new +1 −0  made.txt", "  deleted +0 −1  old.txt"]);
  files.key("down");
  await shows(files, "1 - old");
  assertStringIncludes(plain(bar, 30, 30).join("\n"), "2 changed files\nmade.txt +1 −0\nold.txt +0 −1");
});

Deno.test("FilesPanel says why it does not show a file, and follows no link out of the workspace", async () => {
  await using chat = await worked();
  const { files, log, shows } = await panelsOf(chat);
  await Deno.writeTextFile(`${chat.home}/secret`, "SECRET");
  await Deno.symlink(`${chat.home}/secret`, `${chat.cwd}/link`);
  await Deno.writeFile(`${chat.cwd}/data.bin`, new Uint8Array(5000));
  await Deno.writeTextFile(`${chat.cwd}/long.txt`, `${"字".repeat(300)}\n`.repeat(2000));
  await shows(files, "src/main.ts");
  let seq = Math.max(...chat.events.map((event) => event.seq));
  const time = new Date().toISOString();
  for (const path of ["link", "data.bin", "gone\x1b[31m\u202e.txt", "long.txt"]) {
    const id = `x${seq}`;
    const called = { id, name: "read_file", arguments: "" };
    log.event({
      v: 1,
      seq: ++seq,
      time,
      type: "tool.start",
      call: called,
      readOnly: true,
      paths: [path],
      summary: "",
    });
    const end = {
      callId: id,
      name: "read_file",
      outcome: "ok" as const,
      content: "",
      summary: "",
      durationMs: 1,
    };
    log.event({ v: 1, seq: ++seq, time, type: "tool.end", ...end });
  }
  await shows(files, "字字");
  files.key("down");
  await shows(files, "gone\\x1b[31m\\u{202e}.txt");
  files.key("down");
  await shows(files, "binary file of 5000 bytes");
  files.key("down");
  await chat.until(() => !plain(files).at(-1)?.includes("Loading"));
  assert(!plain(files).join("\n").includes("SECRET"), plain(files).join("\n"));
  for (const [columns, rows] of [[20, 5], [31, 3], [90, 1], [300, 100]] as const) plain(files, columns, rows);
});

Deno.test("The full-screen view shows the panels, copies what is under the cursor, and drafts a file", async () => {
  await using chat = await worked({ view: "full", columns: 150, rows: 34 });
  const { terminal } = chat;
  const key = async (key: string, awaited: string) => {
    terminal.press(key);
    await chat.shows(awaited);
  };
  await chat.shows("1 + const a = 7;");
  await chat.shows("─ Files · 2 entries · +3 −1 ─ Log ─");
  await key("tab", "Esc message");
  await key("tab", "c diff or content");
  await key("tab", "› ");
  await chat.shows("s source");
  await chat.shows("─ Files ─ Log · 4 entries ─");
  terminal.type("l");
  await chat.shows("Log · warnings and errors · 1 entry");
  await key("enter", '{"path":"missing.txt"}');
  terminal.type("y");
  await chat.until(() => terminal.writes.some((text) => text.includes("\x1b]52;c;")));
  await chat.shows("your terminal's clipboard (OSC 52)");
  await key("escape", "› ");
  await chat.pause();
  await key("ctrl+p", "type to filter");
  for (const text of "srcmn") terminal.type(text);
  await chat.shows("› src/main.ts");
  await chat.pause();
  await key("enter", "> @src/main.ts");
  terminal.press("escape");
  terminal.press("escape");
  await chat.shows("> Ask for something");
  await chat.pause();
  await key("ctrl+p", "type to filter");
  for (const text of "theme") terminal.type(text);
  await chat.shows("› /theme");
  await chat.pause();
  await key("enter", "high-contrast");
  // The list of the command takes keys at once.
  await chat.pause();
  await key("escape", "Tab panels");
  // The log of another session is at its end.
  const toLog = async () => {
    await key("tab", "Esc message");
    await key("tab", "c diff or content");
    await key("tab", "s source");
  };
  await toLog();
  for (const text of "ll") terminal.type(text);
  await key("up", "End follows");
  await key("escape", "Tab panels");
  chat.say("/new");
  await chat.until(() => !terminal.screen().join("\n").includes("Done."));
  await toLog();
  assert(!terminal.screen().join("\n").includes("End follows"), terminal.screen().join("\n"));
});

class Numbers extends ListPanel<number> {
  protected readonly newestIsLast = false;
  protected readonly ownHints = [];
  drawn = 0;
  readonly #all = Array.from({ length: 10_000 }, (_, index) => index);
  #read: { readonly entry: number; readonly lines: StyledLines } | undefined;

  protected entries(): readonly number[] {
    return this.#all;
  }
  protected keyOf(entry: number): string {
    return `${entry}`;
  }
  protected textOf(entry: number): string {
    this.drawn++;
    return `Entry ${entry} 数字`;
  }
  protected colored(_entry: number, row: string): string {
    return row;
  }
  protected copyOf(entry: number): string {
    return `${entry}`;
  }
  protected linesOf(entry: number): StyledLines {
    if (this.#read?.entry === entry) return this.#read.lines;
    const lines = Array.from(
      { length: 500 },
      (_, line) => `line ${line} of ${entry} ${line === 400 ? "x".repeat(500) + "needle" : ""}`,
    );
    this.#read = { entry, lines: new StyledLines([plainText(lines)]) };
    return this.#read.lines;
  }
  title(): string {
    return "Numbers";
  }
}

Deno.test("ListPanel lays out visible entries only, and finds others around the end", async () => {
  await using chat = await worked();
  const { deps } = await panelsOf(chat);
  const panel = new Numbers(deps);
  const first = () =>
    withoutStyles(panel.frame(40, 10).lines.find((line) => withoutStyles(line).startsWith("›")) ?? "");
  assertEquals(first(), "› Entry 0 数字");
  assertEquals(panel.drawn, 10);
  panel.key("end");
  assertEquals(first(), "› Entry 9999 数字");
  panel.key("pageUp");
  assertEquals(first(), "› Entry 9990 数字");
  assert(panel.find("entry 123", 1));
  assertEquals(first(), "› Entry 123 数字", "around the end");
  assert(
    panel.frame(40, 10).lines.some((line) => line.includes("\x1b[7mEntry 123\x1b[27m")),
    "matches are emphasised",
  );
  assert(panel.find("entry 123", 1));
  assertEquals(first(), "› Entry 1230 数字");
  assert(panel.find("entry 123", -1));
  assertEquals(first(), "› Entry 123 数字");
  assert(!panel.find("none of them", 1));
  panel.key("home");
  assertEquals(first(), "› Entry 0 数字");
  panel.click(3);
  assertEquals(first(), "› Entry 3 数字");
  panel.key("enter");
  assertEquals(plain(panel, 40, 10)[0], "line 0 of 3 ");
  assert(panel.find("needle", 1));
  assert(plain(panel, 40, 10).some((row) => row.includes("needle")), "a match far in a long line is in view");
  panel.key("home");
  assertEquals(plain(panel, 40, 10)[0], "line 0 of 3 ");
  panel.key("escape");
  assertEquals(first(), "› Entry 3 数字");
});

for (const locale of ["en", "zh-CN"] as const) {
  Deno.test(`SideBar leaves out its least important parts (${locale})`, async () => {
    await using chat = await worked({ locale });
    const { bar, shows } = await panelsOf(chat, locale);
    await shows(bar, "src/main.ts");
    const whole = plain(bar, 30, 40).join("\n");
    for (const part of ["Work", locale === "en" ? "yolo" : "全部放行", "+3 −1"]) {
      assertStringIncludes(whole, part);
    }
    for (let rows = 0; rows < 20; rows++) for (const columns of [10, 20, 29, 60]) plain(bar, columns, rows);
    assertEquals(plain(bar, 30, 1), ["Work"]);
  });
}

Deno.test("palettePanel finds commands, sessions, models and files, and sends or drafts what is chosen", async () => {
  await using chat = await worked();
  const texts = await panelTexts("en");
  const host = chat.live.commandsOf();
  const values: Readonly<Record<string, readonly ArgumentValue[]>> = {
    model: [{ value: "vendor/flash-2" }, { value: "vendor/pro" }],
    resume: [{ value: "2026-01", detail: "The bug of yesterday", also: "The bug of yesterday" }],
  };
  const commands: CommandHost = {
    ...host,
    locale: "en",
    opening: false,
    commands: async () =>
      (await host.commands()).map((command) => ({ ...command, complete: () => values[command.name] ?? [] })),
  };
  const chosen = async (query: string, awaited: string) => {
    let done = "";
    const panel = palettePanel({
      style: { palette: palette(false), texts: texts.overlay, changed: () => {} },
      texts: texts.full.palette,
      commands,
      live: chat.live,
      paths: { cwd: chat.cwd },
      submit: (line) => done = line,
      type: (text) => done = `draft: ${text}`,
    });
    for (const text of query) panel.input({ kind: "key", key: text, text });
    await chat.until(() => plain(panel, 80, 20).some((line) => line.startsWith(`› ${awaited}`)));
    panel.input({ kind: "key", key: "enter" });
    (await panel.answer)?.();
    return done;
  };
  assertEquals(await chosen("cmpct", "/compact"), "/compact");
  assertEquals(await chosen("/renam", "/rename"), "draft: /rename ");
  assertEquals(await chosen("srcmain", "src/main.ts"), "draft: @src/main.ts ");
  assertEquals(await chosen("flash", "vendor/flash-2"), "/model vendor/flash-2");
  assertEquals(await chosen("yesterday", "2026-01"), "/resume 2026-01");
});
