/** Panels of the chat itself, in both languages and two widths. UPDATE_GOLDEN=1 records a changed one. */
import { call, type Reply } from "../../../../support/agent_fixture.ts";
import { assertEquals } from "../../../../support/assert.ts";
import { type ChatStage, openChat } from "../../../../support/chat_stage.ts";

/** A panel that says nothing of this machine. */
interface Panel {
  /** A line to type, or what else opens it. */
  readonly open: string | ((chat: ChatStage) => void | Promise<void>);
  /** Shown once it is there. */
  readonly mark: RegExp;
  /** What is typed, or pressed, then. */
  readonly typed?: string;
  readonly pressed?: string;
  readonly replies?: readonly Reply[];
  readonly onDisk?: boolean;
  readonly rows?: number;
}

const FORTY_TWO: Reply = [
  { type: "reasoning", text: "Six by seven.\n六乘七。" },
  { type: "text", text: "Forty-two." },
  { type: "done", reason: "stop" },
];
const WRITE: Reply = [
  call("1", "bash", { command: "touch made" }),
  { type: "done", reason: "tool_calls" },
];
const CONFIG = {
  sandbox: { bash: "off" as const },
  default_model: "mock/one",
  providers: [{ name: "mock", kind: "openai", base_url: "http://127.0.0.1:9", models: ["one", "模型-β"] }],
};

const PANELS: Readonly<Record<string, Panel>> = {
  rewind: { open: "/rewind", mark: /Drops|将舍弃|不舍弃/ },
  permissions: { open: "/permissions", mark: /Add a rule|添加规则/ },
  settings: { open: "/settings", mark: /All settings|全部设置|▼|↓/ },
  model: { open: "/model", mark: /mock\/one/ },
  mode: { open: "/mode", mark: /8\. write/, rows: 36 },
  theme: { open: "/theme", mark: /high-contrast/ },
  lang: { open: "/lang", mark: /简体中文/ },
  effort: { open: "/effort", mark: /minimal/ },
  sessions: { open: toAnotherSession, mark: /Explain/, onDisk: true },
  folded_list: { open: (chat) => chat.terminal.press("ctrl+o"), mark: /▸/ },
  folded_text: { open: (chat) => chat.terminal.press("ctrl+o"), mark: /▸/, pressed: "enter" },
  beside_a_draft: {
    open(chat) {
      chat.say("make it");
      chat.terminal.type("and then 然后");
    },
    mark: /touch made[^]*> and then 然后/,
    replies: [FORTY_TWO, WRITE],
    rows: 30,
  },
};

/** Leaves two sessions for a third one. They come from the future, so that nobody sees how old they are. */
async function toAnotherSession(chat: ChatStage): Promise<void> {
  for (const text of ["修复登录页面的错误", "Explain the parser"]) {
    await newSession(chat);
    await turn(chat, text);
  }
  await newSession(chat);
  for (const project of Deno.readDirSync(`${chat.home}/projects`)) {
    const sessions = `${chat.home}/projects/${project.name}/sessions`;
    const names = [...Deno.readDirSync(sessions)].map(({ name }) => name).filter((name) =>
      /jsonl$/.test(name)
    );
    for (const name of names) {
      const text = await Deno.readTextFile(`${sessions}/${name}`);
      const year = 2100 +
        ["what is it?", "修复登录", "Explain the parser"].findIndex((each) => text.includes(each));
      await Deno.utime(`${sessions}/${name}`, 0, Date.UTC(year) / 1000);
    }
  }
  chat.say("/resume");
}

async function newSession(chat: ChatStage): Promise<void> {
  const { length } = chat.opened;
  chat.say("/new");
  await chat.until(() => chat.opened.length > length && chat.assembly().session.state.turns.length === 0);
}

async function turn(chat: ChatStage, text: string): Promise<void> {
  const ends = () => chat.events.filter(({ type }) => type === "turn.end").length;
  const before = ends();
  chat.say(text);
  await chat.until(() => ends() > before);
}

function picture({ terminal }: ChatStage): string {
  const shown = terminal.screen().join("\n").trimEnd().split("\n");
  // The status line is somebody else's.
  return shown.slice(shown.findIndex((row) => /^─{20}/.test(row)), -1).join("\n");
}

for (const [name, panel] of Object.entries(PANELS)) {
  Deno.test(`the panel ${name} of the chat looks as recorded`, async () => {
    const { open, mark, typed = "", pressed, replies = [], onDisk = false, rows = 16 } = panel;
    const pictures: string[] = [];
    for (const locale of ["en", "zh-CN"] as const) {
      for (const columns of [80, 40]) {
        await using chat = await openChat({
          replies: replies.length > 0 ? replies : [FORTY_TWO, FORTY_TWO, FORTY_TWO],
          config: CONFIG,
          env: () => undefined,
          locale,
          columns,
          rows,
          onDisk,
        });
        await turn(chat, "what is it?");
        await chat.shows("Forty-two.");
        if (typeof open === "string") chat.say(open);
        else await open(chat);
        const isShown = (shown: string) => /^─{20}/m.test(shown) && mark.test(shown);
        await chat.until(() => isShown(chat.terminal.screen().join("\n")));
        chat.terminal.type(typed);
        if (pressed) chat.terminal.press(pressed);
        pictures.push(`== ${locale}, ${columns} columns\n${picture(chat)}\n`);
      }
    }
    const file = new URL(`../../../../golden/chat/${name}.txt`, import.meta.url);
    const now = pictures.join("\n");
    if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, now);
    assertEquals(
      now,
      await Deno.readTextFile(file),
      "a changed panel is a decision: UPDATE_GOLDEN=1 records it",
    );
  });
}
