import type { Assembly, RunPaths } from "../../assembly/mod.ts";
import { type OpenRequest, readCommand } from "../../command/mod.ts";
import { type Event, EXIT } from "../../core/mod.ts";
import { type Palette, palette } from "../../view/mod.ts";
import { type Composer, createComposer, type Draft } from "./composer/create_composer.ts";
import { ChatCommands } from "./command_host.ts";
import { Layout } from "./layout.ts";
import { Dialogs } from "./overlay/dialogs.ts";
import { ChatPerson, type Person } from "./person.ts";
import { Screen } from "./screen/screen.ts";
import { SessionHost } from "./session_host.ts";
import type { EndSignal, InputEvent, Terminal } from "./terminal/terminal.ts";
import type { ChatTexts } from "./chat_texts.ts";
import { Transcript } from "./transcript/transcript.ts";
import { TurnQueue } from "./turn_queue.ts";

export interface ChatOptions {
  readonly terminal: Terminal;
  readonly colours: boolean;
  readonly texts: ChatTexts;
  readonly paths: RunPaths;
  /** Opens a session; the person of the chat answers its questions. */
  readonly open: (request: OpenRequest, person: Person) => Promise<Assembly>;
  /** The session to begin with. */
  readonly start: OpenRequest;
  /** A first message. */
  readonly first?: string;
}

/** The chat: a reader of events and a sender of submissions, with a person at its keyboard. */
export class Chat {
  readonly #options: ChatOptions;
  readonly #palette: Palette;
  readonly #screen: Screen;
  readonly #composer: Composer;
  readonly #transcript: Transcript;
  readonly #dialogs: Dialogs;
  readonly #host: SessionHost;
  readonly #queue: TurnQueue;
  readonly #commands: ChatCommands;
  /** Said into the running turn, and not taken by it yet. */
  readonly #steering: string[] = [];
  /** Ctrl-C was pressed with nothing to clear or to stop; the next one leaves. */
  #leaving = false;
  #end: (code: number) => void = () => {};

