/** Finds the functions that starts of the program execute, by making some with V8's coverage switched on. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { mustRun } from "../process.ts";
import { answerOf, TRACED_KINDS, USUAL_KIND } from "./trace_kinds.ts";

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
type Ends = ReadonlySet<number>;

/**
 * Tells for files of a folder, the program first, where functions end that ran: in the program those of a
 * task that it was given, in its parts also those of the same task with the other provider kinds, and of a
 * chat that was opened and left. An MCP server is configured and known by then, since an earlier run has met
 * it. Where there is no terminal to open a chat on (`script` of util-linux) its parts start a little slower.
 */
export async function executedFunctions(
  folder: string,
  [program = "", ...parts]: readonly string[],
): Promise<ReadonlyMap<string, Ends>> {
  const home = await Deno.makeTempDir({ prefix: "reasonix-trace-" });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.text();
    return answerOf(new URL(request.url).pathname.split("/")[1] ?? "");
  });
  const command = (coverage: string) => [
    Deno.execPath(),
    "run",
    ...START_FLAGS,
    "--no-config",
    `--coverage=${home}/${coverage}`,
    `${folder}/${program}`,
  ];
  const options = {
    cwd: home,
    env: { REASONIX_HOME: home, HOME: home, NO_COLOR: "1" },
    limitSeconds: LIMIT_SECONDS,
  };
  try {
    await Deno.writeTextFile(`${home}/config.toml`, config(server.addr.port));
    const runOf = async (kind: string, coverage: string = kind) => {
      const [deno = "", ...args] = [...command(coverage), "run", "--model", kind, "Hello"];
      await mustRun(deno, { args, ...options });
      return `${home}/${coverage}`;
    };
    await runOf(USUAL_KIND, "met");
    const usual = await runOf(USUAL_KIND);
    const found = new Map([[program, await endsOf([usual], program)]]);
    if (parts.length === 0) return found;
    const traced = [usual];
    for (const kind of TRACED_KINDS) if (kind !== USUAL_KIND) traced.push(await runOf(kind));
    if (await visitChat(command("chat"), options)) traced.push(`${home}/chat`);
    for (const part of parts) found.set(part, await endsOf(traced, part, true));
    return found;
  } finally {
    await server.shutdown();
    await Deno.remove(home, { recursive: true });
  }
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

/** A provider of each kind that is traced, named like it. */
function config(port: number): string {
  const providers = TRACED_KINDS.map((kind) =>
    `[[providers]]\nname = "${kind}"\nkind = "${kind}"\nmodel = "trace"\n` +
    `base_url = "http://127.0.0.1:${port}/${kind}/v1"\n`
  );
  const args = ["run", "-A", "--quiet", SERVER].map((arg) => JSON.stringify(arg)).join(", ");
  const plugin = `name = "trace"\ncommand = ${JSON.stringify(Deno.execPath())}\nargs = [${args}]\n`;
  const head = `default_model = "${USUAL_KIND}"\n`;
  return `${head}${providers.join("")}[[plugins]]\n${plugin}[sandbox]\nbash = "off"\n`;
}

async function endsOf(folders: readonly string[], file: string, optional = false): Promise<Ends> {
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
