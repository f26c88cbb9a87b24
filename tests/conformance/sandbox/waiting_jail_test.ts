/** A shell that waits in its jail while what the jail hides or protects changes outside. */
import type { Jail, JailOptions } from "../../../src/sandbox/mod.ts";
import { BUILTINS, type CommandJail, openServices, type Tool } from "../../../src/tool/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeToolContext } from "../../support/tool_context.ts";
import { groundJail, jailed } from "../../unit/sandbox/command/jail_support.ts";
import { type Ground, ground } from "../../unit/sandbox/support.ts";

const BASH = BUILTINS.find((one) => one.name === "bash") as Tool;

/** Printed by a shell that waited; its own words do not hold what it looks for. */
const WAITED = `case $(tr '\\0' ' ' </proc/$$/cmdline) in *"read -"r*) echo waited ;; *) echo new ;; esac`;

interface Stage {
  readonly g: Ground;
  readonly vault: string;
  /** The directory that commands start in. */
  readonly cwd: string;
  /** Runs a command; afterwards a shell waits for the next. */
  run(command: string, jail?: Jail): Promise<string>;
  jail(options?: Partial<JailOptions>): Promise<Jail>;
}

function asContext(
  jail: Jail,
  change: (plan: ReturnType<Jail["wrap"]>) => ReturnType<Jail["wrap"]>,
): CommandJail {
  return {
    confined: jail.confined,
    wrap: (argv, options) => change(jail.wrap(argv, options)),
    ahead: (options) => change(jail.wrap([], options)).ahead,
  };
}

