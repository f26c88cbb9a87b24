/** Golden screens of the full-screen view, each in two languages and three sizes, and in two themes. */
import { message } from "../../../../../src/core/mod.ts";
import type { Locale } from "../../../../../src/i18n/mod.ts";
import type { ApprovalQuestion } from "../../../../../src/frontend/session/questions.ts";
import type { LiveSession } from "../../../../../src/frontend/session/live_session.ts";
import type { ChatStage } from "../../../../support/chat_stage.ts";
import { displayWidth } from "../../../../../src/util/display_width.ts";
import { assertStraight, openWorkedChat } from "../../../../support/full_stage.ts";
import { assertRecorded } from "../../../../support/recorded_panel.ts";

interface Shot {
  readonly prepare?: (chat: ChatStage) => void;
  readonly keys?: readonly string[];
  /** Pressed where the side bar has no space. */
  readonly narrow?: readonly string[];
  /** Typed after the keys. */
  readonly text?: string;
  readonly question?: Partial<ApprovalQuestion>;
  /** Shown when it can be recorded. */
  readonly mark: RegExp;
}

const DIFF = [
  "--- a/src/主要.ts",
  "+++ b/src/主要.ts",
  "@@ -1,3 +1,4 @@",
  " // 问候",
  '-export const greeting = "hello";',
  '+export const greeting = "你好，世界";',
  "+export const answer = 42; // a comment that is longer than any line, not even on a wide screen, 真的",
  " export {};",
].join("\n");

const SCENES: Readonly<Record<string, Shot>> = {
  // The first one: what it has read is in the others.
  files: { keys: ["tab", "tab"], mark: /(changed|已修改) \+2 −1/ },
  chat: { keys: ["tab", "up"], mark: /漢字/ },
  files_content: { keys: ["tab", "tab", "down", "enter"], mark: /没有|笔记/ },
  log: { keys: ["tab", "tab", "tab"], mark: /write|写入/ },
  log_filtered: { keys: ["tab", "tab", "tab", "l", "l"], mark: /没有/ },
  // On a wide screen the key hides it; all other scenes show it there.
  side_bar: { keys: ["ctrl+b"], mark: /^/ },
  palette: { keys: ["ctrl+p"], text: "mod", mark: /\/model/ },
  search: { keys: ["tab", "ctrl+f"], text: "漢字\r", mark: /\/漢字/ },
  keys: { keys: ["?"], mark: /PageUp/ },
  approval: { question: {}, mark: /npm run build/ },
  approval_diff: {
    question: {
      tool: "edit_file",
      subject: "src/主要.ts",
      sessionRule: "Edit",
      rule: "Edit(/w/src/主要.ts)",
      projectRule: "Edit(src/主要.ts)",
      changes: [{ path: "/w/src/主要.ts", change: "updated", added: 2, removed: 1, diff: DIFF }],
    },
    mark: /a comment that is/,
  },
  approval_destructive: {
    question: {
      subject: "rm -rf ~/photos build",
      scopes: ["once"],
      destructive: [{
        command: "rm -rf ~/photos build",
        reason: message`it deletes ${"/h/ada/photos"}`,
        targets: [{ path: "/h/ada/photos", files: 1204 }, { path: "/mnt/照片", files: 5000, more: true }],
      }],
    },
    mark: /rm -rf/,
  },
  palette_sessions: { keys: ["ctrl+p"], text: "问候", mark: /2026-01-02/ },
  // The last one: the servers stay.
  side_bar_servers: { prepare: connectServers, narrow: ["ctrl+b"], mark: /gopls/ },
};

const SESSIONS = [
  { value: "2026-01-02-090000-aaaa", detail: "问候语的翻译 🇩🇪" },
  {
    value: "2026-01-01-180000-bbbb",
    detail: "A greeting (问候) that is longer than any row, 真的 ".repeat(3),
  },
];

/** Earlier sessions, as the command that resumes one proposes them. */
async function rememberSessions(live: LiveSession): Promise<void> {
  const commandsOf = live.commandsOf.bind(live);
  const { resume } = Object.fromEntries(
    (await commandsOf().commands()).map((command) => [command.name, command]),
  );
  if (resume) resume.complete = () => SESSIONS.map((session) => ({ ...session, also: session.detail }));
  live.commandsOf = (by) => {
    const host = commandsOf(by);
    const { commands: all } = host;
    const commands = async () =>
      (await all()).map((command) => command.name === "resume" && resume ? resume : command);
    return Object.defineProperties(host, { commands: { value: commands } });
  };
}

