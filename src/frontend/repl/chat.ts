import type { Assembly, RunPaths } from "../../assembly/mod.ts";
import type { OpenRequest } from "../../command/mod.ts";
import { errorMessage, type Event, EXIT } from "../../core/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import { ChatCommands } from "./command_host.ts";
import { type Composer, createComposer } from "./composer/composer.ts";
import { LiveRegion } from "./live_region.ts";
import type { Looks } from "./looks.ts";
import { Dialogs } from "./overlay/dialogs.ts";
import { ChatLeft, ChatPerson, type Person } from "./person.ts";
import { Screen } from "./screen/screen.ts";
import { type OpenSession, SessionHost } from "./session_host.ts";
import { Submissions } from "./submissions.ts";
import type { EndSignal, InputEvent, Terminal } from "./terminal/terminal.ts";
import { Transcript } from "./transcript/transcript.ts";
import { baseName, contains } from "../../path/lexical.ts";
import { fitDisplay } from "../../util/display_width.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { VERSION } from "../../util/version.ts";
import { loadDiffMarks } from "../../view/mod.ts";

export interface ChatOptions {
  readonly terminal: Terminal;
  readonly looks: Looks;
  readonly texts: ChatTexts;
  readonly paths: RunPaths;
  /** Opens a session; the person of the chat answers its questions. */
  readonly open: (request: OpenRequest, person: Person) => ReturnType<OpenSession>;
  /** The session to begin with. */
  readonly start: OpenRequest;
  /** What to begin with, as if it had been typed. */
  readonly first?: readonly string[];
  /** The chat ends since nothing can be drawn; told with the session to go on with, if there is one. */
  readonly gaveUp?: (session: string | undefined) => void;
}

/** The chat: a reader of events and a sender of submissions, with a person at its keyboard. */
export class Chat {
  readonly #options: ChatOptions;
  readonly #screen: Screen;
  readonly #composer: Composer;
  readonly #transcript: Transcript;
  readonly #live: LiveRegion;
  readonly #dialogs: Dialogs;
  readonly #host: SessionHost;
  readonly #commands: ChatCommands;
  readonly #submissions: Submissions;
  /** Ctrl-C was pressed with nothing to clear or to stop; the next one leaves. */
  #leaving = false;
  /** The session that was opened last. */
  #assembly: Assembly | undefined;
  /** The failure that was told last. */
  #told: unknown;
  /** What could not be drawn last, as it was told. */
  #undrawn: string | undefined;
  /** The first line was printed. */
  #headed = false;
  #end: (code: number) => void = () => {};

