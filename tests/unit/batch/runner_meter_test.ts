import { readStats } from "../../../src/batch/runner_meter.ts";
import { assertEquals } from "../../support/assert.ts";

/** A line of /proc/PID/stat with the fields that are read. */
function stat(pid: number, name: string, parent: number, times: readonly number[], pages: number): string {
  const zeros = (count: number) => Array(count).fill(0).join(" ");
  return `${pid} (${name}) S ${parent} ${zeros(9)} ${times.join(" ")} ${zeros(6)} ${pages} ${zeros(28)}`;
}

Deno.test("memory and time of a process are summed up with those below it, whatever they are named", () => {
  const text = [
    stat(1, "init", 0, [900, 900, 900, 900], 9_000),
    stat(20, "reasonix) S 1 (", 1, [100, 20, 3, 2], 1_000),
    stat(30, "sh", 20, [5, 0, 10, 0], 10),
    stat(31, "make all", 30, [50, 10, 0, 0], 500),
    stat(40, "other", 1, [7, 7, 7, 7], 70),
    "",
  ].join("\n");
  assertEquals(readStats(text, { root: 20, page: 4096 }), { bytes: 1_510 * 4096, seconds: 2 });
  assertEquals(readStats(text, { root: 99, page: 4096 }), undefined);
});