async function stage(
  work: (stage: Stage) => Promise<void>,
  change: Parameters<typeof asContext>[1] = (plan) => plan,
): Promise<void> {
  await using g = await ground();
  await using services = openServices();
  const vault = `${g.base}/vault`;
  const cwd = `${g.ws}/sub`;
  for (const folder of [vault, cwd, `${g.ws}/.git/hooks`, `${g.base}/home/.ssh/agent`]) {
    await Deno.mkdir(folder, { recursive: true });
  }
  for (const file of [`${vault}/key`, `${g.ws}/.git/config`]) await Deno.writeTextFile(file, "secret");
  const jail = (options: Partial<JailOptions> = {}) =>
    groundJail(g, { forbidRead: [`${vault}/key`, `${vault}/later`], denyRead: ["*.pem"], ...options });
  const first = await jail();
  await work({
    g,
    vault,
    cwd,
    jail,
    async run(command, now = first) {
      const context = makeToolContext(cwd, { services, jail: asContext(now, change) });
      const { content } = await BASH.execute({ command }, context);
      const end = Date.now() + 30_000;
      while (!services.shell?.spare?.waits) {
        assert(Date.now() < end, "no shell waits");
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return content;
    },
  });
}

interface Change {
  readonly name: string;
  /** Done while the shell waits. */
  readonly make: (stage: Stage) => void | Promise<unknown>;
  /** What a command must not be able to do then, and what it says instead. */
  readonly attack: (stage: Stage) => string;
  readonly said: RegExp;
  /** The jail of the attack; absent: the same. */
  readonly jail?: (stage: Stage) => Promise<Jail>;
}

const HIDDEN = /^(?:|cat: .*)\s*(?:\[exit code 1\])?$|^\(no output\)$/;
const READ_ONLY = /read-only file system/i;

const CHANGES: readonly Change[] = [
  {
    name: "a forbidden file is made",
    make: ({ vault }) => Deno.writeTextFile(`${vault}/later`, "secret"),
    attack: ({ vault }) => `cat ${vault}/later`,
    said: HIDDEN,
  },
  {
    name: "a file that a rule denies is made",
    make: ({ cwd }) => Deno.writeTextFile(`${cwd}/a.pem`, "secret"),
    attack: () => "cat a.pem",
    said: HIDDEN,
  },
  {
    name: "a forbidden file is replaced by another",
    async make({ vault }) {
      await Deno.writeTextFile(`${vault}/new`, "secret");
      await Deno.rename(`${vault}/new`, `${vault}/key`);
    },
    attack: ({ vault }) => `cat ${vault}/key`,
    said: HIDDEN,
  },
  {
    name: "a forbidden file is removed and made again",
    async make({ vault }) {
      await Deno.remove(`${vault}/key`);
      await Deno.writeTextFile(`${vault}/key`, "secret");
    },
    attack: ({ vault }) => `cat ${vault}/key`,
    said: HIDDEN,
  },
  {
    name: "an agent opens a socket",
    make: ({ g }) => void Deno.listen({ transport: "unix", path: `${g.base}/home/.ssh/agent/s` }).unref(),
    attack: ({ g }) => `[ -S ${g.base}/home/.ssh/agent/s ] && echo secret`,
    said: HIDDEN,
  },
  {
    name: "settings of an editor are made",
    async make({ g }) {
      await Deno.mkdir(`${g.ws}/.vscode`);
      await Deno.writeTextFile(`${g.ws}/.vscode/tasks.json`, "{}");
    },
    attack: () => "echo secret > ../.vscode/tasks.json",
    said: READ_ONLY,
  },
  {
    name: "git's hooks are another directory",
    async make({ g }) {
      await Deno.rename(`${g.ws}/.git/hooks`, `${g.ws}/.git/old`);
      await Deno.mkdir(`${g.ws}/.git/hooks`);
    },
    attack: () => "echo secret > ../.git/hooks/pre-commit",
    said: READ_ONLY,
  },
  {
    name: "git's settings are replaced",
    async make({ g }) {
      await Deno.writeTextFile(`${g.ws}/.git/new`, "");
      await Deno.rename(`${g.ws}/.git/new`, `${g.ws}/.git/config`);
    },
    attack: () => "echo secret > ../.git/config",
    said: READ_ONLY,
  },
  {
    name: "the directory is another of the same name",
    async make({ cwd }) {
      await Deno.rename(cwd, `${cwd}.old`);
      await Deno.mkdir(cwd);
    },
    attack: ({ cwd }) => `touch here; ls ${cwd}`,
    said: /^here$/,
  },
  {
    name: "the mode is one that keeps files",
    make() {},
    attack: () => "touch here",
    said: READ_ONLY,
    jail: async ({ jail }) => (await jail()).readOnly(),
  },
  {
    name: "a rule is added",
    make: ({ cwd }) => Deno.writeTextFile(`${cwd}/b.txt`, "secret"),
    attack: () => "cat b.txt",
    said: HIDDEN,
    jail: ({ jail }) => jail({ denyRead: ["*.pem", "b.txt"] }),
  },
];

for (const { name, make, attack, said, jail } of CHANGES) {
  Deno.test({
    ...jailed(`a jail that waits while ${name} is not used`),
    fn: () =>
      stage(async (s) => {
        await s.run("true");
        assertEquals(await s.run(WAITED), "waited");
        await make(s);
        const text = await s.run(`${WAITED} >&2; ${attack(s)}`, await jail?.(s));
        const [first, ...rest] = text.split("\n");
        assertEquals(first, "new");
        assert(said.test(rest.join("\n")), text);
      }),
  });
}

Deno.test({
  ...jailed("a jail that waits while what it protects is moved away and back is not used"),
  fn: () =>
    stage(async ({ g, run }) => {
      await run("true");
      assertEquals(await run(WAITED), "waited");
      for (const name of ["hooks", "config"]) {
        await Deno.rename(`${g.ws}/.git/${name}`, `${g.ws}/.git/moved`);
        await Deno.rename(`${g.ws}/.git/moved`, `${g.ws}/.git/${name}`);
        assertEquals(await run(WAITED), "new");
        assertEquals(await run(WAITED), "waited");
      }
    }),
});

Deno.test({
  ...jailed("commands without a network do not run in a jail that waits with one"),
  fn: () =>
    stage(async ({ run, jail }) => {
      const open = await jail({ network: "open" });
      await run("true", open);
      const inside = await run("readlink /proc/self/ns/net", open);
      assert(await run("readlink /proc/self/ns/net") !== inside);
    }),
});

Deno.test({
  ...jailed("a jail whose mounts have changed says so and runs nothing, though nobody compared"),
  fn: () =>
    stage(
      async ({ run, vault, cwd }) => {
        await run("true");
        // A jail that is still being set up when its file is replaced is made on the new one, or finds the
        // mount gone before it has looked: nobody but the comparison that is left out here could tell.
        let said = "waited";
        for (let ms = 10; said.startsWith("waited"); ms *= 2) {
          assert(ms < 30_000, said);
          await new Promise((resolve) => setTimeout(resolve, ms));
          await Deno.writeTextFile(`${vault}/new`, "secret");
          await Deno.rename(`${vault}/new`, `${vault}/key`);
          await Deno.remove(`${cwd}/runs`).catch(() => {});
          said = await run(`echo x >> ${cwd}/runs; ${WAITED}; cat ${vault}/key`);
        }
        assert(!said.includes("secret"), said);
        assertEquals(await Deno.readTextFile(`${cwd}/runs`), "x\n");
      },
      (plan) => ({ ...plan, ahead: (argv) => ({ ...plan.ahead(argv), basis: "", changed: 0 }) }),
    ),
});

Deno.test({
  ...jailed("commands find the same in a jail that waited"),
  fn: () =>
    stage(async ({ run, cwd }) => {
      const look = [
        "echo $$ $PPID $0 $# $- $SECONDS [$OLDPWD] $BASH_EXECUTION_STRING; pwd; umask",
        "env | grep -v ^REASONIX_GUARD | sort; ulimit -a; cat; trap",
        "grep -v 'ctxt_switches\\|Vm\\|Rss\\|HugetlbPages\\|_allowed\\|SigQ' /proc/self/status",
        "ls -l /proc/self/fd | sed 's/.*[0-9] \\([0-9]* ->\\)/\\1/; s/\\[[0-9]*\\]//; s/proc.*//'; ls /proc/$$/fd",
        "sed 's/^[0-9]* [0-9]* //; s/^[0-9]*:[0-9]* //; s/size=[0-9a-z]*//' /proc/self/mountinfo",
        "ps -ef | wc -l; readlink /proc/self/cwd; cat /proc/self/cgroup /proc/self/oom_score_adj; ls -a /dev /tmp /run",
        // A shell with a trap loses a signal that reaches a child of its before that has become its program.
        "sleep 100 & sleep 0.2; jobs; kill %1; wait %1; echo $?; (exit 3); echo $?",
      ].join("\n");
      const first = await run(look);
      assertEquals(await run(WAITED), "waited");
      assertEquals(await run(look), first);
      for (const [command, code] of [["set -e; false; echo no", 1], ["kill -TERM $$", 143], ["exit 7", 7]]) {
        assert((await run(`${command}`)).includes(`[exit code ${code}`), `${command}`);
      }
      assertEquals(await run("mkdir below && cd below"), `[now in ${cwd}/below]`);
      assertEquals(await run(`${WAITED}; pwd`), `waited\n${cwd}/below`);
    }),
});

Deno.test({
  ...jailed("a home with nothing hidden in it may change while a jail waits, one with a key may not"),
  fn: () =>
    stage(async ({ g, run, jail }) => {
      for (const [home, last] of [[`${g.base}/bare`, "waited"], [g.home, "new"]] as const) {
        await Deno.mkdir(home, { recursive: true });
        const now = await jail({ home });
        await run("true", now);
        assertEquals(await run(WAITED, now), "waited");
        await Deno.mkdir(`${home}/projects`);
        assertEquals(await run(WAITED, now), last);
        assertEquals(
          await run(`touch ${home}/here || echo kept`, now).then((said) => /kept/.test(said)),
          true,
        );
      }
    }),
});
