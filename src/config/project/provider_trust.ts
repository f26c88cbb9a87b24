import { isTable, type TomlTable } from "../schema/json_schema.ts";

/** Where the keys of well-known vendors may go without a question: data, for project files only. */
const KEY_HOSTS: Readonly<Record<string, readonly string[]>> = {
  ANTHROPIC_API_KEY: ["api.anthropic.com"],
  DASHSCOPE_API_KEY: ["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"],
  DEEPSEEK_API_KEY: ["api.deepseek.com"],
  GEMINI_API_KEY: ["generativelanguage.googleapis.com"],
  GROQ_API_KEY: ["api.groq.com"],
  MIMO_API_KEY: ["api.xiaomimimo.com"],
  MISTRAL_API_KEY: ["api.mistral.ai"],
  MOONSHOT_API_KEY: ["api.moonshot.ai", "api.moonshot.cn"],
  OPENAI_API_KEY: ["api.openai.com"],
  OPENROUTER_API_KEY: ["openrouter.ai"],
  SILICONFLOW_API_KEY: ["api.siliconflow.cn", "api.siliconflow.com"],
  XAI_API_KEY: ["api.x.ai"],
  ZHIPUAI_API_KEY: ["open.bigmodel.cn"],
};

/** Variables that a project's `.env` may never supply. */
export function isReservedVariable(name: string): boolean {
  return name.startsWith("REASONIX_") || Object.hasOwn(KEY_HOSTS, name);
}

/** Whether an address stays on this machine. */
export function isLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" ||
    /^127(\.\d+){3}$/.test(host);
}

/** What a project's provider entry gets: used as it is, used without its key, or left out until trusted. */
export type ProviderVerdict =
  | { readonly use: "all" }
  | { readonly use: "keyless"; readonly reason: string }
  | { readonly use: "none"; readonly reason: string };

export interface KnownKeys {
  /** Provider entries of the user, the preset and the built-in ones. */
  readonly providers: readonly TomlTable[];
  /** Whether the user saved a value under this name in the Reasonix home. */
  readonly saved: (name: string) => boolean;
}

/**
 * Decides about one provider entry of a project file. Its server would receive the conversation and steer the tools, and
 * its key variable could be any secret of the user. So a remote one is used only when the user has met it before: the
 * same key and address in the user's own settings, a vendor's key at that vendor, or a key saved for it in the home.
 */
export function judgeProvider(raw: TomlTable, expanded: TomlTable, known: KnownKeys): ProviderVerdict {
  const url = String(expanded.base_url ?? "");
  const keyName = String(expanded.api_key_env ?? "");
  const target = URL.parse(url)?.origin ?? url;
  const owner = ownerOf(keyName, target, known);
  if (isLoopback(url)) {
    if (owner === undefined || owner === target) return { use: "all" };
    return { use: "keyless", reason: `the key ${keyName} belongs to ${owner}` };
  }
  if (expanded.kind === "replay") return leaveOut("it plays recorded replies, which steer the tools");
  if (url === "" && keyName === "") return { use: "all" };
  if (usesVariables(raw.base_url) || usesVariables(raw.headers)) {
    return leaveOut(`it would send environment variables to ${target}`);
  }
  if (owner === target) return { use: "all" };
  if (owner !== undefined) return leaveOut(`it would send the key ${keyName} of ${owner} to ${target}`);
  if (keyName !== "" && known.saved(keyName)) return { use: "all" };
  return leaveOut(`it would send the conversation${keyName ? ` and ${keyName}` : ""} to ${target}`);
}

function leaveOut(reason: string): ProviderVerdict {
  return { use: "none", reason };
}

/** The origin a key belongs to as far as the user's side knows: `target` itself when that is one of them. */
function ownerOf(keyName: string, target: string, known: KnownKeys): string | undefined {
  if (keyName === "") return undefined;
  const users = known.providers
    .filter((entry) => entry.api_key_env === keyName)
    .map((entry) => URL.parse(String(entry.base_url))?.origin ?? "");
  const vendors = (KEY_HOSTS[keyName] ?? []).map((host) => `https://${host}`);
  const owners = [...users, ...vendors];
  return owners.includes(target) ? target : owners[0];
}

function usesVariables(value: unknown): boolean {
  if (typeof value === "string") return value.includes("${");
  return isTable(value) && Object.values(value).some(usesVariables);
}
