import { BUILTINS, type Tool, type ToolResult } from "../../../../src/tool/mod.ts";

function tool(name: string, readOnly: boolean, execute: Tool["execute"]): Tool {
  return { name, description: name, schema: { type: "object" }, readOnly, execute };
}

const OK: ToolResult = { content: "ok", summary: "ok" };

/** The built-in tools that run in the tool process, and some that loop, crash, wait and throw. */
export function badTools(): Tool[] {
  return [
    ...BUILTINS,
    tool("spin", true, () => {
      while (true);
    }),
    tool(
      "backtrack",
      true,
      () => Promise.resolve({ ...OK, content: String(/^(a+)+$/.test(`${"a".repeat(60)}b`)) }),
    ),
    tool("crash", false, () => Deno.exit(3)),
    tool("wait", true, async (args, context) => {
      context.progress("waiting");
      while (!(await exists(String(args.path)))) await new Promise((resolve) => setTimeout(resolve, 5));
      return { ...OK, content: `pid ${Deno.pid}` };
    }),
    tool("wait_writing", false, async (args) => {
      while (!(await exists(String(args.path)))) await new Promise((resolve) => setTimeout(resolve, 5));
      return OK;
    }),
    tool("throw", true, () => Promise.reject(new Error("out of luck"))),
  ];
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
