import { assertEquals } from "../../support/assert.ts";
import { bash, scene } from "./scene.ts";
import { readCorpus } from "../../support/corpus.ts";
import text from "./lines.txt" with { type: "text" };

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
    await Deno.remove(cwd, { recursive: true });
  }
});
