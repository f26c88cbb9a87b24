/** Providers that the user granted to a plugin. The program's library loads with the first call. */
import type { Provider } from "../../mod.ts";
import { type GrantedProvider, PluginError } from "./plugin.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** Resolves to the text of the reply. Throws a {@linkcode PluginError} that names the provider. */
export async function chat(
  granted: GrantedProvider,
  model: string,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<string> {
  const provider = await openProvider(granted, model);
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content).join("\n\n");
  const rest = messages.flatMap(({ role, content }) => role === "system" ? [] : [{ role, content }]);
  let text = "";
  for await (const chunk of provider.stream({ prefix: { system, tools: [] }, messages: rest }, signal)) {
    if (chunk.type === "text") text += chunk.text;
    else if (chunk.type === "retry" && chunk.discarded) text = "";
    else if (chunk.type === "error") throw new PluginError(`${granted.name}: ${chunk.error.message}`);
  }
  signal.throwIfAborted();
  if (text.trim() === "") throw new PluginError(`${granted.name}: the model answered nothing`);
  return text.trim();
}

/**
 * Resolves to vectors of one provider and no other, one for each text. Throws a {@linkcode PluginError} that
 * names the provider.
 */
export async function embed(
  granted: GrantedProvider,
  model: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly number[])[]> {
  const provider = await openProvider(granted, model);
  if (!provider.embed) {
    throw new PluginError(
      `${granted.name}: a provider of this kind has no embeddings`,
      'choose one of kind "openai", which most embedding servers speak',
    );
  }
  try {
    return (await provider.embed(texts, model, signal)).vectors;
  } catch (error) {
    signal.throwIfAborted();
    throw new PluginError(error instanceof Error ? error.message : String(error));
  }
}

async function openProvider(granted: GrantedProvider, model: string): Promise<Provider> {
  const { createProvider, parseProvider } = await import("../../mod.ts");
  try {
    const entry = parseProvider(granted);
    const apiKey = entry.api_key_env ? Deno.env.get(entry.api_key_env) : undefined;
    return await createProvider({ entry, model, version: "0.1.0", ...(apiKey ? { apiKey } : {}) });
  } catch (error) {
    throw new PluginError(`${granted.name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
