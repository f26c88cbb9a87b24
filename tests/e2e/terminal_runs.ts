/** Twelve typical runs, as a user sees them on a terminal. */
import { startModelServer, type Turn } from "../support/model_server.ts";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { recordTerminal } from "../../scripts/terminal/record.ts";
import { denoDir, makeWorld, mockConfig, programFile, type World } from "../support/program.ts";

export interface TerminalRun {
  readonly name: string;
  /** The replies of the model. */
  readonly turns?: readonly Turn[];
  /** Added to the user's configuration. */
  readonly config?: string;
  /** Added to the provider. */
  readonly provider?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** The command line that is shown. */
  readonly args: readonly string[];
  /** Earlier command lines, which are not shown. */
  readonly before?: readonly (readonly string[])[];
  readonly env?: Readonly<Record<string, string>>;
  /** There is no server. */
  readonly unreachable?: boolean;
}

const ADD = "// Adds two numbers.\nexport function add(a, b) {\n\treturn a - b;\n}\n";
const TEST =
  'import { add } from "./add.js";\n\nconst sum = add(2, 3);\nif (sum !== 5) throw new Error(`2 + 3 = ${sum}`);\n';

const MARKDOWN = `# What the parser does

It reads **one token at a time** and keeps a *stack* of open groups; see [the grammar](https://example.org/grammar) and \`parse()\`.

## Steps

1. Split the text into tokens.
2. Build the tree:
   - groups first
   - then the operators between them, from the strongest to the weakest
3. Check it.

| token | example | meaning |
| ----- | ------- | ------- |
| word | \`abc\` | a name |
| number | 42 | a value that is kept as it was written |

\`\`\`ts
const tree = parse("1 + 2 * 3", { strict: true, keepComments: false, maxDepth: 100 });
\`\`\`

> A group that is never closed is an error.

---

That is all.`;

