import { chatOpener } from "./open_chat.ts";
import { type ChatFlags, startOf } from "../../run_flags.ts";
import { displayOf } from "../../terminal/display.ts";
import { inLanguage, Speech } from "../../terminal/language.ts";
import { type CliContext, errorText, exitCodeOf, onSignals } from "../../terminal/process.ts";
import type { CommandHost } from "../../../src/command/mod.ts";
import { EXIT, ReasonixError } from "../../../src/core/mod.ts";
import {
  claudeMode,
  FRONTENDS,
  Metrics,
  Output,
  type Person,
  type Printer,
  redacted,
  resultOf,
} from "../../../src/frontend/mod.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";

type Message = Parameters<Lines["executeMessage"]>[0];
type Lines = Awaited<ReturnType<typeof FRONTENDS.lines>>;

export interface LineOptions {
  readonly first: string;
  readonly why: "pipe" | "dumb" | "linear" | "broken";
}

/**
 * The chat in plain lines: each line is a message, answers come as `reasonix run` prints them. With a
 * terminal questions are numbered lists; on a pipe there are no questions. Returns the exit code of the last
 * message.
 */
export async function chatInLines(
  context: CliContext,
  flags: ChatFlags,
  { first, why }: LineOptions,
): Promise<number> {
  const lines = await FRONTENDS.lines();
  const speech = await Speech.of(context, { outputFormat: "text" });
  const texts = await lines.SessionTexts.load(speech.locale);
  const chat = new LineChat({ context, flags, lines, speech, texts, attended: why !== "pipe" });
  try {
    return await chat.run(first, why);
  } finally {
    await chat.close();
  }
}

interface LineChatDeps {
  readonly context: CliContext;
  readonly flags: ChatFlags;
  readonly lines: Lines;
  readonly speech: Speech;
  readonly texts: Awaited<ReturnType<Lines["SessionTexts"]["load"]>>;
  readonly attended: boolean;
}

class LineChat {
  readonly #parts: LineChatDeps;
  readonly #lines: InstanceType<Lines["LineReader"]>;
  readonly #out = new Output(Deno.stdout, () => this.#turn?.abort("interrupted"));
  readonly #err = new Output(Deno.stderr);
  readonly #questions: InstanceType<Lines["Questions"]>;
  readonly #host: InstanceType<Lines["SessionHost"]>;
  readonly #next: Message[] = [];
  #printer: Printer | undefined;
  /** Resolves when all that has happened is printed. */
  #printed: Promise<unknown> = Promise.resolve();
  #metrics = new Metrics();
  #turn: AbortController | undefined;
  #code: number = EXIT.done;
  #ended = false;
  /** The person may be writing: the prompt is the last thing that was written. */
  #prompting = false;
  #unlisten: () => void = () => {};

  constructor(parts: LineChatDeps) {
    const { context, flags, lines, speech, texts, attended } = parts;
    this.#parts = parts;
    this.#lines = new lines.LineReader();
    this.#questions = new lines.Questions();
    const person: Person = {
      speak: (locale) => texts.use(locale),
      say: (text) => void this.#ask(`${text}\n`),
    };
    const questions = this.#questions;
    if (attended) {
      new lines.LinePerson({
        lines: this.#lines,
        texts,
        questions,
        columns: () => displayOf(context, flags.noColor).columns(),
        isPlanShown: Deno.stdout.isTerminal(),
        write: (text) => this.#ask(text),
        message: (text) => void this.#next.push({ text }),
      });
    }
    const stop = () => this.#turn?.abort("interrupted");
    const asked = attended ? lines.personOf(questions, { ...person, stop, lend: (run) => run() }) : person;
    const servers = new lines.ServerUpdates();
    const open = chatOpener(context, flags, (loaded) => speech.configure(loaded));
    this.#host = new lines.SessionHost(
      (request) => open(request, asked),
      (event) => {
        this.#metrics.event(event);
        // Changes of servers were reported when they happened, except those that a pipe has waited for.
        if (event.type === "mcp.server") return void this.#notify(servers.of(event, speech.run));
        this.#printed = Promise.all([this.#printed, this.#printer?.event(event)]);
      },
      (session) => servers.watch(session, () => speech.run, (line) => void this.#notify(line)),
    );
  }

  async run(first: string, why: LineOptions["why"]): Promise<number> {
    const { context, flags, attended, texts: { chat: { lineInput } } } = this.#parts;
    this.#listen();
    if (attended || flags.tui) context.process.stderr.write(`· ${lineInput[why]}\n`);
    const opened = await this.#try(async () => void await this.#host.current(startOf(flags)));
    if (!opened && !attended) return this.#code;
    if (first !== "") this.#next.push({ text: first, pasted: true });
    let asked = 0;
    for (let message = await this.#read(); message; message = await this.#read()) {
      if (message.text.trim() === "") continue;
      asked++;
      await this.#message(message);
    }
    this.#unlisten();
    if (asked > 0 || attended) return this.#code;
    context.process.stderr.write(`${errorText(new ReasonixError(lineInput.nothing))}\n`);
    return EXIT.usage;
  }

