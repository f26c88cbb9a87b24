import { table } from "../../../src/reports/table.ts";
import { assertEquals } from "../../support/assert.ts";

Deno.test("table aligns wide characters, right-aligns numbers and removes control characters", () => {
  const rows = [["日本", "5", "x\u001b[2J\ny"], ["a", "1,000", "z"]];
  assertEquals(
    table(["NAME", "N", "TITLE"], rows, { right: ["N"] }),
    "NAME      N  TITLE\n日本      5  x y\na     1,000  z\n",
  );
});

Deno.test("table truncates lines to the given width", () => {
  assertEquals(table(["A", "B"], [["1", "一二三四五"]], { width: 9 }), "A  B\n1  一二…\n");
});
