/**
 * Writes demo/cassette.jsonl: the real agent works on the real project while a model server says what
 * demo/replies.ts has. Run it when a tool's output changed so that `deno task demo` reports a divergence.
 */
import { DEMO_REPLIES } from "../demo/replies.ts";
import { startModelServer } from "../tests/support/model_server.ts";
import { CASSETTE, DEMO_TASK, makeDemoProject, PROGRAM } from "./demo_project.ts";
import { run, say } from "./process.ts";

/** Parts of a failed test's output that differ between Deno versions: the location and Deno's stack. */
const IGNORED = [
  { match: "^ ERRORS $[\\s\\S]*?(?=^FAILED \\|)", replace: "" },
  { match: "\\s+Stack backtrace:\\s+0: \\S+", replace: "" },
];

/** The same text in pieces, as a model streams it. */
function pieces(text: string): string[] {
  return text.match(/\S+\s*/g) ?? [];
}

/** An exchange whose figures show that they are invented. */
function scripted(line: string): string {
  const exchange = JSON.parse(line) as { readonly reply: readonly { readonly usage?: object }[] };
  const reply = exchange.reply.map((chunk) =>
    chunk.usage ? { ...chunk, usage: { ...chunk.usage, scripted: true } } : chunk
  );
  return JSON.stringify({ ...exchange, reply });
}

await using server = startModelServer(DEMO_REPLIES.map((turn) => ({ ...turn, text: pieces(turn.text) })));
await using demo = await makeDemoProject(`kind = "openai"\nbase_url = "${server.url}"\nmodel = "scripted"`);
const done = await run(Deno.execPath(), {
  args: [...PROGRAM, "run", "--record", CASSETTE, DEMO_TASK],
  cwd: demo.project,
  env: { REASONIX_HOME: demo.home },
  echo: true,
});
if (done.code !== 0) throw new Error(`The run ended with exit code ${done.code}`);
const [head = "", ...exchanges] = (await Deno.readTextFile(CASSETTE)).trimEnd().split("\n");
const header = { ...JSON.parse(head), loose: ["system", "tools"], ignore: IGNORED };
await Deno.writeTextFile(
  CASSETTE,
  [JSON.stringify(header), ...exchanges.map(scripted), ""].join("\n"),
);
say(`Wrote ${CASSETTE}`);
