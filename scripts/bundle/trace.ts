/**
 * Finds the functions that runs of the program execute, by making some with V8's coverage switched on:
 * `deno task trace` writes them to executed.txt, which builds read.
 */
import { programFiles, workerFile } from "../bundle.ts";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { mustRun, say } from "../process.ts";
import type { Chunk } from "./chunk.ts";
import { type FunctionList, listed, writeExecuted } from "./executed.ts";
import { WORKER } from "./parts.ts";

const LIMIT_SECONDS = 60;
/** Time between two keys in a chat. */
const KEY_MS = 300;
/** A server with tools, prompts and resources. */
const SERVER = new URL("../../plugins/main.ts", import.meta.url).pathname;
/** Ctrl-D. */
const LEAVE = "\x04";

interface Coverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly endOffset: number; readonly count: number }[];
  }[];
}

/** End offsets of the functions of a file that ran. */
type Ends = ReadonlySet<number>;

/** The functions of each file that ran, by file name. */
type EndsByFile = ReadonlyMap<string, Ends>;

const TASK = "task";

/**
 * Runs the program, which is the first of some files of a directory, and returns the end offsets of the
 * functions that ran in it and in its parts. All runs have the default configuration and an MCP server that
 * an earlier run has recorded.
 */
class Tracer implements AsyncDisposable {
  readonly #directory: string;
  readonly #files: readonly string[];
  readonly #home = Deno.makeTempDirSync({ prefix: "reasonix-trace-" });
  #replies = new TaskReplies();
  readonly #server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.text();
    const kind = new URL(request.url).pathname.split("/")[1] ?? "";
    return kind === TASK ? answerWith(USUAL_KIND, await this.#replies.next()) : answerOf(kind);
  });
  #met: Promise<unknown> | undefined;

  constructor(directory: string, files: readonly string[]) {
    [this.#directory, this.#files] = [directory, files];
    Deno.writeTextFileSync(`${this.#home}/config.toml`, config(this.#server.addr.port));
  }

  /** Functions that a task executes whose first reply ends it; `run` numbers the runs of this task. */
  async start(run: number): Promise<EndsByFile> {
    return await this.#executed([await this.#run(USUAL_KIND, `start_${run}`)]);
  }

  /**
   * Functions that tasks with each provider kind execute, a task with tools, and a chat that was opened in
   * each view and left. Without `script` of util-linux there is no terminal for a chat, which then starts a
   * little slower.
   */
  async everything(): Promise<EndsByFile> {
    const traced = await this.#task();
    for (const kind of TRACED_KINDS) traced.push(await this.#run(kind));
    for (const view of ["repl", "tui"]) {
      const command = [...this.#command(view), `--${view}`];
      if (await visitChat(command, this.#options())) traced.push(`${this.#home}/${view}`);
    }
    return await this.#executed(traced);
  }

  async #task(): Promise<string[]> {
    const project = `${this.#home}/project`;
    await Deno.remove(project, { recursive: true }).catch(() => {});
    await writeProject(project);
    this.#replies = new TaskReplies();
    const directories: string[] = [];
    for (const words of TURNS) {
      directories.push(await this.#run(TASK, `${TASK}_${directories.length}`, words, project));
    }
    if (!this.#replies.done) throw new Error("Cannot trace the task: a turn ended before its last reply");
    return directories;
  }

  /** Runs a task with a model; returns the directory of the coverage. */
  async #run(
    model: string,
    coverage = model,
    words: readonly string[] = ["Hello"],
    cwd = this.#home,
  ): Promise<string> {
    if (coverage !== "met") await (this.#met ??= this.#run(USUAL_KIND, "met"));
    const [deno = "", ...args] = [...this.#command(coverage), "run", "--model", model, ...words];
    await mustRun(deno, { args, ...this.#options(), cwd });
    return `${this.#home}/${coverage}`;
  }

  #command(coverage: string): string[] {
    const flags = [...START_FLAGS, "--no-config", `--coverage=${this.#home}/${coverage}`];
    return [Deno.execPath(), "run", ...flags, `${this.#directory}/${this.#files[0]}`];
  }

  #options() {
    const env = { REASONIX_HOME: this.#home, HOME: this.#home, NO_COLOR: "1" };
    return { cwd: this.#home, env, limitSeconds: LIMIT_SECONDS };
  }

  async #executed(directories: readonly string[]): Promise<EndsByFile> {
    const found = new Map<string, Ends>();
    for (const [index, file] of this.#files.entries()) {
      found.set(file, await endsOf(directories, file, index > 0));
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await Deno.remove(this.#home, { recursive: true });
  }
}

/** Opens a chat, types a letter, takes it back and leaves. False where there is no terminal to be had. */
export async function visitChat(
  command: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Record<string, string> },
): Promise<boolean> {
  if (Deno.build.os !== "linux") return false;
  const line = command.map((word) => `'${word}'`).join(" ");
  const child = new Deno.Command("script", {
    args: ["-qfec", line, "/dev/null"],
    cwd,
    env: { ...env, TERM: "xterm-256color" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    signal: AbortSignal.timeout(LIMIT_SECONDS * 1000),
  });
  let shown = "";
  try {
    const process = child.spawn();
    const writer = process.stdin.getWriter();
    const press = () => {
      // Once it reads keys it asks for pastes to be marked.
      const key = shown.includes("\x1b[?2004h") ? keys.shift() ?? LEAVE : "";
      writer.write(new TextEncoder().encode(key)).catch(() => {});
    };
    const keys = ["a", "\x7f"];
    const pressing = setInterval(press, KEY_MS);
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) shown += text;
    clearInterval(pressing);
    await writer.close().catch(() => {});
    if ((await process.status).success) return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  throw new Error(`Cannot find what a chat executes; it showed:\n${shown}`);
}

/** A provider of each kind that is traced, named like it, and one for the task. */
function config(port: number): string {
  const providers = [...TRACED_KINDS, TASK].map((name) =>
    `[[providers]]\nname = "${name}"\nkind = "${name === TASK ? USUAL_KIND : name}"\nmodel = "trace"\n` +
    `base_url = "http://127.0.0.1:${port}/${name}/v1"\n`
  );
  const args = ["run", "-A", "--quiet", SERVER, "example"].map((arg) => JSON.stringify(arg)).join(", ");
  const plugin = `name = "trace"\ncommand = ${JSON.stringify(Deno.execPath())}\nargs = [${args}]\n`;
  return `default_model = "${USUAL_KIND}"\n${providers.join("")}[[plugins]]\n${plugin}`;
}

/** Returns the end offsets of functions of a file that ran, by the coverage in these directories. */
async function endsOf(directories: readonly string[], file: string, optional = false): Promise<Ends> {
  const ends = new Set<number>();
  const files = directories.flatMap((directory) =>
    [...Deno.readDirSync(directory)].map(({ name }) => `${directory}/${name}`)
  );
  for (const path of files.filter((path) => path.endsWith(".json"))) {
    const coverage = JSON.parse(await Deno.readTextFile(path)) as Coverage;
    if (!coverage.url.endsWith(`/${file}`)) continue;
    for (const { ranges: [whole] } of coverage.functions) {
      if (whole !== undefined && whole.count > 0) ends.add(whole.endOffset);
    }
  }
  if (ends.size === 0 && !optional) {
    throw new Error(`Cannot find what ${file} executed; the coverage in ${directories.join(", ")} is empty`);
  }
  return ends;
}

/** The shortest complete reply of a wire, event by event. */
const REPLIES: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  openai: [
    { choices: [{ index: 0, delta: { role: "assistant", content: "Hello." }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ],
  anthropic: [
    {
      type: "message_start",
      message: { id: "trace", role: "assistant", content: [], usage: { input_tokens: 1, output_tokens: 1 } },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ],
  google: [{
    candidates: [{ index: 0, content: { role: "model", parts: [{ text: "Hello." }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  }],
  responses: responsesReply(),
};

/** The kinds whose start is traced. */
const TRACED_KINDS = Object.keys(REPLIES);

/** The kind that most endpoints speak: its code is in the program itself. */
const USUAL_KIND = "openai";

/** The shortest answer in the form of a kind. */
function answerOf(kind: string): Response {
  return answerWith(kind, REPLIES[kind] ?? []);
}

/** A server's answer of these events in the form of a kind. */
function answerWith(kind: string, events: readonly Readonly<Record<string, unknown>>[]): Response {
  const text = events.map((event) => {
    const name = typeof event.type === "string" ? `event: ${event.type}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  }).join("");
  const end = kind === USUAL_KIND ? "data: [DONE]\n\n" : "";
  return new Response(text + end, { headers: { "content-type": "text/event-stream" } });
}

function responsesReply(): Readonly<Record<string, unknown>>[] {
  const part = { type: "output_text", text: "Hello.", annotations: [] };
  const item = { type: "message", id: "trace", role: "assistant", status: "completed", content: [part] };
  const place = { output_index: 0, item_id: "trace", content_index: 0 };
  const response = { id: "trace", status: "completed", output: [item] };
  return [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...place, delta: "Hello." },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { ...response, usage: { input_tokens: 1, output_tokens: 1 } } },
  ];
}

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

/** The calls of the model, reply by reply; an empty one is its answer, which ends a turn. */
const TASK_REPLIES: readonly (readonly Call[])[] = [
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

/** The tasks of the two turns: the second continues with the session of the first. */
const TURNS: readonly (readonly string[])[] = [["Fix the sum"], ["--continue", "Try it"]];

/** Writes the project. */
async function writeProject(directory: string): Promise<void> {
  await Deno.mkdir(`${directory}/src`, { recursive: true });
  for (const [name, text] of Object.entries(FILES)) await Deno.writeTextFile(`${directory}/${name}`, text);
}

/** Time the model takes for a reply: what is loaded while it is silent is traced, too. */
const THINKING_MS = 150;

/** The events of the replies one after the other, in the form of the usual kind. */
class TaskReplies {
  #reply = 0;

  async next(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await new Promise((resolve) => setTimeout(resolve, THINKING_MS));
    const calls = TASK_REPLIES[this.#reply++] ?? [];
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

  /** Reports whether the program requested every reply, as a successful task does. */
  get done(): boolean {
    return this.#reply === TASK_REPLIES.length;
  }
}

/** Calls as the program sends them: a file is made, read back by an edit, and edited. */
function messages(workspace: string): readonly unknown[] {
  const context = { callId: "trace", cwd: workspace, settings: {}, outputDir: `${workspace}/outputs` };
  const call = (id: number, tool: string, args: unknown) => ({
    type: "call",
    id,
    tool,
    args,
    context,
    seen: { set: [], delete: [] },
  });
  return [
    { type: "start", data: { cwd: workspace, roots: [workspace], home: `${workspace}/home` } },
    call(1, "write_file", { path: "a/b.txt", content: "one\ntwo\n" }),
    call(2, "edit_file", { path: "a/b.txt", old_string: "two", new_string: "three" }),
    call(3, "write_file", { path: "a/b.txt", content: "one\nthree\nfour\n" }),
  ];
}

/** Returns the end offsets of the worker's functions that ran. Throws for an unexpected result of a call. */
async function executedByWorker(directory: string, file: string): Promise<ReadonlySet<number>> {
  const home = await Deno.makeTempDir({ prefix: "reasonix-trace-" });
  try {
    const worker = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-config",
        `--coverage=${home}/coverage`,
        `${directory}/${file}`,
        "--worker=tools",
      ],
      env: { NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(LIMIT_SECONDS * 1000),
    }).spawn();
    const writer = worker.stdin.getWriter();
    let said = "";
    const waiting = messages(await Deno.realPath(home)).map((message) => `${JSON.stringify(message)}\n`);
    await writer.write(new TextEncoder().encode(waiting.shift()));
    // One call after the other, as a model makes them.
    for await (const text of worker.stdout.pipeThrough(new TextDecoderStream())) {
      said += text;
      if (!text.endsWith("\n")) continue;
      const next = waiting.shift();
      if (next === undefined) await writer.close().catch(() => {});
      else await writer.write(new TextEncoder().encode(next));
    }
    const problems = await new Response(worker.stderr).text();
    if (!(await worker.status).success || said.split('"done"').length !== 4 || said.includes('"isError"')) {
      throw new Error(`Cannot find what a worker executes; it said:\n${said}${problems}`);
    }
    return await endsOf([`${home}/coverage`], file);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

/** Returns the modules and functions of a file that executed. */
function executedIn(code: string, chunks: readonly Chunk[], ends: Ends): FunctionList {
  const found = new Map<string, Set<string>>();
  for (const { body, functions, modules } of chunks) {
    const at = code.indexOf(body);
    if (at < 0 || !ends.has(at + body.length + END_OF_CHUNK.length)) continue;
    for (const module of modules) found.set(listed(module), found.get(listed(module)) ?? new Set());
    for (const [end, name] of functions) {
      const [module = "", path = ""] = name.split(" ");
      if (ends.has(at + end)) found.get(listed(module))?.add(path);
    }
  }
  return found;
}

/** Follows the body of a chunk in its function. */
const END_OF_CHUNK = "\n}";

/** Returns the functions of all these lists. */
function together(lists: readonly FunctionList[]): FunctionList {
  const all = new Map<string, Set<string>>();
  for (const [module, functions] of lists.flatMap((list) => [...list])) {
    all.set(module, (all.get(module) ?? new Set()).union(functions));
  }
  return all;
}

const START_RUNS = 3;

async function trace(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "reasonix-trace-" });
  try {
    const { files, chunks } = await programFiles("trace");
    const worker = await workerFile("trace");
    for (const [name, code] of [...files, [WORKER, worker.code] as const]) {
      await Deno.writeTextFile(`${directory}/${name}`, code);
    }
    await using tracer = new Tracer(directory, [...files.keys()]);
    const listOf = (executed: EndsByFile) =>
      together([...files].map(([name, code]) => executedIn(code, chunks, executed.get(name) ?? new Set())));
    // A slow run executes more, such as the connection to a server that an earlier run had no time to record.
    const starts: ReadonlySet<string>[] = [];
    for (let run = 0; run < START_RUNS; run++) starts.push(new Set(listOf(await tracer.start(run)).keys()));
    const start = starts.reduce((all, modules) => all.intersection(modules));
    const program = listOf(await tracer.everything());
    const ends = await executedByWorker(directory, WORKER);
    await writeExecuted({
      start,
      program,
      worker: executedIn(worker.code, worker.chunks, ends),
    });
    const count = [...program.values()].reduce((sum, functions) => sum + functions.size, 0);
    say(`${start.size} modules execute at the start, ${count} functions of ${program.size} modules in all`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

if (import.meta.main) await trace();
