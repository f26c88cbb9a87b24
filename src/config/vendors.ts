import type { TomlTable } from "./schema/json_schema.ts";

/** A vendor that the program knows by name: data for `setup` and for a start without a configuration. */
export interface Vendor {
  readonly name: string;
  /** Another name that it goes by in model references. */
  readonly alias?: string;
  readonly label: string;
  /** Wire that it speaks best; `openai` when absent. */
  readonly kind?: string;
  readonly baseUrl: string;
  /** Variable that usually holds the vendor's key. */
  readonly keyName: string;
  /** Other variables that people have for it, after that one. */
  readonly otherKeys?: readonly string[];
  /** Beginning by which its keys are recognised, where they have one that tells. */
  readonly keyPrefix?: string;
  /** Models to begin with, the default one first. */
  readonly models: readonly string[];
  /** Tokens that the default model accepts, for a vendor without a table of models. */
  readonly window?: number;
  readonly compat?: TomlTable;
  /** Further hosts of the vendor to which its key may go. */
  readonly otherHosts?: readonly string[];
  /** Vendor whose table of models is its own, too. */
  readonly facts?: string;
}

/**
 * The vendors, in the order in which their keys are looked for where nothing is configured; docs/config.md
 * has the same list.
 */
export const VENDORS: readonly Vendor[] = [
  {
    name: "deepseek",
    label: "DeepSeek",
    baseUrl: "https://api.deepseek.com",
    keyName: "DEEPSEEK_API_KEY",
    models: ["deepseek-v4-flash", "deepseek-v4-pro"],
    // Its thinking models answer 400 when the reasoning of an answer with tool calls is not sent back.
    compat: { reasoning_field: "reasoning_content", thinking_field: "thinking" },
  },
  {
    name: "openai",
    label: "OpenAI",
    kind: "responses",
    baseUrl: "https://api.openai.com/v1",
    keyName: "OPENAI_API_KEY",
    models: ["gpt-5.5", "gpt-5.4-mini", "gpt-5.3-codex"],
  },
  {
    name: "anthropic",
    label: "Anthropic",
    kind: "anthropic",
    baseUrl: "https://api.anthropic.com",
    keyName: "ANTHROPIC_API_KEY",
    keyPrefix: "sk-ant-",
    models: ["claude-sonnet-5", "claude-opus-4-8", "claude-haiku-4-5"],
  },
  {
    name: "openrouter",
    label: "OpenRouter",
    baseUrl: "https://openrouter.ai/api/v1",
    keyName: "OPENROUTER_API_KEY",
    keyPrefix: "sk-or-",
    models: ["deepseek/deepseek-v4-flash", "anthropic/claude-sonnet-5", "openai/gpt-5.5"],
  },
  {
    name: "google",
    alias: "gemini",
    label: "Google Gemini",
    kind: "google",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    keyName: "GEMINI_API_KEY",
    otherKeys: ["GOOGLE_API_KEY"],
    keyPrefix: "AIza",
    models: ["gemini-3.5-flash", "gemini-3.1-pro-preview", "gemini-2.5-flash"],
  },
  {
    name: "groq",
    label: "Groq",
    baseUrl: "https://api.groq.com/openai/v1",
    keyName: "GROQ_API_KEY",
    keyPrefix: "gsk_",
    models: ["openai/gpt-oss-120b"],
  },
  {
    name: "mistral",
    label: "Mistral",
    baseUrl: "https://api.mistral.ai/v1",
    keyName: "MISTRAL_API_KEY",
    models: ["mistral-large-latest", "mistral-medium-latest"],
  },
  {
    name: "xai",
    label: "xAI",
    baseUrl: "https://api.x.ai/v1",
    keyName: "XAI_API_KEY",
    keyPrefix: "xai-",
    models: ["grok-4.3", "grok-build-0.1"],
  },
  {
    name: "moonshot",
    label: "Moonshot (Kimi)",
    baseUrl: "https://api.moonshot.ai/v1",
    keyName: "MOONSHOT_API_KEY",
    models: ["kimi-k2.6", "kimi-k2.7-code"],
    compat: { reasoning_field: "reasoning_content", thinking_field: "thinking" },
    otherHosts: ["api.moonshot.cn"],
  },
  {
    name: "dashscope",
    alias: "bailian",
    label: "Alibaba DashScope (Bailian, Qwen)",
    baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1",
    keyName: "DASHSCOPE_API_KEY",
    models: ["qwen3-coder-plus", "qwen3.7-plus", "qwen3.7-max"],
    compat: { thinking_field: "enable_thinking" },
    otherHosts: ["dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"],
  },
  {
    name: "zhipu",
    label: "Zhipu (GLM)",
    baseUrl: "https://open.bigmodel.cn/api/paas/v4",
    keyName: "ZHIPUAI_API_KEY",
    otherKeys: ["ZHIPU_API_KEY"],
    models: ["glm-4.6", "glm-5.2"],
    compat: { thinking_field: "thinking" },
  },
  {
    name: "zai",
    label: "Z.AI (GLM)",
    baseUrl: "https://api.z.ai/api/paas/v4",
    keyName: "ZAI_API_KEY",
    models: ["glm-4.6", "glm-5.2"],
    compat: { thinking_field: "thinking" },
    facts: "zhipu",
  },
  {
    name: "siliconflow",
    label: "SiliconFlow",
    baseUrl: "https://api.siliconflow.cn/v1",
    keyName: "SILICONFLOW_API_KEY",
    models: ["deepseek-ai/DeepSeek-V3"],
    window: 131_072,
    otherHosts: ["api.siliconflow.com"],
  },
  {
    name: "mimo",
    label: "Xiaomi MiMo",
    baseUrl: "https://api.xiaomimimo.com/v1",
    keyName: "MIMO_API_KEY",
    models: ["mimo-v2-flash"],
    window: 262_144,
  },
];

