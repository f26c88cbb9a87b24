import { assertEquals } from "../../support/assert.ts";
import { bash, scene } from "./scene.ts";

const signal = new AbortController().signal;

/** Lines that change something although they look as if they only read. */
const WRITERS = [
  "bash version",
  ". version",
  "make version",
  "node version",
  "perl version",
  "just version",
  "rake version",
  "uniq - victim",
  "uniq two/*",
  "uniq -c - victim",
  "xxd - out",
  "xxd -l -n a out",
  "xxd a -n",
  "xxd -ps in out",
  "xxd -r in out",
  "time -o f ls",
  "/usr/bin/time --output=f ls",
  "flock f ls",
  "sed -l 5 'w f'",
  "sed -bi s/a/b/ f",
  "sed -ni p f",
  "sed -n 'w f' a",
  "gawk -o 1",
  "gawk -p '{ print }' a",
  "gawk -d '{ print }' a",
  "gawk --dump-variables '{ print }' a",
  "awk '{ print > \"f\" }' a",
  "tree -o f",
  "tree -ao f",
  "tree -R -L 1",
  "file -C -m magic",
  "sort -uo f a",
  "sort --output f a",
  "find . -fprint f",
  "find . -exec touch {} +",
  "find . -exec sh -c 'touch x' \\;",
  "git branch new",
  "git branch -l new",
  "git stash -p",
  "git tag v1",
  "git remote add a b",
  "git config user.name x",
  "git config --unset user.name",
  "git reflog expire --all",
  "git diff --output=f",
  "git --git-dir=evil status",
  "tar xf a.tar",
  "tar tf a.tar --to-command=touch",
  "tar -tf a.tar -I ./x",
  "unzip a.zip",
  "gzip f",
  "date -s now",
  "date 010100002026",
  "hostname other",
  "base64 -o f a",
  "less -o f a",
  "yq -i .a f",
  "rg --pre ./x y",
  "set -a; ls",
  "PATH=.; ls",
  "ls; FOO=1 make",
  "env X=1 make",
  'python3 -c \'open("f", "w")\'',
  "tar tf host:a.tar",
  "arch zap",
  "cargo --version",
  "yarn --version",
  "./node --version",
];

const READERS = [
  "ls",
  "git status",
  "git log | head",
  "expr 1 + 2",
  "git branch --list 'a*'",
  "git branch -a --contains HEAD",
  "git ls-files -o",
  "git config user.name",
  "git config --get user.name",
  "git stash list",
  "git -C sub log --oneline",
  "tar tf a.tar",
  "tar -tzf a.tgz",
  "unzip -l a.zip",
  "find . -name '*.ts' -exec grep -n x {} +",
  "find . -type f | xargs wc -l",
  "rg -- --pre",
  "rg -n foo src",
  "X=1; echo $X",
  "for i in 1 2; do echo $i; done",
  "[[ -f a ]] && cat a",
  "if [ -d src ]; then ls src; fi",
  "sed -n '1,5p' a",
  "awk -F: '{ print $1 }' a",
  "sort -k2 -n a | uniq -c",
  "xxd -l 16 a",
  "uniq -c a",
  "tree -L 2",
  "node --version",
  "python3 -V",
  "go version",
  "gzip -dc a.gz | head",
  "cat a 2>/dev/null",
  "command -v node",
  "env | grep PATH",
  "time ls",
  "date +%s",
];

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

Deno.test("an ask or deny rule holds for lines that only read", async () => {
  const { gate } = scene("/w", { deny: ["Bash(git log:*)", "Read(.env)"], ask: ["Bash(ls:*)"] }, {
    onAsk: "deny",
  });
  for (const line of ["git log | head", "cat .env", "ls"]) {
    assertEquals((await gate.check(bash(line), signal)).decision, "deny", line);
  }
});

