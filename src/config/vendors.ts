import type { TomlTable } from "./schema/json_schema.ts";

/** A vendor that the program knows by name: data for `setup` and for a start without a configuration. */
export interface Vendor {
  readonly name: string;
  readonly label: string;
  readonly baseUrl: string;
  /** Variable that usually holds the vendor's key. */
  readonly keyName: string;
  /** Beginning by which its keys are recognised, where they have one that tells. */
  readonly keyPrefix?: string;
  /** Models to begin with, the default one first. */
  readonly models: readonly string[];
  /** Tokens that the default model accepts. */
  readonly window: number;
  readonly compat?: TomlTable;
  /** It has an API of its own; this is its OpenAI-compatible one. */
  readonly secondApi?: true;
  /** Further hosts of the vendor to which its key may go. */
  readonly otherHosts?: readonly string[];
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
    window: 1_000_000,
    // Its thinking models answer 400 when the reasoning of an answer with tool calls is not sent back.
    compat: { reasoning_field: "reasoning_content" },
  },
  {
    name: "openai",
    label: "OpenAI",
    baseUrl: "https://api.openai.com/v1",
    keyName: "OPENAI_API_KEY",
    models: ["gpt-5"],
    window: 272_000,
    compat: { max_tokens_field: "max_completion_tokens" },
  },
  {
    name: "anthropic",
    label: "Anthropic",
    secondApi: true,
    baseUrl: "https://api.anthropic.com/v1",
    keyName: "ANTHROPIC_API_KEY",
    keyPrefix: "sk-ant-",
    models: ["claude-sonnet-4-5"],
    window: 200_000,
  },
  {
    name: "openrouter",
    label: "OpenRouter",
    baseUrl: "https://openrouter.ai/api/v1",
    keyName: "OPENROUTER_API_KEY",
    keyPrefix: "sk-or-",
    models: ["deepseek/deepseek-chat"],
    window: 128_000,
  },
  {
    name: "gemini",
    label: "Google Gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    keyName: "GEMINI_API_KEY",
    keyPrefix: "AIza",
    models: ["gemini-2.5-flash"],
    window: 1_000_000,
  },
  {
    name: "groq",
    label: "Groq",
    baseUrl: "https://api.groq.com/openai/v1",
    keyName: "GROQ_API_KEY",
    keyPrefix: "gsk_",
    models: ["openai/gpt-oss-120b"],
    window: 131_072,
  },
  {
    name: "mistral",
    label: "Mistral",
    baseUrl: "https://api.mistral.ai/v1",
    keyName: "MISTRAL_API_KEY",
    models: ["mistral-large-latest"],
    window: 128_000,
  },
  {
    name: "xai",
    label: "xAI",
    baseUrl: "https://api.x.ai/v1",
    keyName: "XAI_API_KEY",
    keyPrefix: "xai-",
    models: ["grok-4"],
    window: 256_000,
  },
  {
    name: "moonshot",
    label: "Moonshot (Kimi)",
    baseUrl: "https://api.moonshot.ai/v1",
    keyName: "MOONSHOT_API_KEY",
    models: ["kimi-k2.6"],
    window: 262_144,
    compat: { reasoning_field: "reasoning_content" },
    otherHosts: ["api.moonshot.cn"],
  },
  {
    name: "dashscope",
    label: "Alibaba DashScope (Qwen)",
    baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1",
    keyName: "DASHSCOPE_API_KEY",
    models: ["qwen3-coder-plus"],
    window: 1_000_000,
    otherHosts: ["dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"],
  },
  {
    name: "zhipu",
    label: "Zhipu (GLM)",
    baseUrl: "https://open.bigmodel.cn/api/paas/v4",
    keyName: "ZHIPUAI_API_KEY",
    models: ["glm-4.6"],
    window: 200_000,
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

/** Returns the `[[providers]]` entry of a vendor, as a file would have it. */
export function vendorEntry(
  { name, baseUrl, keyName, models, window, compat }: Vendor,
): TomlTable & { readonly name: string } {
  return {
    name,
    base_url: baseUrl,
    models: [...models],
    default: models[0],
    api_key_env: keyName,
    context_window: window,
    ...(compat === undefined ? {} : { compat: { ...compat } }),
  };
}

/** Returns the hosts to which the key under this name may go without a question. */
export function vendorHosts(keyName: string): readonly string[] {
  const vendor = VENDORS.find((candidate) => candidate.keyName === keyName);
  return vendor ? [new URL(vendor.baseUrl).host, ...vendor.otherHosts ?? []] : [];
}

/** Returns the vendor whose address this is. */
export function vendorAt(url: string): Vendor | undefined {
  const host = URL.parse(url)?.host;
  return VENDORS.find(({ baseUrl, otherHosts = [] }) =>
    host !== undefined && [new URL(baseUrl).host, ...otherHosts].includes(host)
  );
}

/**
 * Chooses the vendor that counts where nothing is configured: the first whose key there is, among those that
 * `wanted` (a vendor, a model, or both) names if it names any.
 */
export function chooseVendor(wanted: string, hasKey: (keyName: string) => boolean): Vendor | undefined {
  const meant = VENDORS.filter(({ name, models }) =>
    wanted === name || models.some((model) => wanted === model || wanted === `${name}/${model}`)
  );
  const candidates = meant.length > 0 ? meant : VENDORS;
  return candidates.find(({ keyName }) => hasKey(keyName)) ?? candidates[0];
}
