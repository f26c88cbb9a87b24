import * as z from "zod/mini";
import { amount, count, flag, key, text, textMap, texts } from "./schema_key.ts";

/** What a server of its own kind of sign-in needs to know beforehand; most need nothing. */
const oauthSchema = z.object({
  client_id: key(
    text(),
    "Client id that the server was told of, or the https address of a document about it; empty = the program registers itself.",
    {
      expand: true,
    },
  ),
  client_secret_env: key(text(), "Variable with the secret of that client; empty = it has none."),
  scopes: key(texts(), "Scopes to ask for; empty = what the server proposes."),
  callback_port: key(count(0), "Port on this machine that the browser comes back to; 0 = any."),
});

/** One MCP server: an entry of `[[plugins]]`. */
export const pluginSchema = z.object({
  name: key(z.string().check(z.minLength(1)), "Server name; its tools are called `mcp__<name>__<tool>`."),
  type: key(
    z._default(z.enum(["stdio", "http", "streamable-http", "sse"]), "stdio"),
    "Transport: a local process, or a remote server.",
  ),
  transport: key(
    z._default(z.enum(["direct", "provider"]), "direct"),
    "Who speaks to a remote server: this program, or the model's provider (kinds `anthropic` and `responses`).",
  ),
  enabled: key(flag(true), "Whether the server is started."),
  command: key(text(), "Program of a `stdio` server.", { expand: true }),
  args: key(texts(), "Its arguments.", { expand: true }),
  env: key(textMap(), "Environment variables for it.", { expand: true, secret: true }),
  cwd: key(text(), "Directory it runs in; empty = the working directory.", {
    expand: true,
    path: "file",
  }),
  url: key(text(), "Address of an `http` server.", { expand: true }),
  headers: key(textMap(), "Request headers, such as a bearer token.", {
    expand: true,
    secret: true,
  }),
  headers_helper: key(text(), "Line of the shell that prints further headers as a JSON object."),
  oauth: key(z.optional(oauthSchema), "Sign-in of a remote server, where it does not work by itself."),
  startup_timeout_seconds: key(amount(30), "Time limit of a start; 0 = no limit."),
  call_timeout_seconds: key(
    amount(0),
    "Time limit of a call of this server; 0 = `tools.mcp_call_timeout_seconds`.",
  ),
  tool_timeout_seconds: key(
    z._default(z.record(z.string(), z.number().check(z.nonnegative())), {}),
    "The same for single tools, by their raw MCP name.",
  ),
  enabled_tools: key(texts(), "The only tools of it that are offered, by raw name; empty = all."),
  disabled_tools: key(texts(), "Tools of it that are not offered."),
  aliases: key(
    textMap(),
    "Short names under which the model is offered tools of it: the raw MCP name for each.",
  ),
  trusted_read_only_tools: key(texts(), "Tools of this server that only read, on your word."),
});

/** A server of the configuration with every default filled in, variables replaced and paths absolute. */
export type PluginEntry = z.infer<typeof pluginSchema>;
