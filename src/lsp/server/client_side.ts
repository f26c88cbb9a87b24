import type { ClientCapabilities, InitializeParams } from "vscode-languageserver-protocol";
import { isRecord } from "../../util/json.ts";
import { fileUri } from "../uri.ts";
import type { ServerSpec } from "./specs.ts";

/** Functions of this program as servers are told of them: no edit or file operation of theirs is applied. */
const CAPABILITIES: ClientCapabilities = {
  general: { positionEncodings: ["utf-16", "utf-8"] },
  window: { workDoneProgress: true },
  workspace: {
    applyEdit: false,
    configuration: true,
    workspaceFolders: true,
    symbol: {},
    diagnostics: { refreshSupport: true },
  },
  textDocument: {
    synchronization: { didSave: true },
    publishDiagnostics: { versionSupport: true },
    diagnostic: {},
    hover: { contentFormat: ["markdown", "plaintext"] },
    definition: { linkSupport: true },
    references: {},
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    rename: {},
  },
};

/** The first request. There is no process id: in the jail a server would see none by it, and end. */
export function initializeParams(spec: ServerSpec, root: string): InitializeParams {
  return {
    processId: null,
    clientInfo: { name: "reasonix" },
    locale: "en",
    rootPath: root,
    rootUri: fileUri(root),
    workspaceFolders: [folderOf(root)],
    capabilities: CAPABILITIES,
    initializationOptions: spec.options,
    trace: "off",
  };
}

function folderOf(root: string): { uri: string; name: string } {
  return { uri: fileUri(root), name: root.slice(root.lastIndexOf("/") + 1) };
}

/** The answer to a request of a server; undefined: there is no such method. */
export function answerServer(
  { spec, root }: { readonly spec: ServerSpec; readonly root: string },
  method: string,
  params: unknown,
): unknown {
  switch (method) {
    case "workspace/configuration": {
      const items = isRecord(params) && Array.isArray(params.items) ? params.items : [];
      return items.map((item) => isRecord(item) ? settingsOf(spec, item.section) : null);
    }
    case "workspace/workspaceFolders":
      return [folderOf(root)];
    case "workspace/applyEdit":
      return { applied: false, failureReason: "edits are made by the tools of this program" };
    case "client/registerCapability":
    case "client/unregisterCapability":
    case "window/workDoneProgress/create":
    case "window/showMessageRequest":
      return null;
    case "window/showDocument":
      return { success: false };
    default:
      return /^workspace\/.*\/refresh$/.test(method) ? null : undefined;
  }
}

/** A section of the settings, such as `python.analysis`, or that part of one: `analysis` of `python`. */
function settingsOf({ settings }: ServerSpec, section: unknown): unknown {
  if (typeof section !== "string") return settings;
  if (Object.hasOwn(settings, section)) return settings[section];
  const parts = Object.entries(settings).filter(([name]) => name.startsWith(`${section}.`));
  if (parts.length === 0) return null;
  return Object.fromEntries(parts.map(([name, value]) => [name.slice(section.length + 1), value]));
}

/** The methods that a server registers late, among those that are asked about here. */
export function registeredMethods(method: string, params: unknown): readonly string[] {
  if (method !== "client/registerCapability" || !isRecord(params)) return [];
  const { registrations } = params;
  return Array.isArray(registrations)
    ? registrations.flatMap((one) => isRecord(one) && typeof one.method === "string" ? [one.method] : [])
    : [];
}
