import { makeTree, READER_ENV, snapshot } from "../conformance/permission/reader_jail.ts";
import { type Form, type FormKind, FORMS } from "../conformance/permission/line_forms.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { removeTree } from "../support/remove_tree.ts";

/** The result of a line: it ran, was refused, or was refused as destructive. */
type Outcome = "ran" | "refused" | "destructive";

interface Mode {
  readonly name: string;
  readonly flags: readonly string[];
  readonly config?: string;
  readonly expected: Readonly<Partial<Record<FormKind, Outcome>>>;
}

const NO_WRITER = {
  writes: "refused",
  reads: "ran",
  listed: "ran",
  destroys: "refused",
  local: "refused",
  code: "refused",
} as const;

const MODES: readonly Mode[] = [
  { name: "read-only", flags: ["--permission-mode", "read-only"], expected: NO_WRITER },
  { name: "plan", flags: ["--permission-mode", "plan"], expected: NO_WRITER },
  {
    name: "--writes deny without a jail",
    flags: ["--writes", "deny"],
    config: '[sandbox]\nbash = "off"\n',
    expected: { ...NO_WRITER, reads: "refused" },
  },
  { name: "--on-ask deny", flags: ["--on-ask", "deny"], expected: { ...NO_WRITER, destroys: "destructive" } },
  {
    name: "headless",
    flags: [],
    expected: { reads: "ran", listed: "ran", destroys: "destructive", local: "ran", code: "ran" },
  },
  {
    name: "headless next to a deny rule",
    flags: [],
    config: '[permissions]\ndeny = ["Bash(git push:*)", "Bash(npm publish:*)"]\n',
    expected: { reads: "ran", code: "refused" },
  },
];

/** Stand-ins for programs that are not installed: each leaves a file where it starts. */
const FAKES =
  ("rsync hdparm nvme badblocks zpool zfs killall5 gawk tree just rake task mage bun ruby php lua sudo")
    .split(" ");

const CALLS_A_MESSAGE = 40;

function outcome(results: string): Outcome {
  if (!/^blocked: /.test(results)) return "ran";
  return results.includes("the destructive-command check refuses") ? "destructive" : "refused";
}

/**
 * Runs the program with a model that tries all lines. Returns the outcome of each, and whether the tree is
 * unchanged.
 */
async function play(mode: Mode, lines: readonly string[]): Promise<{ results: string[]; same: boolean }> {
  const turns: { calls: { name: string; args: { command: string } }[] }[] = [];
  for (let at = 0; at < lines.length; at += CALLS_A_MESSAGE) {
    turns.push({
      calls: lines.slice(at, at + CALLS_A_MESSAGE).map((command) => ({ name: "bash", args: { command } })),
    });
  }
  await using server = startModelServer([...turns, { text: "ok" }]);
  await using world = await makeWorld(
    mockConfig(server.url, mode.config, "context_window = 1000000"),
  );
  const tree = `${world.dir}/tree`;
  await makeTree(tree);
  await Deno.mkdir(`${tree}/ws/bin`);
  for (const name of FAKES) {
    await Deno.writeTextFile(`${tree}/ws/bin/${name}`, `#!/bin/sh\ntouch started-${name}\n`, { mode: 0o755 });
  }
  const before = await snapshot(`${tree}/ws`);
  const done = await world.run(["run", "--max-steps", "100", ...mode.flags, "go"], {
    cwd: `${tree}/ws`,
    env: { ...READER_ENV, PATH: `${tree}/ws/bin:${Deno.env.get("PATH")}`, HOME: `${tree}/home` },
  });
  assertEquals(done.code, 0, done.stderr);
  const messages = server.requests.at(-1)?.json.messages as { role: string; content: string }[];
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  return { results, same: await snapshot(`${tree}/ws`) === before };
}

for (const mode of MODES) {
  Deno.test({
    ...jailed(`each form of command line and its variants are judged in the real program: ${mode.name}`),
    fn: async () => {
      const chosen = FORMS.filter((form) => mode.expected[form.kind] !== undefined);
      const out = await Deno.makeTempDir({ dir: "/var/tmp" });
      const fill = (line: string) => line.replaceAll("{out}", out);
      try {
        const rows = chosen.flatMap((form: Form) =>
          form.lines.map((line) => [form.kind, fill(line)] as const)
        );
        const { results, same } = await play(mode, rows.map(([, line]) => line));
        assertEquals(results.length, rows.length);
        const wrong = rows.flatMap(([kind, line], i) => {
          const found = outcome(results[i] ?? "");
          return found === mode.expected[kind]
            ? []
            : [`${line} → ${found}: ${results[i]?.split("\n", 1)[0]}`];
        });
        assertEquals(wrong, []);
        assert(await Deno.stat(out).then(() => true, () => false), "the directory outside is gone");
        assert(same || mode.expected.code === "ran", "the workspace was changed");
      } finally {
        await removeTree(out).catch(() => {});
      }
    },
  });
}

Deno.test("each form of command line has three variants", () => {
  assertEquals(FORMS.filter((form) => form.lines.length < 4), []);
});
