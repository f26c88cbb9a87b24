/** The tool process of the host tests: the built-in tools, and three that behave badly. */
import { runToolProcess } from "../../../../src/tool/host/tool_process.ts";
import { makeToolContext } from "../../../support/tool_context.ts";
import { badTools } from "./bad_tools.ts";

await runToolProcess(
  { paths: (data) => makeToolContext(String(data)).paths, tools: badTools() },
  { input: Deno.stdin.readable, write: (bytes) => Deno.stdout.writeSync(bytes) },
);
