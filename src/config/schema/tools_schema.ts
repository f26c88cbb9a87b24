import * as z from "zod/mini";
import { amount, count, flag, key, text, textMap, texts } from "./schema_key.ts";

/** A built-in tool as it is offered under another name. */
const toolAlias = z.object({
  tool: key(z.string().check(z.minLength(1)), "Name of the built-in tool."),
  arguments: key(textMap(), "The built-in argument name for each argument name of the alias."),
  parameters: key(
    texts(),
    "Exactly these arguments are offered and taken, `?` behind those that may be absent; empty = all.",
  ),
  description: key(text(), "Replaces what the model is told of the tool."),
});

/** `[tools]`: what the model can call, and how far a call may go. */
export const toolsSchema = z.object({
  enabled: key(texts(), "The only built-in tools offered; empty = all.", { project: "subset" }),
  disabled: key(texts(), "Tools not offered.", { merge: "concat", project: "adds" }),
  bash_timeout_seconds: key(amount(120), "Time limit of a foreground command, in seconds; 0 = no limit."),
  min_free_disk_mb: key(amount(512), "A command that leaves less free disk space is ended; 0 = no limit.", {
    project: "ignored",
  }),
  mcp_call_timeout_seconds: key(amount(300), "Time limit of an MCP call; 0 = no limit."),
  mcp_startup_wait_seconds: key(
    amount(5),
    "Longest wait of a run for MCP servers that it meets for the first time; 0 = none.",
    { project: "ignored" },
  ),
  mcp_index_above_tokens: key(
    count(8000),
    "Above so many tokens the tools of MCP servers are offered as an index with a search.",
  ),
  mcp_sampling_tokens: key(
    count(20_000),
    "Tokens of the model that each MCP server may use in a run, after you agreed; 0 = none.",
    { project: "ignored" },
  ),
  ensure_trailing_newline: key(flag(false), "End written text files with a newline."),
  writes: key(
    z._default(z.enum(["deny", "dry-run", "allow"]), "allow"),
    "File tools write, only compute the diff, or refuse; commands change files only with `allow`.",
    { project: "stricter" },
  ),
  shell: key(
    z.prefault(
      z.object({
        prefer: key(
          z._default(z.enum(["auto", "bash", "powershell", "pwsh"]), "auto"),
          "Interpreter of the shell tool.",
        ),
        path: key(z.optional(z.string()), "Executable of that interpreter.", { project: "trust" }),
        pass_env: key(texts(), "Variables that commands get although their names look secret.", {
          merge: "concat",
          project: "ignored",
        }),
      }),
      {},
    ),
    "The shell behind the `bash` tool.",
  ),
  alias: key(
    z._default(z.record(z.string(), toolAlias), {}),
    "Offers built-in tools under other names, and their arguments too.",
  ),
});
