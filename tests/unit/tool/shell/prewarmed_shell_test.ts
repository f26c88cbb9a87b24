/** A command that runs in the shell that waited for it must not be able to tell. */
import { BUILTINS, openServices, type Tool, type ToolServices } from "../../../../src/tool/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

const BASH = BUILTINS.find((one) => one.name === "bash") as Tool;
const UNIX = Deno.build.os !== "windows";

/** Printed by a shell that waited. */
const WAITED = 'case $(ps -ww -o command= -p $$) in *"read -"r*) echo waited ;; *) echo new ;; esac';

async function session(work: (run: (command: string) => Promise<string>, dir: string) => Promise<void>) {
  await using dir = await makeTempDir();
  await using services = openServices();
  const context = makeToolContext(dir.path, { services });
  await work(async (command) => (await BASH.execute({ command }, context)).content, dir.path);
}

const COMMANDS = [
  'echo "$0 $# $- [$*] $SECONDS [$OLDPWD] $BASH_EXECUTION_STRING"; set | grep ^REASONIX_ | grep -v GUARD=',
  "cat; read -r line; echo \"[$line]\"; [ -t 0 ] || echo 'no terminal'",
  'echo one\necho two >&2\n\nnosuchcommand_here x\necho "line $LINENO"',
  "if true; then",
  'echo "unclosed',
  "set -e; false; echo not here",
  "trap 'echo trapped' EXIT; exit 7",
  "kill -TERM $$",
  "exec echo replaced",
  "printf '%s|' 'grüße 漢字 👍' \"it's\" '\\\\ \\n' $'\\t' '  two  spaces  '; echo",
  "printf '%s' '\u0001\u007f\u001b' | od -An -tx1",
  "for i in 1 2 3; do echo $i; done | tail -1",
  "umask; ulimit -c; shopt -p extglob; set -o | sort",
  "env | grep -v ^REASONIX_GUARD= | sort; export -p | grep -v REASONIX_GUARD",
  "ls /proc/self/fd 2>/dev/null | sort -n | head -3; echo to nine >&9",
];

Deno.test({ name: "commands do the same in a shell that waited", ignore: !UNIX }, async () => {
  const outcomes: string[][] = [];
  for (const ahead of [false, true]) {
    await using dir = await makeTempDir();
    await using services = openServices();
    const { shell, ...rest } = services;
    assert(shell);
    const { spare: _, ...plain } = shell;
    const given: ToolServices = ahead ? services : { ...rest, shell: plain };
    const context = makeToolContext(dir.path, { services: given });
    await BASH.execute({ command: "true" }, context);
    const contents: string[] = [];
    for (const command of COMMANDS) {
      contents.push((await BASH.execute({ command }, context)).content.replaceAll(dir.path, "DIR"));
    }
    contents.push((await BASH.execute({ command: WAITED }, context)).content);
    outcomes.push(contents);
  }
  assertEquals(outcomes.map((contents) => contents.at(-1)), ["new", "waited"]);
  const [apart, waited] = outcomes.map((contents) => contents.slice(0, -1));
  assertEquals(waited, apart);
});

Deno.test(
  { name: "a shell waits for commands in the directory where the last one ended", ignore: !UNIX },
  async () => {
    await session(async (run, dir) => {
      assertEquals(await run(WAITED), "new");
      assertEquals(await run(WAITED), "waited");
      assertEquals(await run("mkdir sub; cd sub"), `[now in ${dir}/sub]`);
      assertEquals(await run(`${WAITED}; pwd`), `waited\n${dir}/sub`);
      // Another directory of that name: what waits in the one that is gone is of no use.
      await Deno.rename(`${dir}/sub`, `${dir}/old`);
      await Deno.mkdir(`${dir}/sub`);
      assertEquals(await run(`${WAITED}; touch here`), "new");
      assert((await Deno.stat(`${dir}/sub/here`)).isFile);
    });
  },
);

Deno.test({ name: "a long command starts a shell of its own", ignore: !UNIX }, async () => {
  await session(async (run) => {
    await run("true");
    assertEquals(await run(`${WAITED} # ${"x".repeat(4000)}`), "new");
    assertEquals(await run(WAITED), "waited");
  });
});

// The guard's mark in its environment tells whose shell it is; only Linux shows that.
const LINUX = Deno.build.os === "linux";
const FIND_WAITING = `for round in {1..500}; do for p in /proc/[0-9]*; do
  grep -qsF "REASONIX_GUARD=$REASONIX_GUARD" $p/environ && grep -qs 'read[ ]-r -d' $p/cmdline || continue
  [ \${p#/proc/} = $$ ] || { echo \${p#/proc/}; break 2; }
done; sleep 0.02; done`;

Deno.test({ name: "a shell that was killed while it waited is not used", ignore: !LINUX }, async () => {
  await session(async (run) => {
    // The loop ends when the program has learnt of that end, which is before it learns of this command's.
    const killed = await run(
      `pid=$(${FIND_WAITING}); kill -9 $pid; while kill -0 $pid 2>/dev/null; do :; done; echo "$pid"`,
    );
    assert(/^\d+$/.test(killed), killed);
    for (const word of ["one", "two"]) assertEquals(await run(`echo ${word}`), word);
  });
});

Deno.test(
  { name: "the shell that waits ends with the session and with the program", ignore: !LINUX },
  async () => {
    let pid = "";
    await session(async (run) => void (pid = await run(FIND_WAITING)));
    assert(/^\d+$/.test(pid), pid);
    assertEquals(await Deno.stat(`/proc/${pid}`).then(() => true, () => false), false);

    const program = `import { BUILTINS, openServices } from "${new URL(
      "../../../../src/tool/mod.ts",
      import.meta.url,
    )}";
    import { makeToolContext } from "${new URL("../../../support/tool_context.ts", import.meta.url)}";
    const bash = BUILTINS.find((one) => one.name === "bash");
    const result = await bash.execute({ command: ${
      JSON.stringify(FIND_WAITING)
    } }, makeToolContext("/", { services: openServices() }));
    console.log(result.content);
    Deno.kill(Deno.pid, "SIGKILL");`;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-check", program],
      stderr: "null",
    });
    const killed = new TextDecoder().decode((await child.output()).stdout).trim();
    assert(/^\d+$/.test(killed), killed);
    const end = Date.now() + 60_000;
    while (await Deno.readTextFile(`/proc/${killed}/cmdline`).then((text) => text !== "", () => false)) {
      assert(Date.now() < end, "the waiting shell outlived the program");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
);
