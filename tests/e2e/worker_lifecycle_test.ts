/** The process that changes files: the program starts it when needed and always ends it. */
import {
  callEvent,
  DONE,
  finishEvent,
  type Part,
  type ScriptedTurn,
  startModelServer,
} from "../support/model_server.ts";
import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

const LINUX = { ignore: Deno.build.os !== "linux" };

function text(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** The worker that a process has started; undefined while there is none. */
function workerOf(parent: number): number | undefined {
  const tasks = [...Deno.readDirSync(`/proc/${parent}/task`)];
  const children = tasks.flatMap(({ name }) => text(`/proc/${parent}/task/${name}/children`).split(" "));
  const found = children.find((pid) =>
    pid.trim() !== "" && text(`/proc/${pid}/cmdline`).includes("--worker=")
  );
  return found === undefined ? undefined : Number(found);
}

function isAlive(pid: number): boolean {
  const stat = text(`/proc/${pid}/stat`);
  return stat !== "" && !/\) [ZX] /.test(stat);
}

/** Waits for a required event, even on a busy machine. */
async function until<T>(what: string, look: () => T | undefined): Promise<T> {
  for (let round = 0; round < 1000; round++) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`Waited in vain for ${what}`);
}

/** A reply that names a tool, waits for `before`, and then sends the arguments. */
function* slowCall(name: string, args: unknown, before: () => Promise<unknown>): Generator<Part> {
  yield callEvent({ index: 0, id: "c1", type: "function", function: { name, arguments: "" } });
  yield before();
  yield callEvent({ index: 0, function: { arguments: JSON.stringify(args) } });
  yield finishEvent("tool_calls");
  yield DONE;
}

interface Started {
  readonly child: Deno.ChildProcess;
  readonly world: World;
}

/** Starts the program on a script that gets the process id of the program. */
async function start(
  script: (pid: Promise<number>) => readonly ScriptedTurn[],
  args: readonly string[] = [],
): Promise<Started & AsyncDisposable> {
  const pid = Promise.withResolvers<number>();
  const server = startModelServer(script(pid.promise));
  const world = await makeWorld(mockConfig(server.url));
  const child = await world.spawn(["run", ...args, "go"]);
  pid.resolve(child.pid);
  return {
    child,
    world,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

const MADE = { path: "made.txt", content: "made\n" };

Deno.test({
  ...LINUX,
  name: "the worker starts when a reply names a tool that writes, before the call is complete",
  async fn() {
    let early: number | undefined;
    await using run = await start((program) => [
      {
        stream: slowCall("write_file", MADE, async () => {
          const pid = await program;
          early = await until("the worker", () => workerOf(pid));
        }),
      },
      { text: "done" },
    ]);
    const done = await finished(run.child);
    assertEquals([done.code, await run.world.read("made.txt")], [0, "made\n"], done.stderr);
    assert(early !== undefined && !isAlive(early), "the worker outlived the program");
  },
});

Deno.test({
  ...LINUX,
  name: "a run that names only tools that read starts no worker",
  async fn() {
    const seen: (number | undefined)[] = [];
    const look = async (program: Promise<number>) => void seen.push(workerOf(await program));
    await using run = await start((program) => [
      { stream: slowCall("read_file", { path: "nothing.txt" }, () => look(program)) },
      { stream: slowCall("no_such_tool", {}, () => look(program)) },
      async () => {
        await look(program);
        return { text: "done" };
      },
    ]);
    assertEquals((await finished(run.child)).code, 0);
    assertEquals(seen, [undefined, undefined, undefined]);
  },
});

Deno.test({
  ...LINUX,
  name: "a denied call leaves no worker",
  async fn() {
    let early = 0;
    let request = "";
    await using run = await start((program) => [
      {
        stream: slowCall("write_file", MADE, async () => {
          const pid = await program;
          early = await until("the worker", () => workerOf(pid));
        }),
      },
      ({ body }) => {
        request = body;
        return { text: "done" };
      },
    ], ["--permission-mode", "read-only"]);
    assertEquals((await finished(run.child)).code, 0);
    assertStringIncludes(request, "blocked: ");
    assertEquals([isAlive(early), await run.world.read("made.txt").catch(() => "")], [false, ""]);
  },
});

Deno.test({
  ...LINUX,
  name: "an incomplete call leaves no worker, however the program ends",
  async fn() {
    for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
      const never = Promise.withResolvers<void>();
      let program = 0;
      await using run = await start(() => [{ stream: slowCall("edit_file", {}, () => never.promise) }]);
      program = run.child.pid;
      const worker = await until("the worker", () => workerOf(program));
      run.child.kill(signal);
      await finished(run.child);
      await until(`the end of the worker after ${signal}`, () => isAlive(worker) ? undefined : true);
      never.resolve();
    }
  },
});
