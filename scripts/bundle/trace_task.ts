/** The task that a run is traced with: two turns in which a model uses the tools that most tasks use. */

interface Call {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Files of the project that the task works on. */
const FILES: Readonly<Record<string, string>> = {
  "src/sum.ts": "export function sum(a: number, b: number): number {\n  return a - b;\n}\n",
  "src/main.ts": 'import { sum } from "./sum.ts";\nconsole.log(sum(1, 2));\n',
  "README.md": "# Sums\n\nA small program.\n",
};

/** What the model calls, reply by reply; nothing is its answer, which ends a turn. */
const REPLIES: readonly (readonly Call[])[] = [
  [{ name: "ls", args: {} }, { name: "glob", args: { pattern: "**/*.ts" } }],
  [{ name: "grep", args: { pattern: "sum\\(" } }, { name: "read_file", args: { path: "src/sum.ts" } }],
  [{ name: "edit_file", args: { path: "src/sum.ts", old_string: "a - b", new_string: "a + b" } }],
  [{ name: "write_file", args: { path: "src/sum_test.ts", content: "// 3\n" } }],
  [{ name: "bash", args: { command: "cat src/*.ts | grep -c sum && test -f README.md" } }],
  [],
  [{ name: "read_file", args: { path: "src/sum_test.ts" } }],
  [{ name: "bash", args: { command: "git status --short; wc -l src/*.ts" } }],
  [],
];

/** The tasks of the two turns: the second goes on with the session of the first. */
export const TURNS: readonly (readonly string[])[] = [["Mend the sum"], ["--continue", "Try it"]];

/** Writes the project. */
export async function writeProject(directory: string): Promise<void> {
  await Deno.mkdir(`${directory}/src`, { recursive: true });
  for (const [name, text] of Object.entries(FILES)) await Deno.writeTextFile(`${directory}/${name}`, text);
}

/** Time the model takes for a reply: what is loaded while it is silent is traced, too. */
const THINKING_MS = 150;

/** The events of the replies one after the other, in the form of the usual kind. */
export class TaskReplies {
  #reply = 0;

  async next(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await new Promise((resolve) => setTimeout(resolve, THINKING_MS));
    const calls = REPLIES[this.#reply++] ?? [];
    const text = { role: "assistant", content: calls.length > 0 ? "Looking." : "Done." };
    return [
      { choices: [{ index: 0, delta: text, finish_reason: null }] },
      ...calls.map(({ name, args }, index) => {
        const id = `call_${this.#reply}_${index}`;
        const call = { index, id, type: "function", function: { name, arguments: JSON.stringify(args) } };
        return { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] };
      }),
      { choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] },
      { choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } },
    ];
  }

  /** Reports whether every reply was asked for: the task went as it should. */
  get done(): boolean {
    return this.#reply === REPLIES.length;
  }
}
