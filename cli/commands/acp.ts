import { command } from "../command.ts";
import { inLanguage, languageOf } from "../terminal/language.ts";
import { type CliContext, protocolStreams } from "../terminal/process.ts";
import { FRONTENDS, Output } from "../../src/frontend/mod.ts";

/** `reasonix acp`: sessions for an editor. */
async function acp(this: CliContext): Promise<void> {
  const { serveAcp } = await FRONTENDS.acp();
  const { input, output } = protocolStreams();
  const out = new Output(output);
  const { locale } = languageOf(this);
  await serveAcp({ input, out, inLanguage: (error) => inLanguage(error, locale) });
  await out.flush();
}

export const acpCommand = command({
  description: "Serve editors over standard input and output by the Agent Client Protocol,\n" +
    "version 1 (short form: reasonix --acp). The editor starts this command.",
  run: acp,
});