export const RUNS: readonly TerminalRun[] = [
  {
    name: "plain",
    turns: [{ text: "Forty-two.", usage: { input: 2900, cached: 2100, output: 12 } }],
    args: ["run", "What is six by seven?"],
  },
  {
    name: "edit",
    files: { "src/add.js": ADD, "src/add_test.js": TEST },
    turns: [
      {
        text: "Let me look at the function and who uses it.",
        calls: [
          { name: "read_file", args: { path: "src/add.js" } },
          { name: "grep", args: { pattern: "add\\(", path: "src" } },
        ],
      },
      {
        text: "The operator is wrong.",
        calls: [{
          name: "edit_file",
          args: { path: "src/add.js", old_string: "return a - b;", new_string: "return a + b;" },
        }],
      },
      { text: "Fixed: `add` subtracted instead of adding." },
    ],
    args: ["run", "Fix add"],
  },
  {
    name: "failing_command",
    files: {
      "check.sh":
        'for i in $(seq 1 30); do echo "case $i passed"; done\necho "case 31: expected 5, got -1" >&2\nexit 3\n',
    },
    turns: [
      { text: "I run the checks.", calls: [{ name: "bash", args: { command: "sh check.sh" } }] },
      { text: "Case 31 fails: it expects 5 and gets -1." },
    ],
    args: ["run", "Run the checks"],
  },
  {
    name: "parallel",
    files: { "a.txt": "one\ntwo\n", "b.txt": "three\n", "docs/guide.md": "# Guide\n\nneedle\n" },
    turns: [
      {
        calls: [
          { name: "read_file", args: { path: "a.txt" } },
          { name: "read_file", args: { path: "b.txt" } },
          { name: "read_file", args: { path: "missing.txt" } },
          { name: "grep", args: { pattern: "needle" } },
          { name: "glob", args: { pattern: "**/*.md" } },
          { name: "ls", args: { path: "docs" } },
          {
            name: "todo_write",
            args: {
              todos: [
                { content: "read the files", status: "completed" },
                { content: "say what is in them", status: "in_progress" },
              ],
            },
          },
        ],
      },
      { text: "Three files, and one that is not there." },
    ],
    args: ["run", "What is in these files?"],
  },
  { name: "markdown", turns: [{ text: MARKDOWN }], args: ["run", "Explain the parser"] },
  {
    name: "reasoning",
    turns: [{
      reasoning: ["The user asks for a number. ", "Six by seven is forty-two, which I know without a tool."],
      text: "Forty-two.",
      usage: { input: 2900, cached: 2100, output: 80, reasoning: 60 },
    }],
    args: ["run", "--show-thinking", "What is six by seven?"],
  },
  {
    name: "refused",
    turns: [
      {
        calls: [
          { name: "bash", args: { command: "rm -rf build" } },
          { name: "write_file", args: { path: "secret/new.txt", content: "def\n" } },
          { name: "bash", args: { command: "git push --force origin main" } },
        ],
      },
      { text: "I may not do that here." },
    ],
    args: ["run", "--disallowed-tools", "Bash(rm *)", "--disallowed-tools", "Edit(secret/**)", "Clean up"],
  },
  { name: "unreachable", unreachable: true, args: ["run", "Hello"] },
  {
    name: "wrong_key",
    provider: 'api_key_env = "MOCK_API_KEY"\n',
    env: { MOCK_API_KEY: "sk-wrong-1234567890" },
    turns: [{ status: 401, body: { error: { message: "Incorrect API key provided: sk-wro***7890" } } }],
    args: ["run", "Hello"],
  },
  {
    name: "dry_run",
    files: { "src/add.js": ADD },
    turns: [
      { calls: [{ name: "read_file", args: { path: "src/add.js" } }] },
      {
        calls: [
          {
            name: "edit_file",
            args: { path: "src/add.js", old_string: "return a - b;", new_string: "return a + b;" },
          },
          { name: "write_file", args: { path: "notes.md", content: "# Notes\n\n- add is fixed\n" } },
        ],
      },
      { text: "This is what I would change." },
    ],
    args: ["run", "--writes", "dry-run", "Fix add"],
  },
  {
    name: "wide_characters",
    files: {
      "文档/说明.md":
        "# 说明\n\n这是一个很长的段落，用来检查终端上的宽字符是否在正确的位置换行，而不会被截断。\n旧的一行 🎉\n",
    },
    turns: [
      {
        text: "我先看一下文件 👀，然后修改它。",
        calls: [{ name: "read_file", args: { path: "文档/说明.md" } }, {
          name: "grep",
          args: { pattern: "宽字符是否在正确的位置换行，而不会被截断", path: "文档" },
        }],
      },
      {
        calls: [{
          name: "edit_file",
          args: {
            path: "文档/说明.md",
            old_string: "旧的一行 🎉",
            new_string: "新的一行 🚀 ✅，这一行特别长，长到四十列和八十列的终端都放不下，所以必须截断。",
          },
        }],
      },
      {
        text:
          "已经改好了 ✅。这里是一段很长的中文说明，没有空格，所以只能在字符之间换行，不能把一个宽字符切成两半。\n\n" +
          "| 文件 | 说明 |\n| --- | --- |\n| 说明.md | 改了一行 🎉 |\n| 其他 | 没有改动，这一格的文字比较长，需要换行显示 |\n",
      },
    ],
    args: ["run", "修改说明文件"],
  },
  {
    name: "resumed_to_a_limit",
    provider: "context_window = 16000\n",
    files: { "a.txt": "one\n" },
    before: [["run", "Tell me all about lighthouses"]],
    turns: [
      { text: "A lighthouse stands on a rock. ".repeat(400), usage: { input: 14_500 } },
      { text: "The user asked about lighthouses and was told." },
      { text: "First I read the file.", calls: [{ name: "read_file", args: { path: "a.txt" } }] },
      { text: "And once more.", calls: [{ name: "read_file", args: { path: "a.txt" } }] },
    ],
    args: ["run", "-c", "--max-steps", "2", "Read a.txt until you are sure"],
  },
];

/** A clock that runs twenty times slower: what takes time says 0.0 s on every machine. */
const SLOW_CLOCK = "const now = performance.now.bind(performance);\nperformance.now = () => now() / 20;\n";

/** Returns an address without a listener. */
function closedAddress(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `http://127.0.0.1:${listener.addr.port}/v1`;
}

/** Returns the screen of a run on a terminal of this width. */
export async function playRun(run: TerminalRun, columns: number, colours: boolean): Promise<string> {
  await using server = startModelServer(run.turns ?? [], { check: { prefix: false } });
  const url = run.unreachable ? closedAddress() : server.url;
  await using world = await makeWorld(mockConfig(url, run.config, run.provider));
  for (const [name, text] of Object.entries(run.files ?? {})) await world.write(name, text);
  for (const args of run.before ?? []) {
    const { code, stderr } = await world.run(args);
    if (code !== 0) throw new Error(stderr);
  }
  return await shownBy(world, run.args, columns, { ...run.env, ...(colours ? {} : { NO_COLOR: "1" }) });
}

/** The screen after a command line of the program. */
export async function shownBy(
  world: World,
  args: readonly string[],
  columns: number,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const clock = `${world.home}/clock.js`;
  await Deno.writeTextFile(clock, SLOW_CLOCK);
  const program = ["run", ...START_FLAGS, "--no-config", "--preload", clock, await programFile()];
  return await recordTerminal({
    command: [Deno.execPath(), ...program, ...args],
    cwd: world.dir,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      HOME: world.home,
      REASONIX_HOME: world.home,
      ...denoDir(),
      ...env,
    },
    columns,
  });
}
