/** The full-screen view after some work, with characters of every width in each of its panels. */
import { FullLayout } from "../../src/frontend/repl/full/layout.ts";
import { withoutStyles } from "../../src/frontend/repl/screen/line.ts";
import { displayWidth } from "../../src/util/display_width.ts";
import { call, type Reply } from "./agent_fixture.ts";
import { calls } from "./approval_chat.ts";
import { assert, assertEquals } from "./assert.ts";
import { type ChatStage, type ChatStageOptions, openChat } from "./chat_stage.ts";
import type { VirtualTerminal } from "./virtual_terminal.ts";

/** Wide, joined, ambiguous and combined characters. */
export const WIDE = "漢字 👨‍👩‍👧 🇩🇪 ①é§ n\u0303 한글";

const MAIN = "src/主要 🇩🇪.ts";
const OLD = 'export const greeting = "hello";\n';
const NEW = 'export const greeting = "你好，世界 👨‍👩‍👧";\nexport const answer = 42;\n';
const ANSWER = `## 完成 ①

The file \`${MAIN}\` has **two** lines now: ${WIDE}.

- one item, long enough to be wrapped in a panel of any usual width: ${WIDE}
- 二

\`\`\`ts
const a = "世界"; // §
\`\`\`

| name | 値 |
| ---- | -- |
| 漢字 | 🇩🇪 |
`;

const WORK: readonly Reply[] = [
  calls(
    call("1", "todo_write", {
      todos: [
        { content: "Read the notes", status: "completed" },
        { content: `Translate ${WIDE}`, status: "in_progress" },
        { content: "Say what was done", status: "pending" },
      ],
    }),
    call("2", "read_file", { path: "笔记.md" }),
  ),
  [
    { type: "reasoning", text: `The greeting is English. ${WIDE}` },
    call("3", "write_file", { path: MAIN, content: OLD }),
    { type: "done", reason: "tool_calls" },
  ],
  calls(
    call("4", "edit_file", { path: MAIN, old_string: OLD, new_string: NEW }),
    call("5", "read_file", { path: "没有 👨‍👩‍👧.txt" }),
  ),
  [
    { type: "text", text: ANSWER },
    {
      type: "usage",
      usage: { inputTokens: 41_200, cachedTokens: 38_000, outputTokens: 950, reasoningTokens: 120 },
    },
    { type: "done", reason: "stop" },
  ],
];

/** A chat that has read, written and changed files. */
export async function openWorkedChat(
  { replies = [], ...options }: ChatStageOptions = {},
): Promise<ChatStage> {
  const chat = await openChat({
    view: "full",
    start: { approvalMode: "yolo" },
    // The jail of the machine is in no picture.
    config: { sandbox: { bash: "off" } },
    replies: [...WORK, ...replies],
    ...options,
  });
  await Deno.writeTextFile(`${chat.cwd}/笔记.md`, `# 笔记 ${WIDE}\n\nThe greeting should be Chinese.\n`);
  chat.say(`Translate the greeting: ${WIDE}`);
  const working = () => /Esc (?:stops|停止)/.test(chat.terminal.screen().join("\n"));
  await chat.until(() => chat.events.some(({ type }) => type === "turn.end") && !working());
  return chat;
}

/**
 * Fails unless the borders of the full-screen view are straight: below each joint of the title line down to
 * that of the rule, and around a box in the middle.
 */
export function assertStraight(terminal: VirtualTerminal, what: string): void {
  const cells = terminal.cells();
  const about = () => `${what}\n${terminal.screen().join("\n")}`;
  const places = (row: readonly string[] | undefined, sign: string) =>
    (row ?? []).flatMap((cell, at) => cell === sign ? [at] : []);
  const box = boxOf(cells);
  const covered = (row: number, column: number) =>
    box !== undefined && row >= box.top && row <= box.bottom && column >= box.left && column <= box.right;
  const rule = cells.findLastIndex((row) => row.every((cell) => "─┴".includes(cell) && cell !== ""));
  const joints = covered(0, box?.left ?? -1) ? [] : places(cells[0], "┬");
  // The side bar over a panel has none below it.
  for (const at of joints.length > 0 ? places(cells[rule], "┴") : []) assert(joints.includes(at), about());
  for (const [at, row] of cells.entries()) {
    for (const column of at > 0 && at < rule ? joints : []) {
      if (!covered(at, column)) assertEquals(row[column], "│", about());
    }
    if (!box || at <= box.top || at >= box.bottom) continue;
    assertEquals([row[box.left], row[box.right]], ["│", "│"], about());
  }
}

/** A box in the middle of the screen. */
function boxOf(cells: readonly (readonly string[])[]) {
  for (const [top, row] of cells.entries()) {
    const [left, right] = [row.indexOf("┌"), row.lastIndexOf("┐")];
    const isInTheMiddle = left > 0 && Math.abs(left + right + 1 - row.length) <= 1;
    if (!isInTheMiddle || row.slice(left + 1, right).some((cell) => cell !== "─")) continue;
    const bottom = cells.findLastIndex((each) => each[left] === "└" && each[right] === "┘");
    assert(bottom > top, "the box has no end");
    return { top, bottom, left, right };
  }
  return undefined;
}

/** Checks every frame of the view until it is disposed: all rows, those of the panels as wide as it. */
export function watchFrames(): Disposable & { readonly count: number } {
  const { frame } = FullLayout.prototype;
  const problems: unknown[] = [];
  const watched = { count: 0 };
  FullLayout.prototype.frame = function (this: FullLayout, columns: number, rows: number) {
    try {
      const drawn = frame.call(this, columns, rows);
      watched.count++;
      const widths = drawn.lines.map((line) => displayWidth(withoutStyles(line)));
      const rule = drawn.lines.findLastIndex((line) => /^[─┴]+$/.test(withoutStyles(line)));
      assertEquals(widths.length, rows, `${columns}x${rows}`);
      for (const [at, width] of widths.entries()) {
        const isRight = at <= rule ? width === columns : width <= columns;
        assert(isRight, `${columns}x${rows}, row ${at} has ${width} cells: ${drawn.lines[at]}`);
      }
      return drawn;
    } catch (error) {
      problems.push(error);
      throw error;
    }
  };
  return {
    get count() {
      return watched.count;
    },
    [Symbol.dispose]() {
      FullLayout.prototype.frame = frame;
      if (problems.length > 0) throw problems[0];
    },
  };
}
