import * as z from "zod/mini";
import { flag, key, text, textMap, texts } from "./schema_key.ts";

const server = z.object({
  enabled: key(flag(true), "Whether it is started."),
  command: key(text(), "Its program, on `PATH` or as a full path; empty = the known one."),
  args: key(texts(), "The arguments of that program."),
  env: key(textMap(), "Environment variables for it."),
  extensions: key(texts(), "Ends of the file names it serves, such as `.go`; empty = the known ones."),
  language_id: key(text(), "The language of these files as the protocol names it; empty = the known one."),
  root_markers: key(texts(), "Files that make a directory a project of it; empty = the known ones."),
  install_hint: key(text(), "How it is installed; of earlier versions.", { idle: "obsolete" }),
});

/** Language servers: `[lsp]`. */
export const lspSchema = z.object({
  enabled: key(
    flag(true),
    "Tell the model which errors an edit brought, as installed language servers see it.",
    { project: "off" },
  ),
  tools: key(
    flag(false),
    "Offer the tools `lsp_definition`, `lsp_references`, `lsp_hover`, `lsp_symbols`, `lsp_rename` and `delete_symbol`.",
    { project: "off" },
  ),
  servers: key(
    z._default(z.record(z.string(), server), {}),
    "Language servers by name: `deno`, `typescript`, `go`, `rust`, `python`, `cpp`, or one of your own.",
    { project: "ignored" },
  ),
});
