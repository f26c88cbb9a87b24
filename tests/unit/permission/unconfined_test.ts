import { textOf } from "../../../src/core/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { bash, scene } from "./scene.ts";
import { readCorpus } from "../../support/corpus.ts";
import text from "./lines.txt" with { type: "text" };

const { "not listed as readers": UNLISTED = [] } = readCorpus(text);

const signal = new AbortController().signal;

Deno.test("in read-only modes without a jail only listed commands run, in every approval mode", async () => {
  const unconfined = () => Promise.resolve("there is no jail; answer with a diff");
  const modes = ["workspace-write", "danger-full-access", "read-only", "plan"] as const;
  for (const permissionMode of modes) {
    const filesStay = !["read-only", "plan"].includes(permissionMode);
    const options = { permissionMode, unconfined, filesStay };
    const { gate, events } = scene("/w", { allow: ["Bash"] }, options);
    gate.approvalMode = "yolo";
    const refused = await gate.check(bash("git status"), signal);
    assertEquals([refused.decision, refused.source], ["deny", "mode"]);
    assertEquals(
      textOf(refused.reason ?? ""),
      '"git status" is not one of the commands that may run where files must not change, and ' +
        "there is no jail; answer with a diff",
    );
    assertEquals(
      (await gate.check(bash("cat a b | sort -rn | head -5 && ls -la 2>/dev/null"), signal)).decision,
      "allow",
    );
    assertEquals(events[0]?.type, "approval.decision");
    assertEquals((await gate.explain(bash("make"))).decision, "deny");
    for (const line of UNLISTED) {
      assertEquals((await gate.check(bash(line), signal)).decision, "deny", `${permissionMode}: ${line}`);
    }
  }
  const jailed = scene("/w", {}, { filesStay: true, unconfined: () => Promise.resolve(undefined) }).gate;
  assertEquals((await jailed.check(bash("make"), signal)).decision, "allow");
  const free = scene("/w", {}, { unconfined }).gate;
  assertEquals((await free.check(bash("make"), signal)).decision, "allow");
});
