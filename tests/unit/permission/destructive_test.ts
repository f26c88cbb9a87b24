import { textOf } from "../../../src/core/mod.ts";
import type { ApprovalRequest, CommandEnvironment, GateOptions } from "../../../src/permission/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { readCorpus } from "../../support/corpus.ts";
import { CASES, EMBEDDED, SERVICE_READS, SERVICES, SYSTEM, UPPER } from "./destructive_forms.ts";
import text from "./lines.txt" with { type: "text" };
import { bash, scene } from "./scene.ts";
import { removeTree } from "../../support/remove_tree.ts";

const {
  destroy: DESTRUCTIVE = [],
  "destroy nothing of note": HARMLESS = [],
  "run what they do not show": UNSEEN = [],
  "show what they run": SHOWN = [],
} = readCorpus(text);

const signal = new AbortController().signal;

/** `ws` is the workspace, `home` the home directory, `other` is next to them. */
async function tree(): Promise<{ root: string; ws: string; home: string } & AsyncDisposable> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  for (const directory of ["ws/build/deep", "ws/src", "ws/.git", "home/docs", "home/.config", "other/data"]) {
    await Deno.mkdir(`${root}/${directory}`, { recursive: true });
  }
  for (
    const file of ["ws/build/a", "ws/build/deep/b", "ws/src/c", "home/docs/d", "other/data/e", "other/f"]
  ) {
    await Deno.writeTextFile(`${root}/${file}`, "x");
  }
  await Deno.symlink(`${root}/other`, `${root}/ws/link`);
  return {
    root,
    ws: `${root}/ws`,
    home: `${root}/home`,
    [Symbol.asyncDispose]: () => removeTree(root),
  };
}

type Tree = Awaited<ReturnType<typeof tree>>;

function gateOf(t: Tree, overrides: Parameters<typeof scene>[2] = {}) {
  return scene(t.ws, {}, {
    approvalMode: "yolo",
    home: t.home,
    env: () => ({ HOME: t.home, OTHER: `${t.root}/other`, EMPTY: "", PATH: "/usr/bin:/bin" }),
    ...overrides,
  });
}

Deno.test("the gate refuses destructive commands headless in yolo", async () => {
  await using t = await tree();
  const { gate } = gateOf(t);
  const wrong: string[] = [];
  for (const line of DESTRUCTIVE) {
    const decision = await gate.check(bash(line), signal);
    if (decision.decision !== "deny" || decision.source !== "floor") {
      wrong.push(`${line} → ${JSON.stringify(decision)}`);
    }
  }
  assertEquals(wrong, []);
});

Deno.test("the destructive-command check ignores ordinary commands", async () => {
  await using t = await tree();
  const { gate } = gateOf(t);
  const wrong: string[] = [];
  for (const line of HARMLESS) {
    const decision = await gate.check(bash(line), signal);
    if (decision.decision !== "allow") wrong.push(`${line} → ${textOf(decision.reason ?? "")}`);
  }
  assertEquals(wrong, []);
});

Deno.test("the destructive-command check prompts once, with what would be deleted and how many files", async () => {
  await using t = await tree();
  const asked: ApprovalRequest[] = [];
  const approver = {
    ask(request: ApprovalRequest) {
      asked.push(request);
      return Promise.resolve({ allow: true, scope: "always" } as const);
    },
  };
  const { gate } = gateOf(t, { approver, saveRule: () => Promise.reject(new Error("must not save")) });
  for (let i = 0; i < 2; i++) {
    assertEquals((await gate.check(bash('rm -rf "$HOME"'), signal)).decision, "allow");
  }
  assertEquals(asked.length, 2);
  assertEquals(asked[0]?.scopes, ["once"]);
  assertEquals(asked[0]?.destructive?.[0]?.targets, [{ path: t.home, files: 1 }]);
  assertStringIncludes(textOf(asked[0]?.reason ?? ""), `it deletes ${t.home} (the home directory, 1 file)`);
});

