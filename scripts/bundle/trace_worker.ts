/** Finds the functions that a worker process executes for the first call of each of its usual tools. */
import { endsOf } from "./trace.ts";

const LIMIT_MS = 60_000;

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

/** Where functions of the worker's file end that ran. Throws when a call did not do what it was to do. */
export async function executedByWorker(folder: string, file: string): Promise<ReadonlySet<number>> {
  const home = await Deno.makeTempDir({ prefix: "reasonix-trace-" });
  try {
    const worker = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-config",
        `--coverage=${home}/coverage`,
        `${folder}/${file}`,
        "--worker=tools",
      ],
      env: { NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(LIMIT_MS),
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