  constructor(options: ChatOptions) {
    const { terminal, texts, looks } = options;
    this.#options = options;
    this.#screen = new Screen(terminal, { frame: (columns, rows) => this.#live.frame(columns, rows) });
    this.#dialogs = this.#createDialogs();
    this.#transcript = new Transcript({
      palette: looks.palette,
      texts: () => texts.transcript,
      print: (lines) => this.#screen.print(lines),
      changed: () => this.#screen.refresh(),
      columns: () => terminal.columns,
      failed: (error) => this.#notDrawn(error),
      still: () => looks.still,
      links: looks.links,
    });
    const person = new ChatPerson({
      dialogs: this.#dialogs,
      texts,
      say: (text) => this.#transcript.say(text),
      lend: (run) => this.#screen.lend(run),
      stop: () => this.#submissions.stop(),
    });
    this.#host = new SessionHost(
      (request) => options.open(request, person),
      (event) => this.#event(event),
      (assembly) => this.#opened(assembly),
    );
    this.#commands = new ChatCommands({
      host: this.#host,
      dialogs: this.#dialogs,
      texts,
      say: (text, form) => this.#transcript.say(text, form),
      settingSaved: (key, value) => this.#follow(key, value),
      send: (text, rest) => this.#submissions.send(text, rest),
      draft: (text) => this.#composer.putBack([{ text }]),
      control: (sequence) => void terminal.write(sequence),
      quit: () => this.#end(EXIT.done),
    });
    this.#composer = this.#createComposer();
    this.#submissions = new Submissions({
      host: this.#host,
      commands: this.#commands,
      texts,
      giveBack: (drafts) => this.#composer.putBack(drafts),
      rehearsal: () => this.#transcript.rehearsal(),
      fail: (error) => this.#fail(error),
      headed: (line, run, signal) => this.#transcript.headed(line, run, signal),
      changed: () => this.#screen.refresh(),
    });
    this.#live = new LiveRegion({
      palette: looks.palette,
      texts,
      transcript: this.#transcript,
      submissions: this.#submissions,
      overlays: this.#dialogs.overlays,
      composer: this.#composer,
      header: (columns) => this.#headed ? undefined : this.#header(columns),
      leaving: () => this.#leaving,
      failed: (error) => this.#notDrawn(error),
      hopeless: () => this.#giveUp(),
    });
  }

  #createDialogs(): Dialogs {
    const { texts, looks } = this.#options;
    return new Dialogs({
      palette: () => looks.palette,
      locale: () => texts.locale,
      changed: () => this.#screen.draw(),
      drafting: () => !this.#composer.empty || this.#composer.modal,
    });
  }

  #createComposer(): Composer {
    const { texts, paths, looks } = this.#options;
    return createComposer({
      onSubmit: (draft) => {
        if (draft.text.startsWith("/")) this.#dialogs.overlays.called();
        void this.#submissions.submit(draft);
      },
      palette: looks.palette,
      texts: () => texts.composer,
      paths,
      commands: this.#commands,
      session: () => this.#host.ifOpen(),
      changed: () => this.#screen.draw(),
      lend: (run) => this.#screen.lend(run),
      problem: (error) => this.#fail(error),
    });
  }

  /** Runs until the user leaves; resolves with the exit code. */
  async run(): Promise<number> {
    const { terminal, start, first = [] } = this.#options;
    const ended = new Promise<number>((resolve) => this.#end = resolve);
    let reason: "interrupted" | "terminated" = "interrupted";
    terminal.start({
      input: (event) => this.#input(event),
      resize: () => this.#screen.resized(),
      learnt: () => {
        this.#options.looks.background = terminal.background;
        this.#screen.draw();
      },
      continued: () => this.#screen.continued(),
      ended: (signal: EndSignal = "SIGHUP") => {
        if (signal !== "SIGINT") reason = "terminated";
        this.#end(EXIT[signal === "SIGINT" ? "interrupt" : "terminated"]);
      },
    });
    this.#screen.open();
    try {
      this.#host.current(start).catch((error) => this.#fail(error));
      for (const text of first) this.#submissions.queue.add({ text, steer: false, pasted: true });
      return await ended;
    } finally {
      this.#submissions.stop(reason);
      this.#dialogs.overlays.cancel();
      this.#sayGoodbye();
      await this.#screen.close();
      await terminal.stop();
      await this.#composer.close();
      await this.#host.close();
    }
  }

  /** What is kept, and how to go on with it. */
  #sayGoodbye(): void {
    const session = this.#kept();
    if (session) this.#transcript.say(this.#options.texts.chat.kept(session.id));
  }

  /** The session, once something was said in it. */
  #kept(): Assembly["session"] | undefined {
    const { session } = this.#assembly ?? {};
    return session?.state.turns.length ? session : undefined;
  }

  #event(event: Event): void {
    this.#submissions.event(event);
    try {
      this.#transcript.event(event);
    } catch (error) {
      this.#notDrawn(error);
    }
    if (event.type === "message.start") this.#screen.guard();
    if (event.type === "turn.end") this.#live.status.refresh();
  }

  /** A setting has another value from now on. */
  async #follow(key: string, value: unknown): Promise<void> {
    const { texts, looks } = this.#options;
    await texts.change(key, value);
    looks.change(key, value);
    this.#screen.draw();
  }

  #opened(assembly: Assembly): void {
    // What went on with another model is on the screen already.
    const isShown = this.#assembly?.session.id === assembly.session.id;
    this.#assembly = assembly;
    this.#options.looks.use(assembly.loaded.config.ui);
    this.#printHeader();
    if (!isShown) this.#transcript.resume(assembly.session.state);
    this.#transcript.watch(assembly);
    this.#live.status.show(assembly, () => this.#screen.refresh());
    this.#submissions.opened(assembly);
  }

  #printHeader(): void {
    if (this.#headed) return;
    this.#headed = true;
    this.#transcript.head((columns) => this.#header(columns));
  }

  /** Version, model, directory and what was loaded; before the session is open, as far as it is known. */
  #header(columns: number): string {
    const { texts: { chat: { loaded } }, paths: { cwd, env }, looks: { palette } } = this.#options;
    const { provider, inputs, servers } = this.#assembly ?? {};
    const home = env("HOME");
    const [skills = 0, configured = 0] = [inputs?.skillSet.skills.length, servers?.status.length];
    const parts = [
      `Reasonix ${VERSION}`,
      provider && `${provider.model.provider}/${provider.model.id}`,
      home && home !== "/" && contains(home, cwd) ? `~${cwd.slice(home.length)}` : cwd,
      [
        ...new Set(inputs?.instructions.files.map(({ path }) => baseName(path))),
        ...(skills > 0 ? [loaded.skills(skills)] : []),
        ...(configured > 0 ? [loaded.servers(configured)] : []),
      ].join(", "),
    ];
    return palette.dim(fitDisplay(oneLine(parts.filter(Boolean).join(" · "), 1000), columns));
  }

  #input(event: InputEvent): void {
    const key = event.kind === "key" ? event.key : undefined;
    // The second key: one may be a slip, and a chat that nobody writes in stays small.
    if (!this.#composer.empty) this.#submissions.warm();
    if (key !== "ctrl+c") this.#leaving = false;
    try {
      this.#give(event);
    } catch (error) {
      this.#fail(error);
    }
    this.#screen.draw();
  }

  /** Gives what was typed to whom it is meant for. */
  #give(event: InputEvent): void {
    for (const left of this.#dialogs.overlays.input(event)) {
      if (left.kind === "paste" || !this.#key(left.key)) this.#composer.input(left);
    }
  }

  /** Takes the keys of the chat itself; false for all others. */
  #key(key: string): boolean {
    const { empty } = this.#composer;
    // An open menu or search is left before anything else is.
    if (this.#composer.modal && ["escape", "ctrl+c", "ctrl+d", "up"].includes(key)) return false;
    if (key === "escape" && this.#submissions.queue.busy) this.#submissions.stop();
    else if (key === "ctrl+c") this.#ctrlC(empty);
    else if (key === "ctrl+d" && empty) this.#end(EXIT.done);
    else if (key === "ctrl+z") void this.#screen.stopJob();
    else if (key === "ctrl+l") this.#screen.print(new Array(this.#options.terminal.rows).fill(""));
    else if (key === "ctrl+o") void this.#expand().catch((error) => this.#fail(error));
    else if (key === "shift+tab") void this.#nextMode().catch((error) => this.#fail(error));
    else if (key === "up" && empty && this.#submissions.queue.waiting.length > 0) {
      this.#composer.putBack([this.#submissions.queue.takeBack()].filter((draft) => draft !== undefined));
    } else return false;
    return true;
  }

  /** Shows what the transcript shows only a part of. */
  async #expand(): Promise<void> {
    this.#dialogs.overlays.called();
    const { ExpandPanel } = await import("./overlay/expand.ts");
    const { looks: { palette }, texts } = this.#options;
    const { folded } = this.#transcript;
    const marks = await loadDiffMarks(palette).catch(() => undefined);
    const panel = new ExpandPanel({ palette, marks, texts: texts.transcript, folded: [...folded] });
    await this.#dialogs.overlays.show(panel, undefined, true);
  }

  #ctrlC(empty: boolean): void {
    if (!empty) this.#composer.discard();
    else if (this.#submissions.queue.busy && !this.#submissions.queue.stopping) this.#submissions.stop();
    else if (this.#leaving) this.#end(EXIT.done);
    else this.#leaving = true;
  }

  /** Ask, auto, yolo; the last one is not a matter of one key press. */
  async #nextMode(): Promise<void> {
    this.#dialogs.overlays.called();
    const { chat } = this.#options.texts;
    const { modes } = await this.#host.current();
    const next = modes.approval === "ask" ? "auto" : modes.approval === "auto" ? "yolo" : "ask";
    const text = chat.confirmYoloDetail;
    const sure = next !== "yolo" || await this.#dialogs.confirm(chat.confirmYolo, { text, danger: true });
    await modes.setApproval(sure ? next : "ask");
    this.#transcript.say(chat.modes[modes.approval]);
  }

  #giveUp(): void {
    this.#options.gaveUp?.(this.#kept()?.id);
    this.#end(EXIT.failed);
  }

  /** Something cannot be shown: it is told once, and what can be shown goes on. */
  #notDrawn(error: unknown): void {
    const [line = ""] = errorMessage(error).split("\n");
    if (line === this.#undrawn) return;
    this.#undrawn = line;
    this.#transcript.fail(this.#options.texts.chat.notDrawn(line));
  }

  #fail(error: unknown): void {
    if (error instanceof ChatLeft) return this.#end(EXIT.done);
    // A session that cannot be opened fails for everybody who waits for it.
    if (error === this.#told) return;
    this.#told = error;
    this.#printHeader();
    this.#transcript.fail(this.#options.texts.problem(error));
  }
}
