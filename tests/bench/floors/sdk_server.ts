/** A server of one tool with nothing but the SDK: the floor of plugins. */
import { stdin } from "node:process";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const closed = new Promise((resolve) => stdin.once("end", resolve).once("close", resolve));
const connection = serveStdio(() => {
  const server = new McpServer({ name: "bare", version: "1" });
  server.registerTool(
    "echo",
    { description: "Echo", inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({
      content: [{ type: "text", text }],
    }),
  );
  return server;
});
await closed;
await connection.close();
