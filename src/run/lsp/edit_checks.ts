import type { Toolbox } from "../../agent/mod.ts";
import { loadNameTools } from "../../lsp/mod.ts";
import { loadSymbolEdits, type Tool, type ToolResult, type ToolServices } from "../../tool/mod.ts";
import { lazy } from "../../util/lazy.ts";
import type { LspDeps, RunLsp } from "./run_lsp.ts";

/** The language servers of a run; nothing of them is loaded before the first edit. */
export interface LspSession {
  /** Opens them; undefined: the run has none. */
  readonly open: (() => Promise<RunLsp>) | undefined;
  /** The errors of edits that no result has named when an answer would end the turn. */
  readonly review?: (answer: string, signal: AbortSignal) => Promise<string | undefined>;
  /** The service of the tools about names. */
  readonly services: Pick<ToolServices, "names">;
  close(): Promise<void>;
}

/** Longest wait of an answer for the checks of the turn's edits. */
const ANSWER_MS = 5000;

/** Without a jail no server is started, unless the user gave the run full access. */
export function lspDesk(parts: LspDeps): LspSession {
  const { loaded: { config: { lsp } }, scope } = parts;
  if ((!lsp.enabled && !lsp.tools) || !mayRun(scope)) {
    return { open: undefined, services: {}, close: () => Promise.resolve() };
  }
  let opened: Promise<RunLsp> | undefined;
  const open = lazy(() => opened = import("./run_lsp.ts").then(({ RunLsp }) => RunLsp.open(parts)));
  const services = { names: async () => (await open()).names };
  const review = async (_answer: string, signal: AbortSignal) =>
    opened &&
    await opened.then(({ checks }) => checks.rest(ANSWER_MS, signal)).catch(() => undefined);
  return { open, services, review, close: async () => await (await opened)?.close() };
}

function mayRun({ full, forecast }: LspDeps["scope"]): boolean {
  return full || forecast.confined;
}

/** The tools about names, where the user wants them: all, or `delete_symbol` where a server is installed. */
export async function languageTools(
  { paths, loaded, scope }: Pick<LspDeps, "paths" | "loaded" | "scope">,
): Promise<Tool[]> {
  const { lsp, tools: { enabled } } = loaded.config;
  if (!mayRun(scope)) return [];
  if (lsp.tools) {
    const [{ NAME_TOOLS }, { SYMBOL_EDITS }] = await Promise.all([loadNameTools(), loadSymbolEdits()]);
    return [...NAME_TOOLS, ...SYMBOL_EDITS];
  }
  if (!enabled.includes("delete_symbol")) return [];
  const { languageServerRows } = await import("./run_lsp.ts");
  const rows = await languageServerRows(paths, loaded);
  return rows.some(({ program }) => program !== undefined) ? [(await loadSymbolEdits()).DELETE_SYMBOL] : [];
}

type Written = NonNullable<ToolResult["changes"]>[number];

/** Tools whose edits say which errors they brought, as far as a language server sees them in time. */
export function withEditChecks(toolbox: Toolbox, open: (() => Promise<RunLsp>) | undefined): Toolbox {
  if (!open) return toolbox;
  let running: RunLsp | undefined;
  return {
    async prepare(call, signal) {
      const prepared = await toolbox.prepare(call, signal);
      if (typeof prepared === "string") return prepared;
      if (prepared.tool !== "lsp_rename" && prepared.tool !== "delete_symbol") return prepared;
      const completed = await (await open()).symbolEdit(prepared, signal);
      if ("problem" in completed) return completed.problem;
      const whole = { ...prepared.args, patch: completed.patch };
      const again = await toolbox.prepare({ ...call, arguments: JSON.stringify(whole) }, signal);
      return typeof again === "string" ? again : { ...again, call };
    },
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
