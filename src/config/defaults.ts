import type { Layer } from "./layer.ts";

/**
 * What holds when no file says anything: one vendor, so that a key is all a new user needs. Everything else has its
 * default in the schema.
 */
export const DEFAULT_LAYER: Layer = {
  source: "default",
  tree: {
    providers: [{
      name: "deepseek",
      kind: "openai",
      base_url: "https://api.deepseek.com",
      models: ["deepseek-v4-flash", "deepseek-v4-pro"],
      default: "deepseek-v4-flash",
      api_key_env: "DEEPSEEK_API_KEY",
      context_window: 1_000_000,
      // Its thinking models answer 400 when the reasoning of an answer with tool calls is not sent back.
      compat: { reasoning_field: "reasoning_content" },
    }],
  },
};