  async close(): Promise<void> {
    await this.#host.close();
    await this.#out.flush();
    await this.#err.flush();
  }

  async #read(): Promise<Message | undefined> {
    if (this.#ended) return undefined;
    const waiting = this.#next.shift();
    if (waiting !== undefined) return waiting;
    await this.#prompt();
    const text = await this.#lines.next();
    this.#prompting = false;
    // On a pipe a line may be a heading of a document: only a person types a fact.
    return text === undefined ? undefined : { text, pasted: !this.#parts.attended };
  }

  async #message(message: Message): Promise<void> {
    const { lines: { executeMessage }, texts } = this.#parts;
    const turn = this.#turn = new AbortController();
    this.#metrics = new Metrics();
    this.#printer = await this.#newPrinter();
    const session = () => this.#host.current();
    await this.#try(async () => {
      const outcome = await executeMessage(
        message,
        { commands: this.#commands(), session, texts },
        turn.signal,
      );
      if (!outcome) return;
      const assembly = await session();
      const result = await resultOf(outcome, assembly, { metrics: this.#metrics });
      const shown = message.text.startsWith("!") ? { ...result, report: true as const } : result;
      await this.#printer?.result(redacted(shown, assembly));
      this.#code = result.exitCode;
    });
    this.#turn = undefined;
    if (turn.signal.aborted) this.#listen();
  }

  async #prompt(): Promise<void> {
    if (!this.#parts.attended) return;
    this.#prompting = true;
    await this.#err.write("> ");
  }

  /** Says something between two messages as well: nothing is written over, so the prompt comes again. */
  async #notify(line: ReturnType<InstanceType<Lines["ServerUpdates"]>["of"]>): Promise<void> {
    if (!line) return;
    const text = `${line.level === "warning" ? "!" : "·"} ${line.text}`;
    if (!this.#prompting) return await this.#ask(`${text}\n`);
    await this.#err.write(`\n${terminalSafe(text)}\n`);
    await this.#prompt();
  }

  async #ask(text: string): Promise<void> {
    await this.#printed;
    await this.#out.flush();
    await this.#err.write(terminalSafe(text));
  }

  /** Every turn can be stopped by a first Ctrl-C; a second one while it stops ends the program. */
  #listen(): void {
    this.#unlisten();
    this.#unlisten = onSignals({ stop: (reason) => this.#stop(reason), exit: (code) => Deno.exit(code) });
  }

  async #try(work: () => Promise<void>): Promise<boolean> {
    this.#code = EXIT.done;
    try {
      await work();
      return true;
    } catch (error) {
      await this.#out.flush();
      this.#parts.context.process.stderr.write(
        `${errorText(await inLanguage(error, this.#parts.texts.locale))}\n`,
      );
      this.#code = exitCodeOf(error);
      return false;
    }
  }

  #commands(): CommandHost {
    const { attended, lines, texts } = this.#parts;
    return lines.lineCommands({
      session: () => this.#host.current(),
      questions: attended ? this.#questions : undefined,
      texts,
      say: (text) => void this.#out.write(`${terminalSafe(text).trimEnd()}\n`),
      send: (text, rest = {}) => void this.#next.push({ text, input: { ...rest, text } }),
      reopen: async (request) => void await this.#host.replace(request),
      quit: () => void (this.#ended = true),
    });
  }

  /** The first Ctrl-C stops the turn; without one it leaves. */
  #stop(reason: "interrupted" | "terminated"): void {
    this.#turn?.abort(reason);
    if (reason === "interrupted" && this.#turn) return;
    const code = EXIT[reason === "interrupted" ? "interrupt" : "terminated"];
    this.#ended = true;
    void this.close().then(() => Deno.exit(code));
  }

  async #newPrinter(): Promise<Printer> {
    const { context, flags, speech } = this.#parts;
    const { createPrinter } = await FRONTENDS.print();
    const display = displayOf(context, flags.noColor);
    return createPrinter({
      ...display,
      ...(flags.linear ? { live: false } : {}),
      format: "text",
      texts: () => speech.run,
      out: this.#out,
      err: this.#err,
      showThinking: flags.showThinking ?? false,
      quiet: false,
      verbose: false,
      stream: false,
      permissionMode: claudeMode(flags.permissionMode),
      partialMessages: false,
    });
  }
}
