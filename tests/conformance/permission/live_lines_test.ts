import { assert, assertEquals } from "../../support/assert.ts";
import { harness } from "./harness.ts";
import { LIVE } from "./live_lines.ts";
import { TEXT } from "./text_lines.ts";

async function inFolder(work: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    await work(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const posix = { ignore: Deno.build.os === "windows" };

Deno.test({
  name: "the gate refuses every line that is known to run a denied command",
  ...posix,
  fn: () =>
    inFolder(async (root) => {
      const { allows } = await harness(root, 0);
      const allowed: string[] = [];
      for (const line of LIVE) if (await allows(line)) allowed.push(line);
      assertEquals(allowed, []);
      assert(LIVE.length >= 150, String(LIVE.length));
      assertEquals(new Set(LIVE).size, LIVE.length);
    }),
});

Deno.test({
  name: "the gate lets every line pass in which a denied command is only a word",
  ...posix,
  fn: () =>
    inFolder(async (root) => {
      const { allows } = await harness(root, 0);
      const refused: string[] = [];
      for (const line of TEXT) if (!await allows(line)) refused.push(line);
      assertEquals(refused, []);
    }),
});

Deno.test({
  name: "the refused lines really run the command, so that refusing them is no accident",
  ...posix,
  fn: () =>
    inFolder(async (root) => {
      // Those that need no program beside the shell's usual ones; some end the shell in ways that depend on
      // its version.
      const plain = LIVE.filter((line, i) =>
        i % 4 === 0 &&
        !/\b(?:git|make|python3|perl|node|cmake|sqlite3|gdb|vim|ex|ed|zip|npm|awk|script|dpkg|watch|strace)\b/
          .test(line)
      );
      let ran = 0;
      for (const [id, line] of plain.entries()) if (await (await harness(root, id)).runs(line)) ran++;
      assert(ran > plain.length * 0.8, `only ${ran} of ${plain.length} lines ran it`);
    }),
});
