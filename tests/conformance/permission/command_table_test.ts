import { assert, assertEquals } from "../../support/assert.ts";
import { type Expected, RULE_SETS, TABLE } from "./command_table.ts";
import { bash, scene } from "../../unit/permission/scene.ts";
import { removeTree } from "../../support/remove_tree.ts";

const SETS = ["refuse", "permit", "carve", "files"] as const;

for (const set of SETS) {
  Deno.test(`the gate judges every command line of the table when the rules are "${set}"`, async () => {
    const cwd = await Deno.makeTempDir();
    try {
      const { gate } = scene(await Deno.realPath(cwd), RULE_SETS[set], { saveRule: () => Promise.resolve() });
      const wrong: string[] = [];
      for (const [line, expected] of TABLE[set]) {
        const { decision, headless, reason } = await gate.explain(bash(line));
        const found: Expected = decision !== "ask" ? decision : headless === "allow" ? "ask" : "guard";
        if (found !== expected) {
          wrong.push(`${JSON.stringify(line)}: expected ${expected}, got ${found} (${reason})`);
        }
      }
      assertEquals(wrong, []);
    } finally {
      await removeTree(cwd);
    }
  });
}

Deno.test("the table has at least 150 lines without duplicates under the same rules", () => {
  const lines = SETS.flatMap((set) => TABLE[set].map(([line]) => `${set} ${line}`));
  assert(lines.length >= 150, String(lines.length));
  assertEquals(new Set(lines).size, lines.length);
});
