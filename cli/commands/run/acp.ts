import { command } from "../../command.ts";
import { type ChatFlags, SESSION_FLAGS } from "../../run_flags.ts";
import { inLanguage, languageOf } from "../../terminal/language.ts";
import { type CliContext, onSignals, protocolStreams, runPaths } from "../../terminal/process.ts";
import { EXIT } from "../../../src/core/mod.ts";
import { FRONTENDS, Output } from "../../../src/frontend/mod.ts";
import { lazy } from "../../../src/util/lazy.ts";
import { atMost } from "../../../src/util/timer.ts";

/** Most time for the last lines of a client that does not read, in ms. */
const LAST_LINES_MS = 1000;

/** `reasonix acp`: sessions for an editor. */
async function acp(this: CliContext, flags: Partial<ChatFlags>): Promise<void> {
  keepOffOutput();
  const end = new AbortController();
  let code: number = EXIT.done;
  onSignals({
    stop(reason) {
      code = EXIT[reason === "interrupted" ? "interrupt" : "terminated"];
      end.abort();
    },
    exit: (code) => process.exit(code),
  });
  const { serveAcp, LiveSessions, SessionTexts } = await FRONTENDS.acp();
  const { input, output } = protocolStreams();
  const out = new Output(output, () => end.abort());
  const texts = await SessionTexts.load(languageOf(this).locale);
  const opener = lazy(async () =>
    (await import("./open_chat.ts")).chatOpener(this, { ...flags, program: "acp" })
  );
  const sessions = new LiveSessions({ texts, open: async (...asked) => await (await opener())(...asked) });
  const isCut = await serveAcp({
    input,
    out,
    sessions,
    texts,
    home: runPaths(this).home,
    lines: FRONTENDS.lines,
    inLanguage: (error) => inLanguage(error, texts.locale),
    signal: end.signal,
  });
  await sessions.close();
  await atMost(LAST_LINES_MS, out.flush());
  this.process.exitCode = isCut && code === EXIT.done ? EXIT.terminated : code;
}

/** Sends the logs of dependencies to standard error: standard output is the protocol's. */
function keepOffOutput(): void {
  const { error } = console;
  for (const [name, value] of Object.entries(console)) {
    if (typeof value === "function") Object.assign(console, { [name]: error });
  }
}

/** The editor chooses the directory and the session. */
const { dir: _1, resume: _2, sessionId: _3, ...FLAGS } = SESSION_FLAGS;

export const acpCommand = command({
  description: "Serve editors over standard input and output by the Agent Client Protocol,\n" +
    "version 1 (short form: reasonix --acp). The editor starts this command; its\n" +
    "flags count for all sessions.",
  flags: FLAGS,
  aliases: { m: "model" },
  run: acp,
});
