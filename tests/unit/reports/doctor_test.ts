import { runtimeFaults } from "../../../src/reports/doctor.ts";
import { assertEquals } from "../../support/assert.ts";

/** Faults of a runtime by version and system. */
const ROWS: readonly (readonly [version: string, os: typeof Deno.build.os, faults: readonly string[]])[] = [
  ["2.7.13", "darwin", ["deniedSpellings", "unixSockets"]],
  ["2.7.14", "darwin", ["unixSockets"]],
  ["2.7.13", "linux", ["unixSockets"]],
  ["2.9.1", "linux", ["unixSockets"]],
  ["2.9.2", "linux", []],
  ["2.9.3", "windows", ["pipeNames"]],
  ["2.9.3+abc1234", "windows", ["pipeNames"]],
  ["2.10.0", "windows", []],
  ["3.0.0-rc.1", "darwin", []],
];

for (const [version, os, faults] of ROWS) {
  Deno.test(`runtimeFaults lists the known faults of Deno ${version} on ${os}`, () => {
    assertEquals(runtimeFaults(version, os).map(({ fault }) => fault), faults);
  });
}

Deno.test("the runtime of the tests has no known fault on any system", () => {
  for (const os of ["linux", "darwin", "windows"] as const) {
    assertEquals(runtimeFaults(Deno.version.deno, os), []);
  }
});
