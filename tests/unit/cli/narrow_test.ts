import { forReader } from "../../../cli/terminal/narrow.ts";
import { displayWidth } from "../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const HELP = `USAGE
  reasonix session list ...

FLAGS
  -h  --help   Print help information and exit
     --mode    Set the mode (read-only, workspace-write)
`;

Deno.test("forReader continues descriptions under their beginning", () => {
  assertEquals(forReader(HELP, 34).split("\n"), [
    "USAGE",
    "  reasonix session list ...",
    "",
    "FLAGS",
    "  -h  --help   Print help",
    "               information and",
    "               exit",
    "     --mode    Set the mode",
    "               (read-only,",
    "               workspace-write)",
    "",
  ]);
});

Deno.test("forReader puts descriptions below names that leave too little width", () => {
  assertEquals(forReader("  --a-very-long-option  说明文字很长，要换行", 24).split("\n"), [
    "  --a-very-long-option",
    "        说明文字很长，要",
    "        换行",
  ]);
});

Deno.test("forReader keeps lines that fit and truncates nothing", () => {
  assertEquals(forReader(HELP, 80), HELP);
  const squeezed = forReader(HELP, 32);
  assertEquals(squeezed.replace(/\s/g, ""), HELP.replace(/\s/g, ""));
  assert(squeezed.split("\n").every((line) => displayWidth(line) <= 32));
});
