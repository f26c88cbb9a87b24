import { loadProcessHost, LocalToolHost, type Tool } from "../../../../src/tool/mod.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";
import { badTools } from "./bad_tools.ts";

type ProcessHostOptions = ConstructorParameters<typeof ProcessToolHost>[0];

const { ProcessToolHost, selfCommand } = await loadProcessHost();

function tool(name: string): Tool {
  return badTools().find((one) => one.name === name) as Tool;
}

async function bench(
  options: Partial<Omit<ProcessHostOptions, "command" | "data">> & { flags?: string[] } = {},
) {
  const dir = await makeTempDir();
  const command = selfCommand({
    role: "tools",
    module: import.meta.url,
    sourceEntry: new URL("./entry.ts", import.meta.url),
    flags: options.flags ?? ["--no-check", "-A"],
  });
  const { flags: _, ...rest } = options;
  const host = new ProcessToolHost({ command, data: dir.path, ...rest });
  const seen = new Map();
  return {
    dir: dir.path,
    host,
    seen,
    context: (more = {}) => makeToolContext(dir.path, { seen, ...more }),
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function alive(pid: number | undefined): Promise<boolean> {
  if (pid === undefined) return false;
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return stat !== "" && !/\) Z /.test(stat);
}

Deno.test("ProcessToolHost runs file tools in a worker, and earlier reads count for a later edit", async () => {
  await using b = await bench();
  await Deno.writeTextFile(`${b.dir}/a.txt`, "one\ntwo\n");
  const read = await b.host.execute(tool("read_file"), { path: "a.txt" }, b.context());
  assertStringIncludes(read.content, "2→two");
  assertEquals([...b.seen.values()].map((stamp) => stamp.path), [`${b.dir}/a.txt`]);
  const edit = await b.host.execute(
    tool("edit_file"),
    { path: "a.txt", old_string: "two", new_string: "2" },
    b.context(),
  );
  assertEquals(edit.isError, undefined, edit.content);
  assertEquals(await Deno.readTextFile(`${b.dir}/a.txt`), "one\n2\n");
  assertEquals(edit.changes?.[0]?.change, "updated");
});

Deno.test("ProcessToolHost kills a busy loop when it is aborted and continues with a new process", async () => {
  await using b = await bench();
  await Deno.writeTextFile(`${b.dir}/a.txt`, "one\n");
  await b.host.execute(tool("read_file"), { path: "a.txt" }, b.context());
  for (const name of ["spin", "backtrack"]) {
    const first = b.host.pid;
    const controller = new AbortController();
    const call = b.host.execute(tool(name), {}, b.context({ signal: controller.signal }));
    const aborting = performance.now();
    controller.abort();
    await assertRejects(() => call, DOMException);
    assert(performance.now() - aborting < 1000);
    const edit = await b.host.execute(
      tool("edit_file"),
      { path: "a.txt", old_string: "one", new_string: "one" + name },
      b.context(),
    );
    assertEquals(edit.isError, undefined, `the stamp of the first read must survive: ${edit.content}`);
    await Deno.writeTextFile(`${b.dir}/a.txt`, "one\n");
    await b.host.execute(tool("read_file"), { path: "a.txt" }, b.context());
    assert(b.host.pid !== first);
    assertEquals(await alive(first), false);
  }
});

/** A clock that a test advances: waiting tasks by their remaining time. */
function handClock() {
  const waiting = new Map<() => void, number>();
  const timer = (ms: number, task: () => void) => {
    waiting.set(task, ms);
    return () => void waiting.delete(task);
  };
  return { waiting, timer };
}

Deno.test("ProcessToolHost stops an idle process after a minute; the next one knows earlier reads", async () => {
  const { waiting, timer } = handClock();
  await using b = await bench({ timer });
  await Deno.writeTextFile(`${b.dir}/a.txt`, "one\n");
  await b.host.execute(tool("read_file"), { path: "a.txt" }, b.context());
  const first = b.host.pid;
  assertEquals([...waiting.values()], [60_000]);
  for (const end of [...waiting.keys()]) end();
  assertEquals(b.host.pid, undefined);
  const args = { path: "a.txt", old_string: "one", new_string: "two" };
  const edit = await b.host.execute(tool("edit_file"), args, b.context());
  assertEquals([edit.isError, await Deno.readTextFile(`${b.dir}/a.txt`)], [undefined, "two\n"], edit.content);
  assertEquals([b.host.pid === first, await alive(first)], [false, false]);
});

Deno.test("ProcessToolHost completes a call that arrives at the idle timeout, once", async () => {
  const { waiting, timer } = handClock();
  await using b = await bench({ timer });
  b.host.warm();
  const started = b.host.pid;
  const ends = [...waiting.keys()];
  const add = { path: "a.txt", content: "once\n" };
  const before = b.host.execute(tool("write_file"), add, b.context());
  // The timer was cancelled, and fires all the same.
  for (const end of ends) end();
  assertEquals([b.host.pid, waiting.size], [started, 0]);
  assertEquals((await before).changes?.[0]?.change, "created");
  assertEquals(waiting.size, 1);
  for (const end of [...waiting.keys()]) end();
  const after = b.host.execute(tool("write_file"), { ...add, path: "b.txt" }, b.context());
  assertEquals((await after).changes?.[0]?.change, "created");
});

Deno.test("ProcessToolHost kills a call at its deadline and reports the concurrent calls", async () => {
  await using b = await bench({ callTimeoutMs: 700 });
  await b.host.execute(tool("ls"), {}, b.context());
  const controller = new AbortController();
  const writer = b.host.execute(tool("wait_writing"), { path: `${b.dir}/go` }, b.context());
  const loop = b.host.execute(tool("spin"), {}, b.context({ signal: controller.signal }));
  controller.abort();
  await assertRejects(() => loop, DOMException);
  await Deno.writeTextFile(`${b.dir}/go`, "");
  assertStringIncludes((await writer).content, "wait_writing did not finish");
  const stopped = await b.host.execute(tool("spin"), {}, b.context());
  assertEquals(
    stopped.content,
    "error: spin was stopped: it had not ended after 0.7 s; ask for less at once",
  );
});

Deno.test("ProcessToolHost survives a crash and forwards progress and errors", async () => {
  await using b = await bench();
  const crashed = await b.host.execute(tool("crash"), {}, b.context());
  assertStringIncludes(crashed.content, "crash did not finish");
  const heard: string[] = [];
  await Deno.writeTextFile(`${b.dir}/go`, "");
  const waited = await b.host.execute(
    tool("wait"),
    { path: `${b.dir}/go` },
    b.context({ progress: (text: string) => heard.push(text) }),
  );
  assertMatch(waited.content, /^pid \d+$/);
  assertEquals(heard, ["waiting"]);
  assertEquals(
    (await b.host.execute(tool("throw"), {}, b.context())).content,
    "error: throw failed: out of luck",
  );
});

Deno.test("ProcessToolHost confines tools by the permissions of the process", async () => {
  const dir = await makeTempDir();
  await using b = await bench({ flags: ["--no-check", "--allow-read", `--allow-write=${dir.path}`] });
  const refused = await b.host.execute(tool("write_file"), { path: "x.txt", content: "x" }, b.context());
  assertEquals(refused.isError, true);
  assertEquals(await Deno.stat(`${b.dir}/x.txt`).then(() => true, () => false), false);
  await dir[Symbol.asyncDispose]();
});

Deno.test("ProcessToolHost starts from a file of permissions, which it removes at the end", async () => {
  await using dir = await makeTempDir();
  const file = `${dir.path}/worker.json`;
  {
    const flags = ["--no-check", `--config=${file}`, "--permission-set=worker"];
    await using b = await bench({ flags, file });
    const worker = { env: true, read: { allow: true }, write: { allow: [`${b.dir}/a,b`] } };
    await Deno.writeTextFile(file, JSON.stringify({ permissions: { worker } }));
    await Deno.mkdir(`${b.dir}/a,b`);
    for (const [path, written] of [["a,b/a.txt", true], ["b", false]] as const) {
      const result = await b.host.execute(tool("write_file"), { path, content: "x" }, b.context());
      assertEquals(result.isError !== true, written, result.content);
    }
  }
  await assertRejects(() => Deno.lstat(file), Deno.errors.NotFound);
});

Deno.test("ProcessToolHost runs tools in process when no worker can be started, and reports it", async () => {
  const problems: string[] = [];
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, "one\n");
  await using host = new ProcessToolHost({
    command: { command: "/bin/false", args: [], env: {} },
    data: null,
    onProblem: (text) => problems.push(text),
  });
  const contents: string[] = [];
  for (let call = 0; call < 3; call++) {
    const args = { path: "a.txt" };
    contents.push((await host.execute(tool("read_file"), args, makeToolContext(dir.path))).content);
  }
  assertMatch(contents[1] ?? "", /did not start/);
  assertStringIncludes(contents[2] ?? "", "1→one");
  assertEquals(problems.length, 1);
});

