/** Prompts for calls through the program: in both languages, on a normal and a small screen. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { type Chat, drawnScreens, onTerminal, openChat } from "../support/terminal_chat.ts";

const SCREENS = [
  { columns: 80, rows: 24, lang: "en" },
  { columns: 40, rows: 15, lang: "en" },
  { columns: 80, rows: 24, lang: "zh-CN" },
  { columns: 40, rows: 15, lang: "zh-CN" },
] as const;

const tool = (name: string, args: Record<string, unknown>): Turn => ({ calls: [{ name, args }] });

interface Played {
  readonly chat: Chat;
  /** Results of calls, as the model gets them. */
  readonly results: () => string[];
  /** Waits for this number. */
  readonly resultsAre: (count: number) => Promise<void>;
}

async function play(
  { turns, screen, config = "" }: {
    readonly turns: readonly Turn[];
    readonly screen: (typeof SCREENS)[number];
    readonly config?: string;
  },
  look: (played: Played) => Promise<void>,
): Promise<void> {
  const { columns, rows, lang } = screen;
  await using server = startModelServer([...turns, { text: "That is all." }]);
  await using chat = await openChat(mockConfig(server.url, config), {
    columns,
    rows,
    env: { REASONIX_LANG: lang },
  });
  await chat.terminal.shows("mock");
  const results = () => {
    const messages = server.requests.at(-1)?.json.messages as { role: string; content: string }[];
    return messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  };
  const resultsAre = async (count: number) => {
    for (let looks = 0; looks < 600 && results().length < count; looks++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await look({ chat, results, resultsAre });
}

/** Rows of the panel without those of a diff or a command. */
async function panelRows(chat: Chat): Promise<string[]> {
  const screen = (await chat.terminal.screen()).split("\n");
  const from = screen.findLastIndex((row) => row.startsWith("────"));
  const to = screen.findLastIndex((row) => row.startsWith("↑↓"));
  return screen.slice(from, to + 1).filter((row) => !/^(?:[│┆] | *\d+ [ +-])/.test(row));
}

for (const screen of drawnScreens(SCREENS)) {
  const { columns, rows, lang } = screen;
  const at = `on ${columns}x${rows} in ${lang}`;
  const zh = lang === "zh-CN";
  const allowEdit = zh ? "允许 edit_file？" : "Allow edit_file?";
  const run = zh ? "运行这条命令？" : "Run this command?";
  const done = "That is all.";

  onTerminal(`calls that cannot succeed return to the model without a prompt ${at}`, async () => {
    const edit = { path: "a.js", old_string: "one", new_string: "two" };
    const turns = [
      tool("edit_file", edit),
      tool("read_file", { path: "a.js" }),
      tool("edit_file", { ...edit, old_string: "nowhere to be found" }),
      tool("edit_file", { path: "a.js", old_string: "one" }),
      tool("edit_file", edit),
    ];
    await play({ turns, screen }, async ({ chat, results }) => {
      await chat.world.write("a.js", "one\n");
      await chat.enter("go");
      await chat.terminal.shows(allowEdit);
      assertMatch(results()[0] ?? "", /has not been read/);
      assertMatch(results()[2] ?? "", /^error: /);
      assertMatch(results()[3] ?? "", /Invalid arguments/);
      assertEquals(results().length, 4);
      const panel = await panelRows(chat);
      if (columns === 80) assert(panel.length <= 8, panel.join("\n"));
      assert(!panel.join("\n").includes("no rule"), panel.join("\n"));
      await chat.answer("y");
      await chat.terminal.shows(done);
      assertEquals(await chat.world.read("a.js"), "two\n");
    });
  });

  onTerminal(
    `a person can open a directory outside of the workspace until the session ends ${at}`,
    async () => {
      const turns = [
        tool("write_file", { path: "../notes/a.txt", content: "a\n" }),
        tool("bash", { command: "echo b > ../notes/b.txt" }),
      ];
      await play({ turns, screen }, async ({ chat, results }) => {
        const notes = `${chat.world.dir}/../notes`;
        await Deno.mkdir(notes);
        await chat.enter("go");
        await chat.terminal.shows(zh ? "允许写入这个目录" : "Allow writing in this directory");
        assert(/^› 2\./m.test(await chat.terminal.screen()), "No is not selected");
        await chat.answer("y");
        await chat.terminal.shows(zh ? "允许 write_file？" : "Allow write_file?");
        await chat.answer("y");
        await chat.terminal.shows(run);
        await chat.answer("y");
        await chat.terminal.shows(done);
        assertEquals(await Deno.readTextFile(`${notes}/a.txt`), "a\n");
        assertEquals(await Deno.readTextFile(`${notes}/b.txt`), "b\n");
        assertEquals(results().some((each) => each.startsWith("error")), false);
        const config = await Deno.readTextFile(`${chat.world.home}/config.toml`);
        assert(!config.includes("notes"), "it was saved");
      });
    },
  );

  onTerminal(`network access is granted once or for the project, and saved outside of it ${at}`, async () => {
    const command = "curl -sS --max-time 5 http://a.invalid/ 2>&1; true";
    const turns = [
      tool("bash", { command }),
      tool("bash", { command: `${command} ` }),
      tool("bash", { command }),
    ];
    await play({ turns, screen }, async ({ chat, results, resultsAre }) => {
      await chat.enter("go");
      await chat.terminal.shows(run);
      const panel = await panelRows(chat);
      if (columns === 80) assert(panel.length <= 8, panel.join("\n"));
      assertStringIncludes(panel.join("\n"), "a.invalid");
      assertMatch(panel.join("\n"), /^› 1\./m);
      await chat.answer("w");
      await resultsAre(1);
      assertMatch(results()[0] ?? "", /getaddrinfo ENOTFOUND/);
      await chat.terminal.shows(run);
      await chat.answer("a");
      await chat.terminal.shows(zh ? "始终可以连接" : "always let this project");
      await chat.answer("h");
      await resultsAre(2);
      assertMatch(results()[1] ?? "", /getaddrinfo ENOTFOUND/);
      await chat.terminal.shows(run);
      // Granted access is not offered again.
      assert(!(await panelRows(chat)).join("\n").includes("a.invalid"));
      await chat.answer("y");
      await chat.terminal.shows(done);
      assertMatch(results()[2] ?? "", /getaddrinfo ENOTFOUND/);
      // The sandbox is described once, and not in the prompts.
      const text = (await chat.terminal.history()).match(/bubblewrap/g) ?? [];
      assertEquals(text.length, 1);
      assertEquals([...Deno.readDirSync(chat.world.dir)].map(({ name }) => name), []);
      const listed = await chat.world.run(["permissions", "list"]);
      assertMatch(listed.stdout, /^host +a\.invalid +\S*rules\.toml/m);
    });
  });

  onTerminal(`"no" accepts an optional note, and "always" opens a list ${at}`, async () => {
    const turns = ["one", "two", "three"].map((name) => tool("bash", { command: `touch ${name}` }));
    await play({ turns, screen }, async ({ chat, results, resultsAre }) => {
      const next = async (count: number) => {
        await resultsAre(count);
        await chat.terminal.shows(run);
      };
      await chat.enter("go");
      await chat.terminal.shows(run);
      await chat.answer("n");
      await chat.enter("not this one");
      await next(1);
      assertMatch(results()[0] ?? "", /declined .*: not this one/);
      await chat.answer("n");
      await chat.answer("Enter");
      await next(2);
      assertMatch(results()[1] ?? "", /declined "touch two"$/);
      await chat.answer("a");
      await chat.terminal.shows("Bash(touch:*)");
      await chat.answer("Enter");
      await chat.answer("k");
      await chat.terminal.shows(done);
      assert(await Deno.stat(`${chat.world.dir}/three`));
      const listed = await chat.world.run(["permissions", "list"]);
      assertMatch(listed.stdout, /^allow +Bash\(touch:\*\) +\S*rules\.toml/m);
    });
  });

  onTerminal(`Enter executes a plan with the same prompts as before ${at}`, async () => {
    const turns = [tool("exit_plan_mode", { plan: "1. Touch" }), tool("bash", { command: "touch made" })];
    const plan = zh ? "执行这个计划吗？" : "Carry out this plan?";
    await play({ turns, screen }, async ({ chat }) => {
      await chat.enter("/plan go");
      await chat.terminal.shows(plan);
      assertMatch(
        await chat.terminal.screen(),
        zh ? /› 1\. 执行，仍像之前一样询问我/ : /› 1\. Yes, and ask me as before/,
      );
      await chat.answer("Enter");
      await chat.terminal.shows(run);
      await chat.answer("y");
      await chat.terminal.shows(done);
    });
  });
}
