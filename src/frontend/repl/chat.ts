import {
  allCommands,
  type Choice,
  type CommandHost,
  type OpenRequest,
  readCommand,
  type SlashCommand,
} from "../../command/mod.ts";
import { type ApprovalAnswer, EXIT } from "../../core/mod.ts";
import type { ApprovalRequest } from "../../permission/mod.ts";
import { type Palette, palette } from "../../view/mod.ts";
import { Composer, type Draft } from "./composer/composer.ts";
import { OverlayQueue } from "./overlay/overlay.ts";
import { Select } from "./overlay/select.ts";
import { Screen } from "./screen/screen.ts";
import { type Frame, stack, type View } from "./screen/view.ts";
import { type OpenSession, SessionHost } from "./session_host.ts";
import type { InputEvent, Terminal } from "./terminal/terminal.ts";
import { Transcript } from "./transcript/transcript.ts";

export interface ChatOptions {
  readonly terminal: Terminal;
  readonly colours: boolean;
  /** Opens a session; the chat answers its questions. */
  readonly open: (request: OpenRequest, person: Person) => ReturnType<OpenSession>;
  /** The session to begin with. */
  readonly start: OpenRequest;
  /** A first message. */
  readonly first?: string;
}

/** The person of the chat, as the gate and the tools ask. */
export interface Person {
  readonly approver: { ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> };
}

/** The chat: a reader of events and a sender of submissions, with a person at its keyboard. */
export class Chat implements View, CommandHost {
  readonly #options: ChatOptions;
  readonly #palette: Palette;
  readonly #screen: Screen;
  readonly #composer: Composer;
  readonly #transcript: Transcript;
  readonly #overlays: OverlayQueue;
  readonly #host: SessionHost;
  readonly #queue: string[] = [];
  #turn: AbortController | undefined;
  #end: (code: number) => void = () => {};

  constructor(options: ChatOptions) {
    const { terminal } = options;
    this.#options = options;
    this.#palette = palette(options.colours);
    this.#screen = new Screen(terminal, this);
    this.#composer = new Composer({ onSubmit: (draft) => void this.#submit(draft) });
    this.#overlays = new OverlayQueue(() => this.#screen.draw());
    this.#transcript = new Transcript({
      palette: this.#palette,
      print: (lines) => this.#screen.print(lines),
      changed: () => this.#screen.refresh(),
      columns: () => terminal.columns,
    });
    const person: Person = { approver: { ask: (request, signal) => this.#approve(request, signal) } };
    this.#host = new SessionHost(
      (request) => options.open(request, person),
      (event) => this.#transcript.event(event),
    );
  }

  /** Runs until the user leaves; resolves with the exit code. */
  async run(): Promise<number> {
    const { terminal, start, first } = this.#options;
    const ended = new Promise<number>((resolve) => this.#end = resolve);
    terminal.start({
      input: (event) => this.#input(event),
      resize: () => this.#screen.resized(),
      continued: () => this.#screen.continued(),
      ended: (signal) =>
        this.#end(signal ? EXIT[signal === "SIGINT" ? "interrupt" : "terminated"] : EXIT.done),
    });
    this.#screen.open();
    try {
      this.#host.current(start).catch((error) => this.#fail(error));
      if (first !== undefined) void this.#submit({ text: first, steer: false });
      return await ended;
    } finally {
      this.#turn?.abort("interrupted");
      this.#overlays.cancel();
      await this.#screen.close();
      await terminal.stop();
      await this.#host.close();
    }
  }

  frame(columns: number, rows: number): Frame {
    const status = { lines: [this.#palette.dim(this.#turn ? "working · esc to stop" : "ready")] };
    const overlay = this.#overlays.top;
    const bottom = (overlay ?? this.#composer).frame(columns, Math.max(1, rows - 2));
    const room = rows - bottom.lines.length - status.lines.length - 1;
    const live = this.#transcript.live(columns, Math.max(0, room));
    return stack([{ lines: [...live, ""] }, bottom, status]);
  }

  #input(event: InputEvent): void {
    const overlay = this.#overlays.top;
    if (overlay) overlay.input(event);
    else if (!this.#composer.input(event) && event.kind === "key") this.#key(event.key);
    this.#screen.draw();
  }

  #key(key: string): void {
    if (key === "escape") this.#turn?.abort("interrupted");
    else if (key === "ctrl+c") {
      if (this.#composer.text !== "") this.#composer.text = "";
      else if (this.#turn) this.#turn.abort("interrupted");
      else this.#end(0);
    } else if (key === "ctrl+z") void this.#screen.stopJob();
    else if (key === "ctrl+d" && this.#composer.text === "") this.#end(0);
  }

  async #submit({ text, steer }: Draft): Promise<void> {
    if (this.#turn && steer) {
      const assembly = await this.#host.current();
      await assembly.controller.submit({ type: "steer", text });
      return;
    }
    this.#queue.push(text);
    if (!this.#turn) await this.#work();
  }

  async #work(): Promise<void> {
    for (let text = this.#queue.shift(); text !== undefined; text = this.#queue.shift()) {
      const turn = new AbortController();
      this.#turn = turn;
      try {
        const line = await readCommand(text);
        if (line) await line.command.run(this, line.argument);
        else await (await this.session()).run(text, turn.signal);
      } catch (error) {
        this.#fail(error);
      } finally {
        this.#turn = undefined;
        this.#screen.refresh();
      }
    }
  }

  session(): ReturnType<OpenSession> {
    return this.#host.current();
  }

  commands(): Promise<readonly SlashCommand[]> {
    return allCommands();
  }

  say(text: string): void {
    this.#transcript.say(text);
  }

  async choose<T>(title: string, choices: readonly Choice<T>[]): Promise<T | undefined> {
    const hint = "↑↓ · enter · esc";
    return await this.#overlays.show(new Select({ title: [title], choices, palette: this.#palette, hint }));
  }

  send(text: string): void {
    this.#queue.push(text);
  }

  async reopen(request: OpenRequest): Promise<void> {
    await this.#host.replace(request);
  }

  quit(): void {
    this.#end(0);
  }

  async #approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const choices: readonly Choice<ApprovalAnswer>[] = [
      { label: "Allow once", key: "y", value: { allow: true, scope: "once" } },
      { label: "Deny", key: "n", value: { allow: false, scope: "once" } },
    ];
    const title = [`${request.tool} ${request.subject}`.slice(0, 200), this.#palette.dim(request.reason)];
    const select = new Select({ title, choices, palette: this.#palette, hint: "↑↓ · enter · esc" });
    return await this.#overlays.show(select, signal) ?? { allow: false, scope: "once" };
  }

  #fail(error: unknown): void {
    this.#transcript.say(this.#palette.bad(error instanceof Error ? error.message : String(error)));
  }
}
