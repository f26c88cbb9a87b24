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

Deno.test("only commands proven to read are allowed by themselves, in every mode", async () => {
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
  "python3 -c 'import json, sys; print(json.load(sys.stdin)[\"a\"])'",
  'python3 -c \'import re; print(re.compile("a").findall("aa"))\'',
  'python3 -c \'import os; print(os.path.abspath("."), os.environ.get("HOME"), os.listdir())\'',
  'python3 -c \'from pathlib import Path; p = Path("a"); p.write_text(p.read_text().replace("x", "y"))\'',
  "python3 -c 'import platform; print(platform.system())'",
  "python3 - <<'E'\nimport json\nd = json.load(open('a.json'))\nfor k, v in d.items():\n    print(k, v)\nE",
  "cat <<'E' | python3\nprint('x')\nE",
  "python3 - \"$f\" <<'E'\nimport sys\nprint(sys.argv[1])\nE",
  "echo 'print(1)' | python3",
  "node -e 'console.log(require(\"./package.json\").version)'",
  "node -p 'process.versions.node'",
  'node -e \'const fs = require("fs"); fs.writeFileSync("a", fs.readFileSync("b", "utf8").replace(/x/g, "y"))\'',
  "node -e 'const p = require(\"./package.json\"); for (const k in p.scripts) console.log(k, p.scripts[k])'",
  "node <<'E'\nconsole.log([1, 2].map((x) => x * 2));\nE",
  "deno eval 'console.log(Deno.version.deno)'",
  "perl -pe 's/a/b/g' f",
  "perl -i -pe 's/foo/the/' f",
  "perl -ne 'print if /x/' f",
  "perl -lane 'print $F[1]' f",
  'ruby -rjson -e \'puts JSON.parse(File.read("a"))["b"]\'',
  "ruby -ne 'puts $_ if /x/'",
  'python3 -c \'import subprocess; print(subprocess.run(["ls", "-l"], capture_output=True, text=True))\'',
  'node -e \'require("child_process").execSync("git status", { stdio: "inherit" })\'',
];

/** Code that runs `zap`, or may. */
const CODE_THAT_RUNS = [
  "python3 -c 'import os; os.system(\"zap\")'",
  'python3 -c \'import os as o; o.system("za" + "p")\'',
  'python3 -c \'import os; getattr(os, "sys" + "tem")("za" + "p")\'',
  'python3 -c \'import subprocess as s; s.run(["za" + "p"])\'',
  "python3 -c 'from subprocess import run; run([\"zap\"])'",
  'python3 -c \'import subprocess; subprocess.run(["zap", "now"], check=True)\'',
  "python3 -c 'import subprocess; subprocess.run(\"zap now\", shell=True)'",
  'python3 -c \'import subprocess; subprocess.run(["true"], executable="zap")\'',
  'python3 -c \'import subprocess; r = subprocess.run; r(["za" + "p"])\'',
  'python3 -c \'import os; os.execvp("zap", ["zap", "now"])\'',
  'python3 -c \'import os; os.\u{1D4C8}ystem("za" + "p")\'',
  'python3 -c \'exec("import o" + "s; o" + "s.sys" + "tem(1)")\'',
  'python3 -c \'__import__("o" + "s").system("za" + "p")\'',
  'python3 -c \'import shutil; shutil.os.system("za" + "p")\'',
  'python3 -c \'import tempfile; tempfile._os.system("za" + "p")\'',
  "python3 -c 'import pty; pty.spawn(\"zap\")'",
  'python3 -c \'import tkinter; tkinter.Tcl().call("ex" + "ec", "za" + "p")\'',
  'python3 -c \'import _ctypes; _ctypes.dlopen("za" + "p")\'',
  'python3 -c \'import imaplib; imaplib.IMAP4_stream("za" + "p")\'',
  'python3 -c \'open("x.py", "w").write("za" + "p"); import x\'',
  'python3 -c \'import os; os.environ["PATH"] = "."; os.system("ls")\'',
  "python3 -c 'import typing as t; t.get_type_hints(1)'",
  "python3 - <<'E'\nimport os\nos.system('zap')\nE",
  "echo 'import os; os.system(\"zap\")' | python3",
  'node -e \'require("child_process").execSync("zap")\'',
  'node -e \'const { execSync: x } = require("child_process"); x("za" + "p")\'',
  'node -e \'const c = require("child_process"); c["exec" + "Sync"]("za" + "p")\'',
  'node -e \'require("child_" + "process").execSync("za" + "p")\'',
  'node -e \'import("node:child_process").then((c) => c.exec("zap"))\'',
  'node -e \'[]["filter"]["constr" + "uctor"]("za" + "p")()\'',
  'node -e \'const k = ["constr", "uctor"].join(""); const f = (() => {})[k]; f("zap")()\'',
  "node -e 'new Function(\"zap\")()'",
  'node -e \'require("child_process").execSync("true", { shell: "zap" })\'',
  'node -e \'const fs = require("fs"); fs.writeFileSync("x.js", "za" + "p"); require("./x.js")\'',
  'deno eval \'const { Command: C } = Deno; new C("za" + "p").spawn()\'',
  'deno eval \'const C = Object.entries(Deno)[3][1]; new C("za" + "p").spawn()\'',
  "node -e 1 --require ./zap.js",
  'node -e \'process.mainModule.require("child_process").exec("zap")\'',
  "deno eval -q 'new Deno.Command(\"zap\").spawn()'",
  'deno eval \'new Deno.Command("zap", { args: ["now"] }).outputSync()\'',
  "perl -e 'system(\"zap\")'",
  "perl -e '`zap`'",
  "perl -e 'open(F, \"zap|\")'",
  "perl -ne 'print' 'zap |'",
  "perl -e '$c = \"zap|\"; open F, $c'",
  'perl -pe \'s/x/"za" . "p"/ee\' f',
  "perl -e 'exec qw(zap now)'",
  "perl -e 'system(\"@{[ exec q(zap) ]}\")'",
  "perl -e 'do(\"x.pl\")'",
  'perl -e \'@ARGV = ("zap" . "|"); print while <>\'',
  "ruby -e 'system(\"#{`zap`}\")'",
  "ruby -e 'system(\"zap\")'",
  "ruby -e '`zap`'",
  'ruby -e \'Kernel.send("sys" + "tem", "zap")\'',
  "ruby -e 'open(\"|zap\")'",
  "ruby -rshell -e 'x'",
  "awk 'BEGIN { system(\"zap\") }'",
  'python3 -c \'open("x", "w").write("za" + "p")\'; sh x',
  "while read x; do eval '$Y now'; Y=zap; done < f",
  "zap() { :; }; bash -c zap",
  "rm() { :; }; find . -exec zap {} +",
];

Deno.test("code of other languages is read: what starts nothing passes, what runs a denied command does not", async () => {
  const { gate } = scene("/w", { allow: ["Bash"], deny: ["Bash(zap:*)"] }, { approvalMode: "yolo" });
  const wrong: string[] = [];
  for (const line of PLAIN_CODE) {
    const { decision, reason } = await gate.check(bash(line), signal);
    if (decision !== "allow") wrong.push(`${line}: ${reason}`);
  }
  for (const line of CODE_THAT_RUNS) {
    if ((await gate.check(bash(line), signal)).decision !== "deny") wrong.push(line);
  }
  assertEquals(wrong, []);
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
    for (const line of ["sh good.sh", "./good.sh", "sh theirs.sh"]) {
      assertEquals(await decided(line), "allow", line);
    }
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
