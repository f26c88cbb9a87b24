/** The top of the live region after a change of the terminal size. */
import { type RegionState, rowsToTop } from "../../../../src/frontend/repl/screen/region.ts";
import { SizeReports } from "../../../../src/frontend/repl/terminal/deno_terminal.ts";
import { assertEquals } from "../../../support/assert.ts";

const WIDE = "x".repeat(60);
const NARROW = { columns: 30, reflow: "all" } as const;

Deno.test("an existing region is rewrapped, and a later one is not", () => {
  const before: RegionState = { live: [WIDE, "", "> ", "status"], row: 2, column: 2 };
  const now: RegionState = { live: [WIDE, WIDE, "> ", "status"], row: 2, column: 2 };
  const last = { before, printed: [], rows: 0 };
  assertEquals(rowsToTop(now, last, "before", NARROW), 4);
  assertEquals(rowsToTop(now, last, "after", NARROW), 3);
  assertEquals(rowsToTop(now, last, "unknown", NARROW), 3);
  assertEquals(rowsToTop(now, last, "before", { columns: 30, reflow: "none" }), 2);
});

Deno.test("history lines of a frame are never counted as part of the region", () => {
  const standing: RegionState = { live: [WIDE, WIDE, "> "], row: 2, column: 2 };
  for (const taken of ["after", "unknown"] as const) {
    assertEquals(
      rowsToTop(
        standing,
        { before: standing, printed: [{ line: "x", columns: 60 }], rows: 1 },
        taken,
        NARROW,
      ),
      2,
    );
  }
});

Deno.test("rows that the cursor passed count one each while the width is unknown", () => {
  const before: RegionState = { live: ["one", WIDE, WIDE, "> "], row: 0 };
  const now: RegionState = { live: ["two", WIDE, WIDE, "> "], row: 3, column: 2 };
  assertEquals(rowsToTop(now, { before, printed: [], rows: 0 }, "before", NARROW), 5);
  assertEquals(rowsToTop(now, { before, printed: [], rows: 0 }, "after", NARROW), 3);
  assertEquals(rowsToTop(now, { before, printed: [], rows: 0 }, "unknown", NARROW), 3);
});

Deno.test("sizes are read in the terminal's order, and answers match their queries", async () => {
  for (
    const [first, answer] of [["\x1b[8;24;80t", "\x1b[8;10;40t"], ["\x1b[8;80;24t", "\x1b[8;40;10t"]] as const
  ) {
    const reports = new SizeReports();
    assertEquals(reports.known, false);
    assertEquals(reports.take("\x1b[?62c", { columns: 80, rows: 24 }), false);
    assertEquals(reports.take(first, { columns: 80, rows: 24 }), true);
    assertEquals(reports.known, true);
    const sizes = [reports.next(), reports.next()];
    reports.take(answer, { columns: 80, rows: 24 });
    reports.take(first, { columns: 80, rows: 24 });
    assertEquals(await Promise.all(sizes), [{ columns: 40, rows: 10 }, { columns: 80, rows: 24 }]);
  }
  // A square says nothing of the order, and another size nothing at all.
  const unclear = new SizeReports();
  unclear.take("\x1b[8;30;90t", { columns: 80, rows: 24 });
  unclear.take("\x1b[8;50;50t", { columns: 50, rows: 50 });
  assertEquals(unclear.known, false);
});
