import type { CommandEnvironment, GateOptions } from "../../../src/permission/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { CASES, EMBEDDED, SERVICE_READS, SERVICES, SYSTEM, UPPER } from "./destructive_forms.ts";
import { bash, scene } from "./scene.ts";

const signal = new AbortController().signal;

/** A gate in yolo, which only denials and the destructive-command check restrict. */
function freeGate(more: Partial<GateOptions> & { deny?: readonly string[] } = {}) {
  const { deny = [], ...options } = more;
  return scene("/w/ws", { deny }, {
    approvalMode: "yolo",
    home: "/home/me",
    env: () => ({ HOME: "/home/me", PATH: "/usr/bin:/bin" }),
    ...options,
  }).gate;
}

function around(commandEnvironment: Partial<CommandEnvironment>): Pick<GateOptions, "commandEnvironment"> {
  return {
    commandEnvironment: () =>
      Promise.resolve({ privateDirectories: [], network: false, ...commandEnvironment }),
  };
}

/** The lines of a list with an unexpected decision, with the reason. */
async function wrong(
  gate: ReturnType<typeof freeGate>,
  lines: readonly string[],
  expected: "floor" | "rule" | "allow",
): Promise<string[]> {
  const found: string[] = [];
  for (const line of lines) {
    const { decision, source, reason } = await gate.check(bash(line), signal);
    if ((decision === "allow" ? "allow" : source) !== expected) {
      found.push(`${line} → ${decision}: ${reason}`);
    }
  }
  return found;
}

Deno.test("the gate prompts for destructive embedded code, form by form", async () => {
  assert(EMBEDDED.every((form) => form.length >= 4));
  assertEquals(await wrong(freeGate(), EMBEDDED.flat(), "floor"), []);
});

Deno.test("the gate prompts for erased disks, pools, processes and remote history, form by form", async () => {
  assert(SYSTEM.every((form) => form.length >= 4));
  assertEquals(await wrong(freeGate(), SYSTEM.flat(), "floor"), []);
});

Deno.test("on case-insensitive file systems programs are recognized in any case", async () => {
  for (const [rule, lines] of CASES) {
    assertEquals(await wrong(freeGate({ deny: [rule], ignoreCase: true }), lines, "rule"), [], rule);
    assertEquals(await wrong(freeGate({ deny: [rule], ignoreCase: false }), lines.slice(0, 1), "allow"), []);
  }
  assertEquals(await wrong(freeGate({ ignoreCase: true }), UPPER.flat(), "floor"), []);
  assertEquals(await wrong(freeGate({ ignoreCase: false }), ["RM -rf ~", "GIT push --force"], "allow"), []);
});

Deno.test("with network access the gate prompts for remote deletions by service clients", async () => {
  assert(SERVICES.every((form) => form.length >= 4));
  assertEquals(await wrong(freeGate(around({ network: true })), SERVICES.flat(), "floor"), []);
  assertEquals(await wrong(freeGate(), SERVICES.flat(), "floor"), []);
  assertEquals(await wrong(freeGate(around({ network: true })), SERVICE_READS, "allow"), []);
});

Deno.test("without network access remote deletions cause no prompt", async () => {
  const local = SERVICES.flat().filter((line) => !/rm -rf|mongo/.test(line));
  assertEquals(await wrong(freeGate(around({})), local, "allow"), []);
});

const OWN_TEMPORARY = [
  "rm -rf /tmp/x",
  "rm -rf /tmp/x /tmp/y/",
  "rm -rf /tmp/build-*",
  "rm -rf /tmp/*",
  "cd /tmp && rm -rf x",
  "cd /tmp; rm -rf *",
  "find /tmp/x -delete",
  'rm -rf "$TMPDIR/x"',
];
const OWN_VARIABLE = [
  "rm -rf /var/tmp/x",
  "rm -r /var/tmp/a /var/tmp/b",
  "cd /var/tmp && rm -rf x",
  "find /var/tmp -delete",
];
const FRESH = [
  "cd $(mktemp -d) && rm -rf *",
  'cd "$(mktemp -d)" && rm -rf ./*',
  'd=$(mktemp -d); cd "$d" && rm -rf *',
  'd=$(mktemp -d) && touch "$d/a" && rm -rf "$d"',
];
const STILL_ASKED = [
  "rm -rf /tmp/../etc",
  "rm -rf /var/tmpx",
  "rm -rf /",
  "rm -rf /var",
  "rm -rf ~",
  "cd $(mktemp -d); rm -rf ../../etc",
  'd=$(mktemp -d); cd "$d"; rm -rf *',
  'rm -rf "$(mktemp -d)/../etc"',
];

Deno.test("private temporary directories can be emptied without approval, others not", async () => {
  const own = freeGate(around({ privateDirectories: ["/tmp", "/var/tmp"] }));
  assertEquals(await wrong(own, [...OWN_TEMPORARY, ...OWN_VARIABLE, ...FRESH], "allow"), []);
  assertEquals(await wrong(own, STILL_ASKED, "floor"), []);
  const shared = freeGate(around({}));
  assertEquals(await wrong(shared, [...OWN_TEMPORARY.slice(0, 2), ...OWN_VARIABLE], "floor"), []);
  assertEquals(await wrong(shared, FRESH, "allow"), []);
});

Deno.test("a workspace in /tmp is not a private temporary directory", async () => {
  const { gate } = scene("/tmp/me/ws", {}, {
    approvalMode: "yolo",
    home: "/home/me",
    ...around({ privateDirectories: ["/tmp", "/var/tmp"] }),
  });
  const asked = ["rm -rf /tmp/me", "rm -rf /tmp/*", "rm -rf /tmp/me/*", "rm -rf .", "mv /home /elsewhere"];
  assertEquals(await wrong(gate, asked, "floor"), []);
  assertEquals(await wrong(gate, ["rm -rf /tmp/other", "rm -rf build"], "allow"), []);
});

Deno.test("a home in /tmp is not a private temporary directory", async () => {
  const { gate } = scene("/data/ws", {}, {
    approvalMode: "yolo",
    home: "/tmp/me",
    ...around({ privateDirectories: ["/tmp", "/var/tmp"] }),
  });
  assertEquals(await wrong(gate, ["rm -rf /tmp/me/docs", "rm -rf /tmp/me", "rm -rf /tmp/*"], "floor"), []);
  assertEquals(await wrong(gate, ["rm -rf /tmp/other"], "allow"), []);
});