  constructor(options: ChatOptions) {
    const { terminal, texts } = options;
    this.#options = options;
    this.#palette = palette(options.colours);
    this.#screen = new Screen(terminal, { frame: (columns, rows) => layout.frame(columns, rows) });
    this.#composer = this.#createComposer();
    this.#dialogs = new Dialogs({
      palette: () => this.#palette,
      locale: () => texts.locale,
      changed: () => this.#screen.draw(),
    });
    this.#transcript = new Transcript({
      palette: this.#palette,
      print: (lines) => this.#screen.print(lines),
      changed: () => this.#screen.refresh(),
      columns: () => terminal.columns,
    });
    this.#queue = new TurnQueue({
      work: (draft, signal) => this.#work(draft, signal),
      changed: () => this.#screen.refresh(),
    });
    const layout = new Layout({
      palette: this.#palette,
      texts,
      transcript: this.#transcript,
      queue: this.#queue,
      overlays: this.#dialogs.overlays,
      composer: this.#composer,
      steering: this.#steering,
      leaving: () => this.#leaving,
    });
    const say = (text: string) => this.#transcript.say(text);
    const person = new ChatPerson({
      dialogs: this.#dialogs,
      texts,
      say,
      lend: (run) => this.#screen.lend(run),
      stop: () => this.#stop(),
    });
    this.#host = new SessionHost(
      (request) => options.open(request, person),
      (event) => this.#event(event),
    );
    this.#commands = new ChatCommands({
      host: this.#host,
      dialogs: this.#dialogs,
      texts,
      say,
      send: (text) => this.#queue.addFirst({ text, steer: false }),
      quit: () => this.#end(EXIT.done),
    });
  }

  #createComposer(): Composer {
    const { texts, paths } = this.#options;
    return createComposer({
      onSubmit: (draft) => void this.#submit(draft),
      palette: this.#palette,
      texts: () => texts.composer,
      paths,
      commands: () => this.#commands.commands(),
      values: () => Promise.resolve([]),
      session: () => this.#host.current(),
      changed: () => this.#screen.draw(),
      lend: (run) => this.#screen.lend(run),
      problem: (error) => this.#fail(error),
    });
  }

  /** Runs until the user leaves; resolves with the exit code. */
  async run(): Promise<number> {
    const { terminal, start, first } = this.#options;
    const ended = new Promise<number>((resolve) => this.#end = resolve);
    let reason: "interrupted" | "terminated" = "interrupted";
    terminal.start({
      input: (event) => this.#input(event),
      resize: () => this.#screen.resized(),
      continued: () => this.#screen.continued(),
      ended: (signal: EndSignal = "SIGHUP") => {
        if (signal !== "SIGINT") reason = "terminated";
        this.#end(EXIT[signal === "SIGINT" ? "interrupt" : "terminated"]);
      },
    });
    this.#screen.open();
    try {
      this.#host.current(start).catch((error) => this.#fail(error));
      if (first !== undefined) this.#queue.add({ text: first, steer: false });
      return await ended;
    } finally {
      this.#queue.stop(reason);
      this.#dialogs.overlays.cancel();
      await this.#screen.close();
      await terminal.stop();
      this.#composer.discard();
      await this.#composer.written();
      await this.#host.close();
    }
  }

  #event(event: Event): void {
    if (event.type === "message.user" && event.origin === "steer") {
      const at = this.#steering.indexOf(event.content);
      if (at >= 0) this.#steering.splice(at, 1);
    }
    this.#transcript.event(event);
  }

  #input(event: InputEvent): void {
    const key = event.kind === "key" ? event.key : undefined;
    if (key !== "ctrl+c") this.#leaving = false;
    if (!this.#dialogs.overlays.input(event) && (key === undefined || !this.#key(key))) {
      this.#composer.input(event);
    }
    this.#screen.draw();
  }

  /** Takes the keys of the chat itself; false for all others. */
  #key(key: string): boolean {
    const empty = this.#composer.text === "";
    if (this.#composer.modal) return false;
    if (key === "escape" && this.#queue.busy) this.#stop();
    else if (key === "ctrl+c") this.#ctrlC(empty);
    else if (key === "ctrl+d" && empty) this.#end(EXIT.done);
    else if (key === "ctrl+z") void this.#screen.stopJob();
    else if (key === "shift+tab") void this.#nextMode().catch((error) => this.#fail(error));
    else if (key === "up" && empty && this.#queue.waiting.length > 0) {
      this.#composer.text = this.#queue.takeBack()?.text ?? "";
    } else return false;
    return true;
  }

  #ctrlC(empty: boolean): void {
    if (!empty) this.#composer.text = "";
    else if (this.#queue.busy && !this.#queue.stopping) this.#stop();
    else if (this.#leaving) this.#end(EXIT.done);
    else this.#leaving = true;
  }

  #stop(): void {
    this.#giveBack(this.#queue.stop("interrupted"));
  }

  /** What was sent and not taken is the user's again. */
  #giveBack(drafts: readonly Pick<Draft, "text">[]): void {
    if (drafts.length === 0) return;
    const texts = [...drafts.map(({ text }) => text), this.#composer.text];
    this.#composer.text = texts.filter((text) => text !== "").join("\n");
  }

  /** Ask, auto, yolo; the last one is not a matter of one key press. */
  async #nextMode(): Promise<void> {
    const { chat } = this.#options.texts;
    const { modes } = await this.#host.current();
    const next = modes.approval === "ask" ? "auto" : modes.approval === "auto" ? "yolo" : "ask";
    const text = chat.confirmYoloDetail;
    const sure = next !== "yolo" || await this.#dialogs.confirm(chat.confirmYolo, { text, danger: true });
    await modes.setApproval(sure ? next : "ask");
    this.#transcript.say(chat.modes[modes.approval]);
  }

  async #submit(draft: Draft): Promise<void> {
    if (!this.#queue.busy || !draft.steer) return this.#queue.add(draft);
    const { controller } = await this.#host.current();
    this.#steering.push(draft.text);
    await controller.submit({ type: "steer", text: draft.text });
    this.#screen.refresh();
  }

  /** Does what a draft asks for. What comes to nothing goes back to the composer, with all that waited. */
  async #work(draft: Draft, signal: AbortSignal): Promise<void> {
    try {
      const line = draft.text.startsWith("/") ? await readCommand(draft.text) : undefined;
      if (line) await line.command.run(this.#commands, line.argument);
      else await this.#turn(draft, signal);
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
      this.#giveBack([draft, ...this.#queue.takeAll()]);
    }
  }

  async #turn({ text }: Draft, signal: AbortSignal): Promise<void> {
    const assembly = await this.#host.current();
    const { reason } = await assembly.run(text, signal);
    const left = assembly.controller.takeSteering().map((text) => ({ text, steer: false }));
    this.#steering.length = 0;
    if (reason === "done") left.reverse().forEach((draft) => this.#queue.addFirst(draft));
    else this.#giveBack([...left, ...this.#queue.takeAll()]);
  }

  #fail(error: unknown): void {
    this.#transcript.say(this.#palette.bad(this.#options.texts.problem(error)));
  }
}
