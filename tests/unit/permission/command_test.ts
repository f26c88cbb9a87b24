import { textOf } from "../../../src/core/mod.ts";
import { PROGRAMS } from "../../../src/permission/command/programs.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { readCorpus } from "../../support/corpus.ts";
import { generatedPages } from "../../../scripts/gen_tables.ts";
import { PROGRAM_ATTACKS, SHELL_ATTACKS } from "../../conformance/sandbox/attacks.ts";
import text from "./lines.txt" with { type: "text" };
import rowsText from "./program_rows.txt" with { type: "text" };
import { bash, call, scene } from "./scene.ts";
import { removeTree } from "../../support/remove_tree.ts";

const {
  "only read": READERS = [],
  "may write": WRITERS = [],
  "code that starts no program": PLAIN_CODE = [],
  "code that runs zap, or may run it": CODE_THAT_RUNS = [],
} = readCorpus(text);

const signal = new AbortController().signal;

Deno.test("only commands proven to read are allowed automatically, in every mode", async () => {
  for (const options of [{}, { mode: "deny" }, { onAsk: "deny" }, { permissionMode: "plan" }] as const) {
    const { gate } = scene("/w", {}, options);
    const wrong: string[] = [];
    for (const line of READERS) {
      const { decision, readsOnly } = await gate.check(bash(line), signal);
      if (decision !== "allow" || !readsOnly) wrong.push(line);
    }
    for (const line of WRITERS) {
      const { decision, readsOnly } = await gate.check(bash(line), signal);
      if (readsOnly || (options !== undefined && "permissionMode" in options && decision === "allow")) {
        wrong.push(line);
      }
    }
    assertEquals(wrong, [], JSON.stringify(options));
  }
});

Deno.test("ask and deny rules apply to read-only lines", async () => {
  const { gate } = scene("/w", { deny: ["Bash(git log:*)", "Read(.env)"], ask: ["Bash(ls:*)"] }, {
    onAsk: "deny",
  });
  for (const line of ["git log | head", "cat .env", "ls"]) {
    assertEquals((await gate.check(bash(line), signal)).decision, "deny", line);
  }
});

Deno.test("embedded code could run a denied command, so a deny rule refuses it headless", async () => {
  const rules = { allow: ["Bash"], deny: ["Bash(zap:*)"] };
  const refused = scene("/w", rules, { approvalMode: "yolo" }).gate;
  const allowed = scene("/w", { allow: ["Bash"] }, { approvalMode: "yolo" }).gate;
  for (const line of [...PLAIN_CODE, ...CODE_THAT_RUNS]) {
    assertEquals((await refused.check(bash(line), signal)).decision, "deny", line);
    assertEquals((await allowed.check(bash(line), signal)).decision, "allow", line);
  }
});

Deno.test("a command that embedded code starts literally is denied by its rule, not only prompted for", async () => {
  const { gate } = scene("/w", { deny: ["Bash(zap:*)"] }, { approvalMode: "yolo" });
  for (
    const line of CODE_THAT_RUNS.filter((each) =>
      /^(?!echo)\w+ \S+ '.*[("\[]zap\b/.test(each) && !/executable/.test(each)
    )
  ) {
    assertEquals((await gate.explain(bash(line))).decision, "deny", line);
  }
});

Deno.test("a command that cannot be analyzed follows --on-ask if given", async () => {
  const rules = { deny: ["Bash(zap:*)"] };
  const decided = async (line: string, onAsk?: "allow" | "deny") =>
    (await scene("/w", rules, { onAsk }).gate.check(bash(line), signal)).decision;
  assertEquals(
    [await decided("eval $X"), await decided("eval $X", "deny"), await decided("eval $X", "allow")],
    ["deny", "deny", "allow"],
  );
  assertEquals(await decided("python3 -c 'import os; os.system(\"zap\")'", "allow"), "deny");
});

