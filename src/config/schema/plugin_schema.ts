import * as z from "zod/mini";
import { amount, flag, key, text, textMap, texts } from "./schema_key.ts";

/** One MCP server: an entry of `[[plugins]]`. */
export const pluginSchema = z.object({
  name: key(z.string().check(z.minLength(1)), "Server name; its tools are called `mcp__<name>__<tool>`."),
  type: key(
    z._default(z.enum(["stdio", "http", "streamable-http", "sse"]), "stdio"),
    "Transport: a local process, or a remote server.",
  ),
  enabled: key(flag(true), "Whether the server is started."),
  command: key(text(), "Program of a `stdio` server.", { expand: true }),
  args: key(texts(), "Its arguments.", { expand: true }),
  env: key(textMap(), "Environment variables for it.", { expand: true, secret: true }),
  url: key(text(), "Address of an `http` or `sse` server.", { expand: true }),
  headers: key(textMap(), "Request headers, such as a bearer token.", { expand: true, secret: true }),
  call_timeout_seconds: key(
    amount(0),
    "Longest call of this server; 0 = `tools.mcp_call_timeout_seconds`.",
  ),
  tool_timeout_seconds: key(
    z._default(z.record(z.string(), z.number().check(z.nonnegative())), {}),
    "The same for single tools, by their raw MCP name.",
  ),
  trusted_read_only_tools: key(texts(), "Tools of this server that plan mode may run."),
});
