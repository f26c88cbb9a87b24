/** The order of versions (SemVer 2, section 11), in the program and in install.sh. */
import { compareVersions } from "../../../cli/release/download.ts";
import { assertEquals } from "../../support/assert.ts";

/** Each is older than the next one. */
const ORDERED = [
  "0.9.9",
  "0.10.0-alpha",
  "0.10.0-alpha.1",
  "0.10.0-alpha.beta",
  "0.10.0-beta",
  "0.10.0-beta.2",
  "0.10.0-beta.11",
  "0.10.0-rc.1",
  "0.10.0",
  "0.10.1",
  "1.0.0",
  "10.0.0",
];

const PAIRS = ORDERED.flatMap((a) => ORDERED.map((b) => [a, b] as const));

function isOlder(a: string, b: string): boolean {
  return ORDERED.indexOf(a) < ORDERED.indexOf(b);
}

Deno.test("compareVersions orders versions as SemVer does", () => {
  for (const [a, b] of PAIRS) {
    assertEquals(compareVersions(a, b) < 0, isOlder(a, b), `${a} ${b}`);
    assertEquals(compareVersions(a, b) === 0, a === b, `${a} ${b}`);
  }
});

Deno.test({
  name: "install.sh orders versions as SemVer does",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const script = await Deno.readTextFile(new URL("../../../scripts/release/install.sh", import.meta.url));
    const functions = script.slice(0, script.lastIndexOf("\n{\n"));
    const calls = PAIRS.map(([a, b]) => `if is_older ${a} ${b}; then echo true; else echo false; fi`);
    const { stdout } = await new Deno.Command("/bin/sh", { args: ["-c", [functions, ...calls].join("\n")] })
      .output();
    const answers = new TextDecoder().decode(stdout).trimEnd().split("\n");
    assertEquals(answers, PAIRS.map(([a, b]) => String(isOlder(a, b))));
  },
});
