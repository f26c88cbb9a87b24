import { textOf } from "../../../../src/core/mod.ts";
import {
  BUILTINS,
  openServices,
  type Question,
  type TodoItem,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../../../../src/tool/mod.ts";
import { CappedFile } from "../../../../src/tool/shell/capped_file.ts";
import { JobTable } from "../../../../src/tool/shell/jobs/job_table.ts";
import { jobText } from "../../../../src/tool/shell/jobs/job_tools.ts";
import { decodeOutput, OutputStore } from "../../../../src/tool/shell/output_store.ts";
import { DEFAULT_CAPS } from "../../../../src/tool/truncation.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { gone, processesWith } from "../../../support/processes.ts";
import { type ContextOverrides, makeTempDir, makeToolContext } from "../../../support/tool_context.ts";
import { removeTree } from "../../../support/remove_tree.ts";

const BASH = BUILTINS.find((one) => one.name === "bash") as Tool;

interface Bench extends AsyncDisposable {
  readonly dir: string;
  readonly context: ToolContext;
  run(command: string, args?: Record<string, unknown>): Promise<ToolResult>;
}

async function bench(overrides: ContextOverrides = {}): Promise<Bench> {
  const dir = await makeTempDir();
  const services = openServices();
  const context = makeToolContext(dir.path, { services, ...overrides });
  return {
    dir: dir.path,
    context,
    run: (command, args = {}) => BASH.execute({ command, ...args }, context),
    async [Symbol.asyncDispose]() {
      await services[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function eventually(check: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await check())) {
    assert(Date.now() < end, "it did not happen in a minute");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The shortest of three times, since other load only makes them longer. */
async function quickest(measure: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn++) times.push(await measure());
  return Math.min(...times);
}

Deno.test("bash returns both streams in order and the exit code", async () => {
  await using b = await bench();
  const result = await b.run("echo one; echo two >&2; echo three; exit 7");
  assertEquals(result.content, "one\ntwo\nthree\n[exit code 7]");
  assertEquals([result.exitCode, result.isError, textOf(result.summary)], [7, true, "exit 7"]);
  assertEquals((await b.run("true")).content, "(no output)");
  assertEquals((await b.run("sh -c 'kill -9 $$'")).content.split("\n").at(-1), "[exit code 137, SIGKILL]");
  const killed = await b.run("kill -9 $$");
  assertEquals([killed.content, killed.signal], ["[ended by SIGKILL]", "SIGKILL"]);
});

Deno.test("bash gives commands no input, no terminal and a separate group", async () => {
  await using b = await bench();
  assertEquals((await b.run("read line; echo $?; tty; cat")).content, "1\nnot a tty");
  const ids = (await b.run("ps -o pid=,pgid=,sid= -p $$")).content.trim().split(/\s+/);
  assertEquals(new Set(ids).size, 1);
  assertMatch((await b.run("echo x > /dev/tty")).content, /No such device|cannot create|No such file/);
});

Deno.test("bash passes only the environment of the jail", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path, {
    jail: {
      wrap: (argv) => ({
        command: argv[0] ?? "",
        args: argv.slice(1),
        env: { PATH: "/usr/bin:/bin", ONLY: "this" },
      }),
    },
  });
  const result = await BASH.execute({ command: "env | grep -v -E '^(PWD|SHLVL|_|PATH|OLDPWD)='" }, context);
  assertEquals(result.content, "ONLY=this");
});

Deno.test("bash starts in the last directory of the previous command, inside the workspace only", async () => {
  await using b = await bench();
  assertEquals((await b.run("mkdir -p a/b; cd a/b")).content, `[now in ${b.dir}/a/b]`);
  assertEquals((await b.run("pwd; exit 3")).content, `${b.dir}/a/b\n[exit code 3]`);
  assertStringIncludes(
    (await b.run("cd /; pwd")).content,
    `/\n[/ is outside the workspace; the next command starts in ${b.dir}/a/b`,
  );
  assertEquals((await b.run("pwd", { workdir: "a" })).content, `${b.dir}/a`);
  assertEquals((await b.run("pwd")).content, `${b.dir}/a/b`);
  await removeTree(`${b.dir}/a`);
  assertEquals((await b.run("pwd")).content, `${b.dir}\n[${b.dir}/a/b is gone; ran in ${b.dir}]`);
  assertStringIncludes(
    (await b.run("pwd", { workdir: "/" })).content,
    "error: Cannot run in /: it is outside the workspace",
  );
});

Deno.test("bash does not wait for background children and kills them", async () => {
  await using b = await bench();
  const took = await quickest(async () => {
    const started = performance.now();
    assertEquals((await b.run("sleep 600 & echo x")).content, "x");
    return performance.now() - started;
  });
  assert(took <= 1_000, `took ${took} ms`);
  assertEquals(await gone(() => processesWith(b.dir)), []);
  // What comes shortly after the end of the shell is waited for, within 40 ms.
  const late: string[] = [];
  for (let turn = 0; turn < 5; turn++) late.push((await b.run("echo late > >(sleep 0.01; cat)")).content);
  assert(late.includes("late"), late.join());
});

Deno.test("bash kills all processes at its time limit and returns the output so far", async () => {
  await using b = await bench();
  const result = await b.run("echo before; (trap '' TERM; sleep 600); echo after", { timeout_ms: 1500 });
  assertMatch(result.content, /^before\n\[stopped after 1\.5 s; .*run_in_background\]$/);
  assertEquals([result.isError, textOf(result.summary)], [true, "timed out"]);
  assertEquals(await gone(() => processesWith(b.dir)), []);
});

Deno.test("bash reports the maximum when a call asks for a longer time limit", async () => {
  await using b = await bench({ settings: { bashTimeoutSeconds: 0.2 } });
  assertEquals(
    (await b.run("sleep 50", { timeout_ms: 600_000 })).content,
    "[stopped after 0.2 s, the most a call may take; start servers, watchers and longer work with run_in_background]",
  );
});

Deno.test("bash throws immediately on an abort and kills the process group", async () => {
  // The limit is 200 ms; the rest is for a machine that does much else.
  const took = await quickest(async () => {
    const controller = new AbortController();
    await using b = await bench({ signal: controller.signal });
    const run = b.run("trap '' TERM; sleep 600 & while :; do :; done");
    await eventually(async () =>
      (await processesWith(b.dir)).some(({ command }) => command.startsWith("sleep"))
    );
    const at = performance.now();
    controller.abort();
    await assertRejects(() => run, DOMException);
    const ms = performance.now() - at;
    assertEquals(await gone(() => processesWith(b.dir)), []);
    return ms;
  });
  assert(took <= 1_000, `took ${took} ms`);
});

Deno.test("bash keeps head and tail of a long output and saves it all to a file", async () => {
  await using b = await bench();
  const result = await b.run("seq 1 100000");
  const lines = result.content.split("\n");
  assertEquals([lines[0], lines.at(-1)], ["1", "100000"]);
  assert(result.content.length < 17_000);
  const file = result.truncated?.fullText ?? "";
  assertStringIncludes(result.content, `full text: ${file}`);
  assertEquals((await Deno.readTextFile(file)).length, 588_895);
  assertEquals(result.truncated?.totalBytes, 588_895);
});

Deno.test("bash converts terminal output into plain text", async () => {
  await using b = await bench();
  const colours = await b.run(
    String.raw`printf '\033[1;31mred\033[0m \033]0;title\007x\b \033]8;;http://a\033\\link\n'`,
  );
  assertEquals(colours.content, "red  link");
  assertEquals((await b.run(String.raw`printf '10%%\r50%%\r100%%\ndone\r\n'`)).content, "100%\ndone");
  assertMatch((await b.run("head -c 5000 /dev/urandom")).content, /^\[binary output, 5000 bytes\]$/);
  assertEquals((await b.run(String.raw`printf 'caf\303\251 \351\n'`)).content, "café \ufffd");
});

Deno.test("bash streams output while the command runs", async () => {
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  await using b = await bench({
    progress: (text) => {
      seen.push(text);
      first.resolve();
    },
  });
  const run = b.run("echo early; while [ ! -e go ]; do sleep 0.01; done; echo late");
  await first.promise;
  assertEquals(seen.join(""), "early\n");
  await Deno.writeTextFile(`${b.dir}/go`, "");
  assertEquals((await run).content, "early\nlate");
  assertEquals(seen.join(""), "early\nlate\n");
});

Deno.test("bash explains a syntax error and an empty command", async () => {
  await using b = await bench();
  assertMatch((await b.run("if true; then")).content, /syntax error[\s\S]*\[exit code 2\]/);
  assertMatch((await b.run("if then")).content, /line 1: `if then'\n\[exit code 2\]$/);
  assertEquals((await b.run('echo "$#"')).content, "0");
  assertEquals((await b.run("  ")).content, "error: Cannot run an empty command");
});

Deno.test("bash suggests an alternative when files must not change", async () => {
  const command = "echo 'touch: x: Read-only file system' >&2; false";
  for (
    const [writes, output] of [
      ["deny", /\n\[commands cannot change .*; put the change into your answer as a unified diff\]$/],
      ["dry-run", /\n\[commands cannot change .*; use the edit tools, which show the diff .*\]$/],
      ["allow", /\[exit code 1\]$/],
    ] as const
  ) {
    await using b = await bench({ settings: { writes } });
    assertMatch((await b.run(command)).content, output);
    assertMatch((await b.run("false")).content, /\[exit code 1\]$/);
  }
});

Deno.test("only a command whose jail could not be set up is run again", async () => {
  const FAILING = ["-c", "echo 'bwrap: no such socket' >&2; exit 1"];
  let plans = 0;
  const output: string[] = [];
  await using b = await bench({
    jail: {
      wrap: (argv) => {
        const env = Deno.env.toObject();
        const real = { command: argv[0] ?? "", args: argv.slice(1), env };
        const again = (text: string) => {
          output.push(text);
          return plans++ === 0 ? real : undefined;
        };
        return plans === 0 ? { command: "/bin/sh", args: FAILING, env, again } : { ...real, again };
      },
    },
  });
  assertEquals((await b.run("echo done >> log; cat log")).content, "done");
  assertEquals(output, ["bwrap: no such socket\n"]);
  // What a command prints itself shows that it has begun, whatever it says.
  for (const line of ["echo 'bwrap: no' >&2; exit 1", "exit 1", "exec sh -c 'echo bwrap: no; exit 1'"]) {
    assertMatch((await b.run(line)).content, /\[exit code 1\]$/);
  }
  assertEquals(output.length, 1);
});

const CASES: readonly (readonly [string, readonly (string | number[])[], string | undefined])[] = [
  ["plain text with colours", ["\u001b[31mred\u001b[0m\n"], "\u001b[31mred\u001b[0m\n"],
  ["GBK", [[0xd6, 0xd0, 0xce, 0xc4], "\n"], "中文\n"],
  [
    "GBK next to UTF-8",
    ["a.txt: 中文\nb.txt: ", [0xd6, 0xd0, 0xce, 0xc4], "\n"],
    "a.txt: 中文\nb.txt: 中文\n",
  ],
  ["Latin-1", ["caf", [0xe9], " au lait\n"], "café au lait\n"],
  ["UTF-8 with one stray byte", ["中文中文中文中文中文 ", [0xff], "\n"], "中文中文中文中文中文 \ufffd\n"],
  ["a character cut off at the end", ["ok 中", [0xe6, 0x96]], "ok 中"],
  ["UTF-16 with a mark", [[0xff, 0xfe, 0x68, 0, 0x69, 0, 0x0a, 0]], "hi\n"],
  ["UTF-16 without a mark", ["h\0i\0 \0y\0o\0u\0\r\0\n\0"], "hi you\r\n"],
  ["a list separated by NUL", ["a.ts\0src/b.ts\0"], "a.ts\nsrc/b.ts\n"],
  ["bytes that are no text", [[0xff, 0xfe, 0xff, 0xfe, 0xff, 0xfe, 0xff, 0xfe]], undefined],
  ["a program file", ["\x7fELF\x02\x01\x01\0\0\0\0\0\x03\0>\0"], undefined],
  ["control characters", ["\x01\x02\x03\x04\x05\x06"], undefined],
];

for (const [what, parts, expected] of CASES) {
  Deno.test(`decodeOutput reads ${what}`, () => {
    const encoder = new TextEncoder();
    const bytes = parts.flatMap((part) => typeof part === "string" ? [...encoder.encode(part)] : part);
    assertEquals(decodeOutput(new Uint8Array(bytes)), expected);
  });
}

Deno.test("CappedFile keeps both ends in order for any sizes of chunks", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/out`;
  for (const size of [1, 7, 100, 999, 5000]) {
    using file = new CappedFile(path, 1000);
    let stream = "";
    for (let count = 0; count < 6000 / size; count++) {
      const chunk = Array.from({ length: size }, (_, at) => String((count * size + at) % 10)).join("");
      stream += chunk;
      assertEquals(file.write(new TextEncoder().encode(chunk)), size);
      const kept = await Deno.readTextFile(path);
      assert(kept.length <= 1000);
      const [head = "", tail = ""] = kept.split(/\n\[ *\d+ bytes left out\]\n/);
      assert(stream.startsWith(head) && stream.endsWith(tail));
      assertEquals(stream.length - file.leftOut, head.length + tail.length);
      for (const from of [0, stream.length - 100, stream.length]) {
        const read = file.read(Math.max(0, from));
        assertEquals(new TextDecoder().decode(read.bytes), stream.slice(read.from));
      }
    }
    assertEquals(file.total, stream.length);
  }
});

function filled(store: OutputStore, kilobytes: number): OutputStore {
  const line = new TextEncoder().encode(`${"x".repeat(1023)}\n`);
  for (let count = 0; count < kilobytes; count++) store.push(line);
  return store;
}

Deno.test("OutputStore reports a file with only both ends of the output", async () => {
  await using dir = await makeTempDir();
  const file = `${dir.path}/out.txt`;
  const cut = filled(new OutputStore(file, 100_000), 300).finish(DEFAULT_CAPS);
  const { size } = await Deno.stat(file);
  assert(size > 50_000 && size <= 100_000, String(size));
  const leftOut = 300 * 1024 - size + 35;
  assertStringIncludes(
    cut.text,
    `beginning and end, without ${leftOut} bytes between them, are kept in ${file}`,
  );
  assertStringIncludes(await Deno.readTextFile(file), `${leftOut} bytes left out]\n`);
  assertEquals(cut.truncated?.totalBytes, 300 * 1024);
});

Deno.test("OutputStore names the file that has the whole output", async () => {
  await using dir = await makeTempDir();
  const file = `${dir.path}/out.txt`;
  const cut = filled(new OutputStore(file), 300).finish(DEFAULT_CAPS);
  assertStringIncludes(cut.text, `full text: ${file}`);
  assertEquals((await Deno.stat(file)).size, 300 * 1024);
});

Deno.test("JobTable keeps both ends of an output that exceeds the size of its file", async () => {
  await using dir = await makeTempDir();
  await using services = openServices();
  await using jobs = new JobTable({
    maxFile: 4000,
    ...(services.shell ? { guard: services.shell.guard } : {}),
  });
  const plan = { command: "/bin/sh", args: ["-c", "echo begin; seq 1 5000; echo end"], env: {} };
  const { id, outputFile } = jobs.start({
    command: "x",
    plan,
    cwd: dir.path,
    dir: dir.path,
    minFreeDiskMb: 0,
  });
  while (jobs.get(id)?.status === "running") await new Promise((resolve) => setTimeout(resolve, 5));
  const update = jobs.newOutput(id);
  const shown = update ? jobText(update).text : "";
  assertStringIncludes(shown, "bytes left out");
  assertStringIncludes(shown, "\n4999\n5000\nend");
  const kept = await Deno.readTextFile(outputFile);
  assert(kept.length <= 4000, String(kept.length));
  assert(kept.startsWith("begin\n1\n2\n") && kept.endsWith("\n5000\nend\n"), kept.slice(-100));
  assertEquals(/\[ *(\d+) bytes left out\]/.exec(kept)?.[1], String(23893 + 10 - (kept.length - 35)));
});

function tool(name: string): Tool {
  return BUILTINS.find((one) => one.name === name) as Tool;
}

Deno.test("todo_write keeps the list, reports it and shows a checklist", async () => {
  await using dir = await makeTempDir();
  const heard: (readonly TodoItem[])[] = [];
  await using services = openServices({ onTodos: (items) => heard.push(items) });
  const context = makeToolContext(dir.path, { services });
  assertEquals((await tool("todo_read").execute({}, context)).content, "The todo list is empty");
  const todos = [
    { content: "read  the\ncode", status: "completed" },
    { content: "write it", status: "in_progress" },
    { content: "test it", status: "pending" },
  ];
  const result = await tool("todo_write").execute({ todos }, context);
  assertEquals(result.content, "[x] read the code\n[~] write it\n[ ] test it");
  assertEquals(textOf(result.summary), "1/3 done");
  assertEquals((await tool("todo_read").execute({}, context)).content, result.content);
  assertEquals(heard[0]?.[0], { content: "read the code", status: "completed" });
});

const QUESTIONS = [
  { question: "Which way?", options: [{ label: "Delete the table" }, { label: "Keep it" }] },
  { question: "Colour?", options: [{ label: "Blue" }, { label: "Red" }] },
];

Deno.test("ask selects the safest option in a headless run and labels it", async () => {
  await using dir = await makeTempDir();
  const result = await tool("ask").execute({ questions: QUESTIONS }, makeToolContext(dir.path));
  assertMatch(result.content, /Assumption, not a decision of the user/);
  assertStringIncludes(result.content, "Which way?\n→ Keep it\nColour?\n→ Blue");
});

Deno.test("ask returns the user's choice", async () => {
  await using dir = await makeTempDir();
  let asked: readonly Question[] = [];
  await using services = openServices({
    asker: {
      ask: (questions) => {
        asked = questions;
        return Promise.resolve([["Keep it"], ["Blue", "own words"]]);
      },
    },
  });
  const result = await tool("ask").execute({ questions: QUESTIONS }, makeToolContext(dir.path, { services }));
  assertEquals(result.content, "The user answered:\nWhich way?\n→ Keep it\nColour?\n→ Blue, own words");
  assertEquals(asked[0]?.multiple, false);
});
