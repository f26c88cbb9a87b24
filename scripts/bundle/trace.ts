/** Finds the functions a one-shot run executes, by making one with V8's coverage switched on. */
import { PERMISSION_FLAGS } from "../../cli/terminal/permission_flags.ts";
import { mustRun } from "../process.ts";

const ANSWER = [
  { choices: [{ index: 0, delta: { role: "assistant", content: "Hello." }, finish_reason: null }] },
  { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + "data: [DONE]\n\n";

interface Coverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly endOffset: number; readonly count: number }[];
  }[];
}

/** Tells where in the program's text the functions end that ran on the way through a task. */
export async function executedFunctions(program: string): Promise<Set<number>> {
  const home = await Deno.makeTempDir({ prefix: "reasonix-trace-" });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.text();
    return new Response(ANSWER, { headers: { "content-type": "text/event-stream" } });
  });
  try {
    await Deno.writeTextFile(`${home}/config.toml`, config(server.addr.port));
    await mustRun(Deno.execPath(), {
      args: [
        "run",
        ...PERMISSION_FLAGS,
        "--no-config",
        `--coverage=${home}/coverage`,
        program,
        "run",
        "Hello",
      ],
      cwd: home,
      env: { REASONIX_HOME: home, HOME: home, NO_COLOR: "1" },
      limitSeconds: 60,
    });
    return await endsOf(`${home}/coverage`, program);
  } finally {
    await server.shutdown();
    await Deno.remove(home, { recursive: true });
  }
}

function config(port: number): string {
  const provider = `name = "trace"\nbase_url = "http://127.0.0.1:${port}/v1"\nmodel = "trace"\n`;
  return `default_model = "trace"\n[[providers]]\n${provider}[sandbox]\nbash = "off"\n`;
}

async function endsOf(folder: string, program: string): Promise<Set<number>> {
  const ends = new Set<number>();
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.endsWith(".json")) continue;
    const coverage = JSON.parse(await Deno.readTextFile(`${folder}/${name}`)) as Coverage;
    if (!coverage.url.endsWith(program)) continue;
    for (const { ranges: [whole] } of coverage.functions) {
      if (whole !== undefined && whole.count > 0) ends.add(whole.endOffset);
    }
  }
  if (ends.size === 0) {
    throw new Error(`Cannot find what ${program} executed; the coverage in ${folder} is empty`);
  }
  return ends;
}
