/**
 * An agent as far as a managed server knows: sends one request with the settings of its arguments (binary,
 * model file, home), prints the reply on one line, and stays until its input ends.
 */
import { collect, providerEntry } from "./model_client.ts";
import { createProvider } from "../../src/provider/mod.ts";

const [binary = "", model_path = "", home = ""] = Deno.args;
const entry = providerEntry({ kind: "llamacpp", server: { binary, model_path } });
const provider = await createProvider({ entry, model: "tiny", version: "1", values: { home } });
say("begins");
const { text, error } = await collect(provider);
say(error ? `error: ${error.message}` : text);
await Deno.stdin.readable.pipeTo(new WritableStream());

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
