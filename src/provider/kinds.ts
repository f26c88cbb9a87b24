import type { ProviderKind } from "./kind.ts";

/** Every provider kind: one line each, loaded when a configured provider uses it. */
export const PROVIDER_KINDS: Readonly<Record<string, () => Promise<ProviderKind>>> = {
  anthropic: async () => (await import("./kinds/anthropic/kind.ts")).anthropic,
  google: async () => (await import("./kinds/google/kind.ts")).google,
  llamacpp: async () => (await import("./kinds/llamacpp/kind.ts")).llamacpp,
  openai: async () => (await import("./kinds/openai/kind.ts")).openai,
  responses: async () => (await import("./kinds/responses/kind.ts")).responses,
  replay: async () => (await import("./kinds/replay/kind.ts")).replay,
};
