import { forReader } from "../../../cli/terminal/narrow.ts";
import { displayWidth } from "../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const HELP = `USAGE
  reasonix session list|show|search|rename|export ...

FLAGS
  -h  --help   Print help information and exit
     --mode    What may run [read-only|workspace-write|plan]
`;

Deno.test("forReader continues descriptions under their beginning and breaks lists after their bars", () => {
  assertEquals(forReader(HELP, 34).split("\n"), [
    "USAGE",
    "  reasonix session",
    "    list|show|search|rename|export",
    "    ...",
    "",
    "FLAGS",
    "  -h  --help   Print help",
    "               information and",
    "               exit",
    "     --mode    What may run",
    "               [read-only|",
    "               workspace-write|",
    "               plan]",
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
  const squeezed = forReader(HELP, 26);
  assertEquals(squeezed.replace(/\s/g, ""), HELP.replace(/\s/g, ""));
  assert(squeezed.split("\n").every((line) => displayWidth(line) <= 26));
});