/** A model server that people run themselves, and the port of this machine that it usually listens on. */
export interface LocalVendor {
  readonly name: string;
  readonly label: string;
  readonly port: number;
  /** The command that starts it. */
  readonly start: string;
}

export const LOCAL_VENDORS: readonly LocalVendor[] = [
  { name: "ollama", label: "Ollama", port: 11434, start: "ollama serve" },
  { name: "llamacpp", label: "llama.cpp", port: 8080, start: "llama-server -m MODEL.gguf" },
  { name: "lmstudio", label: "LM Studio", port: 1234, start: "lms server start" },
  { name: "vllm", label: "vLLM", port: 8000, start: "vllm serve MODEL" },
];

/** Tells of a variable that it is set, here or in the Reasonix home. */
export type HasKey = (keyName: string) => boolean;

/** An entry of `[[providers]]` as a file would have it. */
export type VendorEntry = TomlTable & { readonly name: string; readonly models: string[] };

/** Returns the `[[providers]]` entry of a vendor; its key is the first of the vendor's that there is. */
export function vendorEntry(vendor: Vendor, hasKey: HasKey = () => false): VendorEntry {
  const { name, kind, baseUrl, models, window, compat } = vendor;
  return {
    name,
    ...(kind === undefined ? {} : { kind }),
    base_url: baseUrl,
    models: [...models],
    default: models[0],
    api_key_env: keyNamesOf(vendor).find(hasKey) ?? vendor.keyName,
    ...(window === undefined ? {} : { context_window: window }),
    ...(compat === undefined ? {} : { compat: { ...compat } }),
  };
}

/**
 * Returns the entry of the vendor that a reference such as `openrouter/qwen/qwen3-max` or `ollama/llama3`
 * begins with, with that model before its others; undefined when none is meant. A vendor whose servers are on
 * this machine has no models but the one that is named.
 */
export function namedVendorEntry(reference: string, hasKey: HasKey): VendorEntry | undefined {
  const [name = ""] = reference.split("/", 1);
  const model = reference.slice(name.length + 1);
  const first = model === "" ? [] : [model];
  const local = LOCAL_VENDORS.find((vendor) => vendor.name === name);
  if (local) return { name, base_url: `http://127.0.0.1:${local.port}/v1`, models: first };
  const vendor = VENDORS.find((candidate) => candidate.name === name || candidate.alias === name);
  if (!vendor) return undefined;
  const entry = vendorEntry(vendor, hasKey);
  const models = [...new Set([...first, ...entry.models])];
  return { ...entry, name, models, default: models[0] };
}

/** Every variable that may hold a key of the vendor. */
export function keyNamesOf({ keyName, otherKeys = [] }: Vendor): readonly string[] {
  return [keyName, ...otherKeys];
}

/** Reports whether a variable usually holds the key of a well-known vendor. */
export function isVendorVariable(name: string): boolean {
  return VENDORS.some((vendor) => keyNamesOf(vendor).includes(name));
}

/** Returns the hosts to which the key under this name may go without a question. */
export function vendorHosts(keyName: string): readonly string[] {
  const vendor = VENDORS.find((candidate) => keyNamesOf(candidate).includes(keyName));
  return vendor ? hostsOf(vendor) : [];
}

/** Returns the vendor whose address this is. */
export function vendorAt(url: string): Vendor | undefined {
  const host = URL.parse(url)?.host;
  return host === undefined ? undefined : VENDORS.find((vendor) => hostsOf(vendor).includes(host));
}

function hostsOf({ baseUrl, otherHosts = [] }: Vendor): readonly string[] {
  // Our own addresses need no parser, which is slow the first times.
  return [baseUrl.split("/", 3)[2] ?? "", ...otherHosts];
}

/**
 * Chooses the entry that counts where nothing is configured: that of the vendor which `wanted` (a vendor, a
 * model, or both) names if it names one, else that of the first vendor whose key there is.
 */
export function builtInEntry(wanted: string, hasKey: HasKey): VendorEntry | undefined {
  const named = namedVendorEntry(wanted, hasKey);
  if (named) return named;
  const meant = VENDORS.filter(({ models }) => models.includes(wanted));
  const candidates = meant.length > 0 ? meant : VENDORS;
  const vendor = candidates.find((candidate) => keyNamesOf(candidate).some(hasKey)) ?? candidates[0];
  return vendor && vendorEntry(vendor, hasKey);
}