/** MCP and language servers in each state. */
function connectServers(chat: ChatStage): void {
  const assembly = chat.assembly();
  const states = ["ready", "starting", "needs-auth", "failed", "disabled", "idle"] as const;
  const status = states.map((state, at) => ({ name: `server-${at} 漢字`, state }));
  Object.defineProperty(assembly, "servers", { value: { status } });
  const languageServers = [
    { name: "gopls", root: "/w", state: "ready" },
    { name: "typescript", root: "/w", state: "stopped" },
  ];
  Object.defineProperty(assembly, "facts", { value: { ...assembly.facts, languageServers } });
}

const COMMAND: ApprovalQuestion = {
  callId: "1",
  tool: "bash",
  subject: "npm run build -- --mode production",
  reason: "",
  scopes: ["once", "session", "project", "always"],
  rule: "Bash(npm run build -- --mode production)",
  projectRule: "Bash(npm run build -- --mode production)",
  savedIn: "/h/ada/.reasonix/config.toml",
};

/** The texts of panels whose content is being read. */
const LOADING = /Loading…|正在加载……/;

const SIZES = [[160, 45], [100, 30], [60, 20]] as const;

/** The rows without what differs between runs and machines, in the same cells. */
function stable(rows: readonly string[]): string {
  return rows.join("\n").replaceAll(/\d\d:\d\d:\d\d/g, "00:00:00").replaceAll(
    /\/tmp\/reasonix-chat-[0-9a-f]+/g,
    (path) => "/srv/project-".padEnd(path.length, "0"),
    // A slow machine shows how long a call took.
  ).replaceAll(/ · \d+(?:\.\d+)? (?:s|秒)/g, (time) => " ".repeat(displayWidth(time))).replaceAll(
    / +$/gm,
    "",
  );
}

/** Shows each scene and returns what `picture` makes of it; the view is then as before. */
async function scenes(
  chat: ChatStage,
  picture: () => string | Promise<string>,
): Promise<Map<string, string>> {
  const { terminal, live: { questions } } = chat;
  const pictures = new Map<string, string>();
  for (const [name, shot] of Object.entries(SCENES)) {
    const { keys = [], narrow = [], text = "", question, mark } = shot;
    shot.prepare?.(chat);
    const abort = new AbortController();
    // While a person types, a question leaves the keyboard to the message.
    for (let pauses = 0; question && pauses < 3; pauses++) await chat.pause();
    const asked = question &&
      questions.ask("approval", { ...COMMAND, ...question }, { signal: abort.signal });
    for (const key of [...keys, ...terminal.columns < 140 ? narrow : []]) {
      terminal.press(key);
      await chat.pause();
    }
    terminal.type(text);
    await chat.until(() => {
      const screen = terminal.screen().join("\n");
      return mark.test(screen) && !LOADING.test(screen);
    });
    pictures.set(name, await picture());
    abort.abort();
    await asked?.catch(() => {});
    for (let tries = 0; tries < 4; tries++) {
      terminal.press("escape");
      await chat.pause();
    }
    if (name === "side_bar" && terminal.columns >= 140) terminal.press("ctrl+b");
  }
  return pictures;
}

Deno.test("each screen of the full-screen view looks as recorded", async (t) => {
  const all = new Map<string, string[]>();
  for (const locale of ["en", "zh-CN"] as const satisfies readonly Locale[]) {
    for (const [columns, rows] of SIZES) {
      await using chat = await openWorkedChat({ locale, columns, rows, beforeChat: rememberSessions });
      const pictures = await scenes(chat, () => {
        assertStraight(chat.terminal, `${columns}x${rows}`);
        return stable(chat.terminal.screen());
      });
      collect(all, `${locale}, ${columns} × ${rows}`, pictures);
    }
  }
  for (const [name, pictures] of all) {
    await t.step(name, () => assertRecorded(`full_${name}`, pictures.join("\n")));
  }
});

Deno.test("each screen of the full-screen view has the recorded colors in two themes", async (t) => {
  const all = new Map<string, string[]>();
  for (const theme of ["dark", "light"] as const) {
    await using chat = await openWorkedChat({
      colors: true,
      beforeChat: rememberSessions,
      columns: 100,
      rows: 24,
      config: { sandbox: { bash: "off" }, ui: { theme } },
    });
    // The colors of code are loaded with the first one.
    await chat.until(() => chat.terminal.styled().join("\n").includes("const{} a"));
    collect(all, theme, await scenes(chat, () => stable(chat.terminal.styled())));
  }
  for (const [name, pictures] of all) {
    await t.step(name, () => assertRecorded(`full_colors_${name}`, pictures.join("\n")));
  }
});

function collect(all: Map<string, string[]>, of: string, pictures: ReadonlyMap<string, string>): void {
  for (const [name, picture] of pictures) {
    all.set(name, [...all.get(name) ?? [], `== ${of}\n${picture}\n`]);
  }
}