Deno.test("the destructive-command check overrides an allow rule for the same command", async () => {
  await using t = await tree();
  const { gate } = scene(t.ws, { allow: ["Bash", "Bash(rm -rf ..)"] }, { home: t.home });
  const decision = await gate.check(bash("rm -rf .."), signal);
  assertEquals(decision.source, "floor");
  assertStringIncludes(textOf(decision.reason ?? ""), "the destructive-command check refuses");
});

Deno.test("the destructive-command check stops counting at its bound", async () => {
  await using t = await tree();
  await Promise.all(
    Array.from({ length: 5100 }, (_, i) => Deno.writeTextFile(`${t.root}/other/data/${i}`, "")),
  );
  const { gate } = gateOf(t);
  const { destructive } = await gate.explain(bash("rm -rf ../other"));
  assertEquals(destructive[0]?.targets, [{ path: `${t.root}/other`, files: 5000, more: true }]);
});

Deno.test("a denied command skips the destructive-command check", async () => {
  await using t = await tree();
  const { gate } = scene(t.ws, { deny: ["Bash(rm:*)"] }, { home: t.home });
  const found = await gate.explain(bash("rm -rf .."));
  assertEquals([found.decision, found.source, found.destructive], ["deny", "rule", []]);
});

Deno.test("strict confirmation covers the wide class of risky commands", async () => {
  await using t = await tree();
  const { gate } = gateOf(t, { confirm: "strict" });
  const refused = [
    "rm a",
    "mv a b",
    "chmod +x a",
    "chown me a",
    "dd if=a of=b",
    "echo x > src/c",
    "sudo rm a",
  ];
  for (const line of refused) {
    assertEquals((await gate.check(bash(line), signal)).source, "floor", line);
  }
  for (const line of ["echo x > new", "echo x >> src/c", "cp a b", "ls > /dev/null"]) {
    assert((await gate.check(bash(line), signal)).decision === "allow", line);
  }
});

Deno.test("commands configured as dangerous are found wherever a line may run them", async () => {
  await using t = await tree();
  const { gate } = gateOf(t, {
    approvalMode: "yolo",
    dangerous: [{ text: "Bash(kubectl delete:*)" }, { text: "Bash(terraform*destroy*)" }],
  });
  const refused = [
    "kubectl delete pod a",
    "/usr/bin/kubectl  delete pod a",
    "kubectl -n prod delete pod a",
    "ls && sudo env A=1 kubectl delete ns b",
    "sh -c 'kubectl delete pod a'",
    "terraform -chdir=x destroy",
    "$KUBE kubectl delete pod",
    "eval 'kubectl delete pod'",
    `python3 -c "import subprocess; subprocess.run(['kubectl', 'delete', 'pod'])"`,
    "kubectl delete pod a )(",
  ];
  for (const line of refused) {
    assertEquals((await gate.check(bash(line), signal)).source, "floor", line);
  }
  for (
    const line of ["kubectl get pods", "echo kubectl delete", "grep -r 'kubectl delete' .", "terraform plan"]
  ) {
    assertEquals((await gate.check(bash(line), signal)).decision, "allow", line);
  }
});

Deno.test("added roots belong to the workspace", async () => {
  await using t = await tree();
  const { gate } = gateOf(t, { roots: [t.ws, `${t.root}/other`] });
  assertEquals((await gate.check(bash("rm -rf ../other/data"), signal)).decision, "allow");
  assertEquals((await gate.check(bash("rm -rf ../other"), signal)).source, "floor");
});

Deno.test("a line that runs hidden code requires approval only without a jail", async () => {
  const sandboxUnavailable =
    scene("/repo", { allow: ["Bash"] }, { permissionMode: "danger-full-access" }).gate;
  const jailed = scene("/repo", { allow: ["Bash"] }).gate;
  const decide = async (gate: typeof jailed, line: string) =>
    (await gate.check(bash(line), new AbortController().signal)).decision;
  for (const line of UNSEEN) {
    assertEquals([line, await decide(sandboxUnavailable, line), await decide(jailed, line)], [
      line,
      "deny",
      "allow",
    ]);
  }
  for (const line of SHOWN) assertEquals([line, await decide(sandboxUnavailable, line)], [line, "allow"]);
});

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