Deno.test("a script that the session wrote is checked by its content when it runs", async () => {
  const cwd = await Deno.realPath(await Deno.makeTempDir());
  try {
    const rules = { allow: ["Bash", "Edit"], deny: ["Bash(zap:*)"] };
    const { gate } = scene(cwd, rules, { permissionMode: "danger-full-access" });
    const { call } = await import("./scene.ts");
    const write = async (path: string, content: string) => {
      await gate.check(call("write_file", { path, content }), signal);
      await Deno.writeTextFile(`${cwd}/${path}`, content, { mode: 0o755 });
    };
    await write("evil.sh", "#!/bin/sh\nzap now\n");
    await write("evil.py", "import os\nos.system('zap')\n");
    await write("good.sh", "ls\n");
    await write("helper.py", "import os\nos.system('zap')\n");
    await write("main.py", "from helper import x\n");
    await write("main.js", 'require("./lib").run();\n');
    await write("lib.js", 'require("child_process").execSync("zap now");\n');
    await write("wipe.sh", "rm -rf /\n");
    await Deno.writeTextFile(`${cwd}/theirs.sh`, "zap now\n", { mode: 0o755 });
    const decided = async (line: string) => (await gate.check(bash(line), signal)).decision;
    for (
      const line of [
        "sh evil.sh",
        "./evil.sh",
        ". ./evil.sh",
        "bash -x evil.sh",
        "python3 evil.py",
        "cd . && ./wipe.sh",
        "python3 main.py",
        "python3 -m helper",
        "python3 -c 'import helper'",
        "node main.js",
        "deno run -A main.js",
        "python3 -W ignore evil.py",
      ]
    ) {
      assertEquals(await decided(line), "deny", line);
    }
    await write("good.py", "print(1)\n");
    assertEquals(await decided("python3 good.py"), "deny");
    for (const line of ["sh good.sh", "./good.sh", "sh theirs.sh"]) {
      assertEquals(await decided(line), "allow", line);
    }
  } finally {
    await removeTree(cwd);
  }
});

for (const { path, current, wanted } of generatedPages()) {
  Deno.test(`${path} has the tables that scripts/gen_tables.ts generates from the program`, () => {
    assertEquals(current, wanted, "run `deno task gen`");
  });
}

const WRITING = [...SHELL_ATTACKS, ...PROGRAM_ATTACKS].filter(({ writes }) => writes)
  .map(({ calls }) => (calls.at(-1)?.args as { readonly command: string }).command);

Deno.test("no line that changes an outside file is classified as read-only", async () => {
  const { gate } = scene("/w/ws", {}, { permissionMode: "read-only", onAsk: "deny" });
  assert(WRITING.length >= 50, String(WRITING.length));
  const allowed: string[] = [];
  for (const line of WRITING) {
    if ((await gate.explain(bash(line))).decision === "allow") allowed.push(line);
  }
  assertEquals(allowed, []);
});

/** Each line, and below it the result of the third pass. */
const { rows = [] } = readCorpus(rowsText);
const ROWS = rows.flatMap((line, i) => i % 2 === 0 ? [[line, rows[i + 1]?.slice(2) ?? ""] as const] : []);

/** The result of the last pass as `permissions check --explain` prints it. */
async function understood(line: string): Promise<string> {
  const { gate } = scene("/w");
  const { passes } = await gate.explain(bash(line));
  return (passes?.effects ?? []).join(" | ");
}

Deno.test("each program's row lists what its arguments read, write, run and destroy", async () => {
  const wrong: string[] = [];
  for (const [line, expected] of ROWS) {
    const found = await understood(line);
    if (found !== expected) wrong.push(`${line}: expected ${expected}, got ${found}`);
  }
  assertEquals(wrong, []);
});

Deno.test("each row of the table of programs has a test line", () => {
  const lines = ROWS.map(([line]) => ` ${line} `);
  const isNamed = (name: string) =>
    lines.some((line) => line.includes(` ${name} `) || line.includes(` ${name}3 `));
  const missing = PROGRAMS.map(({ names }) => names.replaceAll("#", "").split(" "))
    .filter((names) => !names.some(isNamed));
  assertEquals(missing, []);
});

const { "move or replace sub": MOVES = [], "leave sub/docs where it is": HARMLESS = [] } = readCorpus(text);

