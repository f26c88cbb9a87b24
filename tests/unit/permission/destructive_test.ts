import { textOf } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import type { ApprovalRequest } from "../../../src/permission/mod.ts";
import { bash, scene } from "./scene.ts";
import { readCorpus } from "../../support/corpus.ts";
import text from "./lines.txt" with { type: "text" };

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
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
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
