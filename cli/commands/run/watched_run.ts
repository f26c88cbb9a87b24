import { handOver } from "./hand_over.ts";
import type { Speech } from "../../terminal/language.ts";
import type { TurnOutcome } from "../../../src/agent/mod.ts";
import { message, usageError } from "../../../src/core/mod.ts";
import { FRONTENDS, type Person } from "../../../src/frontend/mod.ts";
import { loadTexts } from "../../../src/i18n/mod.ts";
import type { Assembly, TurnInput } from "../../../src/run/mod.ts";

interface WatchedRunOptions {
  readonly speech: Speech;
  /** Opens the session; the person answers its questions. */
  readonly assemble: (person: Person) => Promise<Assembly>;
  /** Writes a line for the user, apart from the output. */
  readonly report: (line: string) => void;
}

interface WatchedRun {
  readonly assembly: Assembly;
  run(input: TurnInput, signal: AbortSignal): Promise<TurnOutcome>;
  close(): Promise<void>;
}

/**
 * Opens a run that people watch, steer and approve on the web page. Its questions wait there for an answer.
 * Messages that wait when the task ends return to the page.
 */
export async function watchedRun({ speech, assemble, report }: WatchedRunOptions): Promise<WatchedRun> {
  const { LiveSessions, SessionTexts } = await FRONTENDS.web();
  const [t, texts] = await Promise.all([
    loadTexts("serve", speech.locale),
    SessionTexts.load(speech.locale),
  ]);
  let opened: Assembly | undefined;
  const sessions = new LiveSessions({
    texts,
    async open(_request, person) {
      if (!opened) return opened = await assemble(person);
      throw usageError(
        message`Cannot open another session here: this program does one task`,
        message`open it with \`reasonix web\``,
      );
    },
  });
  const live = sessions.begin();
  live.attach({
    name: "terminal",
    event(event) {
      if (event.type === "question.state" && event.state === "opened") report(t.waits);
    },
    said: report,
    failed: (error) => report(texts.problem(error)),
  });
  try {
    // Between messages: a plan of an earlier run that waits is not asked about first.
    await live.submissions.between(async () => void await live.host.current());
    const assembly = await live.host.current();
    const { paths, loaded: { config }, session } = assembly;
    const page = await handOver({
      ...{ sessions, texts, config: config.serve },
      signedIn: (role, from) =>
        report(`${t.signedIn(from, t[role])}\n${t.signIn(page.link(role, session.id))}`),
    }, paths);
    report(t.signIn(page.link("owner", session.id)));
    return {
      assembly,
      async run(input, signal) {
        const draft = { text: input.text, steer: false, input, last: true };
        const { outcome, error } = await live.submissions.finish(draft, signal);
        if (error !== undefined) throw error;
        return outcome ?? await assembly.run(input, signal);
      },
      async close() {
        await page.close();
        await sessions.close();
      },
    };
  } catch (error) {
    await sessions.close();
    throw error;
  }
}
