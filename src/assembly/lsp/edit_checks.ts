import type { Toolbox } from "../../agent/mod.ts";
import type { ToolResult } from "../../tool/mod.ts";
import { lazy } from "../../util/lazy.ts";
import type { LspParts, RunLsp } from "./run_lsp.ts";

/** The language servers of a run; nothing of them is loaded before the first edit. */
export interface LspDesk {
  /** Opens them; undefined: the run has none. */
  readonly open: (() => Promise<RunLsp>) | undefined;
  close(): Promise<void>;
}

/** Without a jail no server is started, unless the user gave the run full access. */
export function lspDesk(parts: LspParts): LspDesk {
  const { loaded: { config: { lsp } }, scope } = parts;
  if (!lsp.enabled) return { open: undefined, close: () => Promise.resolve() };
  if (!scope.full && !scope.forecast.confined) return { open: undefined, close: () => Promise.resolve() };
  let opened: Promise<RunLsp> | undefined;
  const open = lazy(() => opened = import("./run_lsp.ts").then(({ RunLsp }) => RunLsp.open(parts)));
  return { open, close: async () => await (await opened)?.close() };
}

type Written = NonNullable<ToolResult["changes"]>[number];

/** Tools whose edits say which errors they brought, as far as a language server sees them in time. */
export function withEditChecks(toolbox: Toolbox, open: (() => Promise<RunLsp>) | undefined): Toolbox {
  if (!open) return toolbox;
  let running: RunLsp | undefined;
  return {
    prepare: (call, signal) => toolbox.prepare(call, signal),
    async execute(call, signal, progress) {
      const isEdit = call.family === "Edit" && call.writes !== undefined;
      if (!isEdit) return withText(await toolbox.execute(call, signal, progress), running?.checks.late());
      running ??= await open();
      await running.before(call.writes ?? []);
      const result = await toolbox.execute(call, signal, progress);
      const written = (result.changes ?? []).filter(isWritten);
      const late = running.checks.late(written.map(({ path }) => path));
      return withText(withText(result, late), await running.after(written, signal));
    },
  };
}

function isWritten({ change, written }: Written): boolean {
  return written !== false && change !== "unchanged";
}

function withText(result: ToolResult, text: string | undefined): ToolResult {
  return text === undefined ? result : { ...result, content: `${result.content}\n\n${text}` };
}
