/** Providers that the user granted to a plugin. The program's library loads with the first call. */
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
  const { createProvider, parseProvider } = await import("../../mod.ts");
  const provider = await createProvider({ entry: parseProvider(granted), model, version: "0.1.0" });
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
