/** Writing to a terminal that accepts little or nothing, or is closed. */
import { TerminalOutput } from "../../../../src/frontend/repl/terminal/deno_terminal.ts";
import { assertEquals } from "../../../support/assert.ts";

/** A scripted standard output: accepts a number of bytes, or throws. */
async function written(
  script: (number | Error)[],
  work: (output: TerminalOutput) => unknown,
): Promise<string> {
  const { write, writeSync } = Deno.stdout;
  const bytes: number[] = [];
  const take = (chunk: Uint8Array): number => {
    const next = script.shift() ?? chunk.length;
    if (next instanceof Error) throw next;
    bytes.push(...chunk.subarray(0, next));
    return Math.min(next, chunk.length);
  };
  Deno.stdout.writeSync = take;
  Deno.stdout.write = (chunk) => new Promise((resolve) => resolve(take(chunk)));
  try {
    const output = new TerminalOutput();
    await work(output);
    await output.drained();
    return new TextDecoder().decode(new Uint8Array(bytes));
  } finally {
    Object.assign(Deno.stdout, { write, writeSync });
  }
}

const noRoom = () => new Deno.errors.WouldBlock();

Deno.test("bytes that a full terminal did not accept are written again in order", async () => {
  const script = [3, noRoom(), noRoom(), 2, new Deno.errors.Interrupted(), 4, noRoom()];
  const text = await written(script, (output) => {
    output.write("first 行 ");
    output.write("second ");
    output.write("third");
  });
  assertEquals(text, "first 行 second third");
  assertEquals(script, []);
});

Deno.test("a first frame without room is pending, and a written one is not", async () => {
  await written([noRoom()], async (output) => {
    const writing = output.write("frame");
    assertEquals(output.busy, true);
    await writing;
    assertEquals(output.busy, false);
  });
  await written([], (output) => {
    assertEquals(output.write("frame"), undefined);
    assertEquals(output.busy, false);
  });
});

Deno.test("a closed terminal blocks nothing", async () => {
  const gone = () => new Deno.errors.BrokenPipe();
  const text = await written([gone(), gone(), gone(), gone()], async (output) => {
    output.writeNow("lost");
    await output.write("lost, too");
    await output.write("and this");
  });
  assertEquals(text, "");
});
