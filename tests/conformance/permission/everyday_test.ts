import { assert, assertEquals } from "../../support/assert.ts";
import { bash, scene } from "../../unit/permission/scene.ts";
import { EVERYDAY, type EverydayLine } from "./everyday_lines.ts";
import { removeTree } from "../../support/remove_tree.ts";

const READING = EVERYDAY.filter((row) => row.class === "read" || row.class === "query");
const PERSON = EVERYDAY.filter((row) => row.class === "person");

/** Typical deny rules; none of the lines is one of these commands. */
const DENIED = ["Bash(npm publish:*)", "Bash(git push --force:*)", "Bash(sudo:*)", "Bash(rm -rf /)"];

type Overrides = NonNullable<Parameters<typeof scene>[2]>;

/** The lines that a gate does not allow automatically, with the reason. */
async function stopped(
  lines: readonly EverydayLine[],
  overrides: Overrides,
  deny: readonly string[] = [],
): Promise<EverydayLine[]> {
  const cwd = await Deno.realPath(await Deno.makeTempDir());
  try {
    for (const directory of ["src", "docs", "web", "api", "build", "home/.cache/pip", "home/project-old"]) {
      await Deno.mkdir(`${cwd}/ws/${directory}`.replace("/ws/home", "/home"), { recursive: true });
    }
    const env = () => ({ HOME: `${cwd}/home`, PATH: "/usr/bin:/bin" });
    const { gate } = scene(`${cwd}/ws`, { deny }, { home: `${cwd}/home`, env, ...overrides });
    const found: EverydayLine[] = [];
    for (const row of lines) {
      const { decision, headless, reason } = await gate.explain(bash(row.line));
      const asked = overrides.approvalMode === "auto" ? decision !== "allow" : headless !== "allow";
      if (asked) found.push({ ...row, reason });
    }
    return found;
  } finally {
    await removeTree(cwd);
  }
}

const shown = (rows: readonly EverydayLine[]) => rows.map(({ line, reason }) => `${line}  ← ${reason}`);

Deno.test("the corpus has 1,000 distinct everyday lines, of which at most 1% need approval", () => {
  assert(EVERYDAY.length >= 1000, String(EVERYDAY.length));
  assertEquals(new Set(EVERYDAY.map((row) => row.line)).size, EVERYDAY.length);
  assert(PERSON.length <= EVERYDAY.length / 100, String(PERSON.length));
  assert(READING.length >= 500);
});

for (const mode of ["ask", "deny"] as const) {
  Deno.test(`every reading line runs without approval with mode = "${mode}" and --on-ask deny`, async () => {
    assertEquals(shown(await stopped(READING, { mode, onAsk: "deny" })), []);
  });
}

for (const permissionMode of ["read-only", "plan"] as const) {
  Deno.test(`every reading line runs in ${permissionMode} mode`, async () => {
    assertEquals(shown(await stopped(READING, { permissionMode, onAsk: "deny" })), []);
  });
}

/** The jail of a default configuration: private temporary directories and no network. */
const JAILED: Overrides = {
  commandEnvironment: () => Promise.resolve({ privateDirectories: ["/tmp", "/var/tmp"], network: false }),
};

for (const approvalMode of ["ask", "auto"] as const) {
  const name = approvalMode === "ask" ? "headless" : "in the approval mode auto";
  Deno.test(`inside the jail only the marked lines need approval ${name}`, async () => {
    const found = await stopped(EVERYDAY, { ...JAILED, approvalMode });
    assertEquals(shown(found.filter((row) => row.class !== "person")), []);
    assertEquals(found.length, PERSON.length);
  });
}

/** Embedded code may run anything, so a deny rule may always apply to it. */
const INLINE_CODE = /^(?:echo .*\| |cat .*\| )?(?:python3?|node|deno|bun|perl|ruby|php|lua)(?: |$)/;

Deno.test("unrelated deny rules stop at most 1% of the lines without inline code", async () => {
  const found = await stopped(EVERYDAY.filter((row) => row.class !== "person"), JAILED, DENIED);
  assertEquals(shown(found.filter((row) => READING.includes(row))), []);
  const others = found.filter(({ line }) => !INLINE_CODE.test(line));
  assert(others.length <= EVERYDAY.length / 100, shown(others).join("\n"));
});
