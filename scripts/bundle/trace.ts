/** Finds the functions that runs of the program execute, by making some with V8's coverage switched on. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { mustRun, run } from "../process.ts";
import { answerOf, answerWith, TRACED_KINDS, USUAL_KIND } from "./trace_kinds.ts";
import { TaskReplies, TURNS, writeProject } from "./trace_task.ts";

const LIMIT_SECONDS = 60;
/** Time between two keys in a chat. */
const KEY_MS = 300;
/** A server with tools, prompts and resources. */
const SERVER = new URL("../../plugins/example/main.ts", import.meta.url).pathname;
/** Ctrl-D. */
const LEAVE = "\x04";

interface Coverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly endOffset: number; readonly count: number }[];
  }[];
}

/** Where functions of a file end that ran. */
export type Ends = ReadonlySet<number>;

/** What ran of each file, by its name. */
export type Executed = ReadonlyMap<string, Ends>;

const TASK = "task";

/**
 * Runs the first of some files of a folder, which is the program, and tells where functions end that ran in
 * it and in its parts. All runs have the configuration of somebody who changed nothing, but for an MCP
 * server, which is known by then, since an earlier run has met it.
 */
export class Tracer implements AsyncDisposable {
  readonly #folder: string;
  readonly #files: readonly string[];
  readonly #home = Deno.makeTempDirSync({ prefix: "reasonix-trace-" });
  #replies = new TaskReplies();
  readonly #server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.text();
    const kind = new URL(request.url).pathname.split("/")[1] ?? "";
    return kind === TASK ? answerWith(USUAL_KIND, await this.#replies.next()) : answerOf(kind);
  });
  #met: Promise<unknown> | undefined;

  constructor(folder: string, files: readonly string[]) {
    [this.#folder, this.#files] = [folder, files];
    Deno.writeTextFileSync(`${this.#home}/config.toml`, config(this.#server.addr.port));
  }

  /** What a task executes that is answered at once, and the command that looks for what is wrong. */
  async start(): Promise<Executed> {
    const traced = [await this.#run(USUAL_KIND)];
    const [deno = "", ...args] = [...this.#command("doctor"), "doctor"];
    // Where there is something wrong it exits with an error.
    await run(deno, { args, ...this.#options() });
    return await this.#executed([...traced, `${this.#home}/doctor`]);
  }

  /** What a task of two turns with tools executes. */
  async task(): Promise<Executed> {
    return await this.#executed(await this.#task());
  }

  /**
   * What that task executes, and in parts of the program also tasks with the other provider kinds, and a chat
   * that was opened and left. Where there is no terminal to open a chat on (`script` of util-linux) its parts
   * start a little slower.
   */
  async everything(): Promise<Executed> {
    const traced = [await this.#run(USUAL_KIND), ...await this.#task()];
    const usual = await this.#executed(traced);
    for (const kind of TRACED_KINDS) if (kind !== USUAL_KIND) traced.push(await this.#run(kind));
    if (await visitChat(this.#command("chat"), this.#options())) traced.push(`${this.#home}/chat`);
    const [program = ""] = this.#files;
    return new Map([...await this.#executed(traced), [program, usual.get(program) ?? new Set()]]);
  }

  async #task(): Promise<string[]> {
    const project = `${this.#home}/project`;
    await Deno.remove(project, { recursive: true }).catch(() => {});
    await writeProject(project);
    this.#replies = new TaskReplies();
    const folders: string[] = [];
    for (const words of TURNS) {
      folders.push(await this.#run(TASK, `${TASK}_${folders.length}`, words, project));
    }
    if (!this.#replies.done) throw new Error("Cannot trace the task: a turn ended before its last reply");
    return folders;
  }

  /** Runs a task with a model; returns the folder of the coverage. */
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
    return [Deno.execPath(), "run", ...flags, `${this.#folder}/${this.#files[0]}`];
  }

  #options() {
    const env = { REASONIX_HOME: this.#home, HOME: this.#home, NO_COLOR: "1" };
    return { cwd: this.#home, env, limitSeconds: LIMIT_SECONDS };
  }

  async #executed(folders: readonly string[]): Promise<Executed> {
    const found = new Map<string, Ends>();
    for (const [index, file] of this.#files.entries()) {
      found.set(file, await endsOf(folders, file, index > 0));
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await Deno.remove(this.#home, { recursive: true });
  }
}

/** What a start and a task execute of a program, whose files lie in a folder. */
export async function usedBy(folder: string, files: readonly string[]) {
  await using tracer = new Tracer(folder, files);
  return { start: await tracer.start(), task: await tracer.task() };
}

/** Opens a chat, types a letter, takes it back and leaves. False where there is no terminal to be had. */
async function visitChat(
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
  const args = ["run", "-A", "--quiet", SERVER].map((arg) => JSON.stringify(arg)).join(", ");
  const plugin = `name = "trace"\ncommand = ${JSON.stringify(Deno.execPath())}\nargs = [${args}]\n`;
  return `default_model = "${USUAL_KIND}"\n${providers.join("")}[[plugins]]\n${plugin}`;
}

/** Where functions of a file end that ran, by the coverage in these folders. */
export async function endsOf(folders: readonly string[], file: string, optional = false): Promise<Ends> {
  const ends = new Set<number>();
  const files = folders.flatMap((folder) =>
    [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`)
  );
  for (const path of files.filter((path) => path.endsWith(".json"))) {
    const coverage = JSON.parse(await Deno.readTextFile(path)) as Coverage;
    if (!coverage.url.endsWith(`/${file}`)) continue;
    for (const { ranges: [whole] } of coverage.functions) {
      if (whole !== undefined && whole.count > 0) ends.add(whole.endOffset);
    }
  }
  if (ends.size === 0 && !optional) {
    throw new Error(`Cannot find what ${file} executed; the coverage in ${folders.join(", ")} is empty`);
  }
  return ends;
}