Deno.test("ProcessToolHost reports why its process did not start and that nothing was changed", async () => {
  await using dir = await makeTempDir();
  const script = 'echo "error: no such module" >&2; printf "\\nStack:\\n   0: somewhere\\n" >&2; exit 1';
  const command = { command: "/bin/sh", args: ["-c", script], env: {} };
  await using host = new ProcessToolHost({ command, data: null });
  const write = await host.execute(
    tool("write_file"),
    { path: "a.txt", content: "x" },
    makeToolContext(dir.path),
  );
  assertEquals(
    write.content,
    "error: write_file could not run, its worker process did not start (no such module); " +
      "nothing was changed; inform the user",
  );
  assertEquals([...Deno.readDirSync(dir.path)], []);
});

Deno.test("LocalToolHost stops waiting when a tool ignores an abort", async () => {
  await using dir = await makeTempDir();
  await using host = new LocalToolHost();
  const controller = new AbortController();
  const call = host.execute(
    tool("wait_writing"),
    { path: `${dir.path}/go` },
    makeToolContext(dir.path, { signal: controller.signal }),
  );
  controller.abort();
  await assertRejects(() => call, DOMException);
  await Deno.writeTextFile(`${dir.path}/go`, "");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(
    (await host.execute(tool("throw"), {}, makeToolContext(dir.path))).content,
    "error: throw failed: out of luck",
  );
});