async function workspace(): Promise<{ readonly ws: string } & AsyncDisposable> {
  const ws = await Deno.realPath(await Deno.makeTempDir());
  for (const name of ["sub/docs", "prep/docs", "src"]) await Deno.mkdir(`${ws}/${name}`, { recursive: true });
  for (const name of ["sub/docs/x.md", "prep/docs/x.md", "a.txt", "sub/b.txt"]) {
    await Deno.writeTextFile(`${ws}/${name}`, "");
  }
  return { ws, [Symbol.asyncDispose]: () => removeTree(ws) };
}

Deno.test("a path of an Edit rule cannot be changed by moving or replacing its parent", async () => {
  await using t = await workspace();
  const { gate } = scene(t.ws, { deny: ["Edit(sub/docs/**)"] }, { onAsk: undefined });
  for (const line of MOVES) assertEquals((await gate.check(bash(line), signal)).decision, "deny", line);
  for (const line of HARMLESS) assertEquals((await gate.check(bash(line), signal)).decision, "allow", line);
  const move = async (source_path: string, destination_path: string) =>
    (await gate.check(call("move_file", { source_path, destination_path }), signal)).decision;
  assertEquals([await move("sub", "s2"), await move("prep", "sub"), await move("sub/docs", "d")], [
    "deny",
    "deny",
    "deny",
  ]);
  assertEquals([await move("a.txt", "sub/a.txt"), await move("prep", "sub/new"), await move("src", "s3")], [
    "allow",
    "allow",
    "allow",
  ]);
});

Deno.test("a rule with a parent wildcard protects directories and allows ordinary files", async () => {
  await using t = await workspace();
  const { gate } = scene(t.ws, { deny: ["Edit(*/docs/x.md)"] }, { onAsk: undefined });
  const check = async (line: string) => (await gate.check(bash(line), signal)).decision;
  assertEquals([await check("mv sub s2"), await check("cp -r prep sub/y")], ["deny", "deny"]);
  assertEquals([await check("mv a.txt src/"), await check("cp -r a.txt src/b.txt")], ["allow", "allow"]);
  const write = (path: string) => gate.check(call("write_file", { path, content: "" }), signal);
  assertEquals([(await write("src/new.ts")).decision, (await write("sub/docs/x.md")).decision], [
    "allow",
    "deny",
  ]);
});

const { "not listed as readers": UNLISTED = [] } = readCorpus(text);

Deno.test("in read-only modes without a jail only listed commands run, in every approval mode", async () => {
  const unconfined = () => Promise.resolve("there is no jail; answer with a diff");
  const modes = ["workspace-write", "danger-full-access", "read-only", "plan"] as const;
  for (const permissionMode of modes) {
    const filesStay = !["read-only", "plan"].includes(permissionMode);
    const options = { permissionMode, unconfined, filesStay };
    const { gate, events } = scene("/w", { allow: ["Bash"] }, options);
    gate.approvalMode = "yolo";
    const refused = await gate.check(bash("git status"), signal);
    assertEquals([refused.decision, refused.source], ["deny", "mode"]);
    assertEquals(
      textOf(refused.reason ?? ""),
      '"git status" is not one of the commands that may run where files must not change, and ' +
        "there is no jail; answer with a diff",
    );
    assertEquals(
      (await gate.check(bash("cat a b | sort -rn | head -5 && ls -la 2>/dev/null"), signal)).decision,
      "allow",
    );
    assertEquals(events[0]?.type, "approval.decision");
    assertEquals((await gate.explain(bash("make"))).decision, "deny");
    for (const line of UNLISTED) {
      assertEquals((await gate.check(bash(line), signal)).decision, "deny", `${permissionMode}: ${line}`);
    }
  }
  const jailed = scene("/w", {}, { filesStay: true, unconfined: () => Promise.resolve(undefined) }).gate;
  assertEquals((await jailed.check(bash("make"), signal)).decision, "allow");
  const free = scene("/w", {}, { unconfined }).gate;
  assertEquals((await free.check(bash("make"), signal)).decision, "allow");
});