/** Code of other languages that starts no program. */
const PLAIN_CODE = [
  "python3 -c 'print(1)'",
  "cat <<'E' | python3\nprint('x')\nE",
  "python3 - \"$f\" <<'E'\nimport sys\nprint(sys.argv[1])\nE",
  "echo 'print(1)' | python3",
  "node -p 'process.versions.node'",
  "node <<'E'\nconsole.log([1, 2].map((x) => x * 2));\nE",
  "deno eval 'console.log(Deno.version.deno)'",
  "perl -i -pe 's/foo/the/' f",
  "ruby -ne 'puts $_ if /x/'",
  "php -r 'echo 1;'",
  "lua -e 'print(1)'",
];

/** Code that starts `zap` by literal words, or that may start it in another way. */
const CODE_THAT_RUNS = [
  "python3 -c 'import os; os.system(\"zap\")'",
  "python3 -c 'import os; os.popen(\"zap\")'",
  'python3 -c \'import os; getattr(os, "sys" + "tem")("za" + "p")\'',
  'python3 -c \'import subprocess; subprocess.run(["zap", "now"], check=True)\'',
  "python3 -c 'import subprocess; subprocess.run(\"zap now\", shell=True)'",
  'python3 -c \'import subprocess; subprocess.run(["true"], executable="zap")\'',
  'python3 -c \'import os; os.execvp("zap", ["zap", "now"])\'',
  'python3 -c \'import os; os.execlp("zap", "zap", "now")\'',
  "python3 - <<'E'\nimport os\nos.system('zap')\nE",
  "echo 'import os; os.system(\"zap\")' | python3",
  'node -e \'require("child_process").execSync("zap")\'',
  'node -e \'require("child_process").spawn("zap", ["now"])\'',
  'node -e \'require("child_" + "process").execSync("za" + "p")\'',
  "node -e 1 --require ./zap.js",
  "deno eval -q 'new Deno.Command(\"zap\").spawn()'",
  'deno eval \'new Deno.Command("zap", { args: ["now"] }).outputSync()\'',
  "perl -e 'system(\"zap\")'",
  "perl -e '`zap`'",
  "perl -ne 'print' 'zap |'",
  "ruby -e 'system(\"zap\")'",
  "ruby -rshell -e 'x'",
  "php -r 'exec(\"zap now\");'",
  "lua -e 'os.execute(\"zap\")'",
  "awk 'BEGIN { system(\"zap\") }'",
  'python3 -c \'open("x", "w").write("za" + "p")\'; sh x',
  "while read x; do eval '$Y now'; Y=zap; done < f",
  "zap() { :; }; bash -c zap",
  "rm() { :; }; find . -exec zap {} +",
];

Deno.test("code of other languages could run a denied command, so it is refused headless next to a deny rule", async () => {
  const rules = { allow: ["Bash"], deny: ["Bash(zap:*)"] };
  const refused = scene("/w", rules, { approvalMode: "yolo" }).gate;
  const allowed = scene("/w", { allow: ["Bash"] }, { approvalMode: "yolo" }).gate;
  for (const line of [...PLAIN_CODE, ...CODE_THAT_RUNS]) {
    assertEquals((await refused.check(bash(line), signal)).decision, "deny", line);
    assertEquals((await allowed.check(bash(line), signal)).decision, "allow", line);
  }
});

Deno.test("a command that code starts by literal words is denied by its rule, not only prompted for", async () => {
  const { gate } = scene("/w", { deny: ["Bash(zap:*)"] }, { approvalMode: "yolo" });
  for (
    const line of CODE_THAT_RUNS.filter((each) =>
      /^(?!echo)\w+ \S+ '.*[("\[]zap\b/.test(each) && !/executable/.test(each)
    )
  ) {
    assertEquals((await gate.explain(bash(line))).decision, "deny", line);
  }
});

Deno.test("what cannot be known follows --on-ask where it was given", async () => {
  const rules = { deny: ["Bash(zap:*)"] };
  const decided = async (line: string, onAsk?: "allow" | "deny") =>
    (await scene("/w", rules, { onAsk }).gate.check(bash(line), signal)).decision;
  assertEquals(
    [await decided("eval $X"), await decided("eval $X", "deny"), await decided("eval $X", "allow")],
    ["deny", "deny", "allow"],
  );
  assertEquals(await decided("python3 -c 'import os; os.system(\"zap\")'", "allow"), "deny");
});

Deno.test("a script that the session wrote is judged by its content when it runs", async () => {
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
