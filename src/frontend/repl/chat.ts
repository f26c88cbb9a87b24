import type { Assembly, RunPaths } from "../../run/mod.ts";
import type { CommandHost, OpenRequest, WebAction } from "../../command/mod.ts";
import { errorMessage, type Event, EXIT } from "../../core/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import { type Composer, type ComposerDraft, createComposer } from "./composer/composer.ts";
import { StatusLine } from "./status_line.ts";
import { withoutStyles } from "./screen/line.ts";
import { type Frame, hintRows, stack } from "./screen/view.ts";
import type { FullLayout } from "./full/layout.ts";
import type { Layout } from "./chat_layout.ts";
import type { Looks } from "./looks.ts";
import { Dialogs } from "./overlay/dialogs.ts";
import type { FullScreen } from "./screen/full_screen.ts";
import { type PacedScreen, Screen } from "./screen/screen.ts";
import { type FrontEnd, type LiveSession, type LiveSessions, openEvents } from "../session/live_session.ts";
import { ChatLeft } from "../session/session_host.ts";
import type { SessionTexts } from "../session/texts.ts";
import type { Config } from "../../config/mod.ts";
import type { EndSignal, InputEvent, Terminal } from "./terminal/terminal.ts";
import { ConversationRecord } from "./transcript/record.ts";
import { Transcript } from "./transcript/transcript.ts";
import { keyHelp } from "./composer/keymap.ts";
import { baseName, contains } from "../../path/lexical.ts";
import { displayWidth, fitDisplay } from "../../util/display_width.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { VERSION } from "../../util/version.ts";
import { grouped, loadDiffMarks } from "../../view/mod.ts";

/** The web page of a program that has sessions. */
export interface WebPage {
  /** Makes a link that counts once. */
  link(role: "owner" | "viewer", session: string | undefined): string;
  /** Draws a QR code in lines. */
  code(text: string, colors: boolean): readonly string[];
  /** The browsers that are connected, and their addresses. */
  readonly readers: readonly { readonly role: "owner" | "viewer"; readonly from: string }[];
  close(): Promise<void>;
}

export interface WebPageOptions {
  readonly sessions: LiveSessions;
  readonly texts: SessionTexts;
  readonly config: Config["serve"];
  /** Called when a browser has used a link. */
  readonly signedIn: (role: "owner" | "viewer", from: string) => void;
  /** Called when a browser connects or leaves. */
  readonly changed?: () => void;
}

export interface ChatOptions {
  readonly terminal: Terminal;
  readonly looks: Looks;
  readonly texts: ChatTexts;
  readonly paths: RunPaths;
  /** The session, which the chat attaches to and does not close. */
  readonly live: LiveSession;
  /** The sessions of this program; the page that `/web` opens shows them. */
  readonly sessions: LiveSessions;
  /** Starts the page of `/web`. Absent: there is none. */
  readonly web?: (options: WebPageOptions) => Promise<WebPage>;
  readonly start: OpenRequest;
  /** The view to begin with; absent: that of the setting `ui.view`. */
  readonly view?: ViewName;
  /** Messages to begin with, as if they had been typed. */
  readonly first?: readonly string[];
  /** Called with the session, if any, when the chat ends because nothing can be drawn. */
  readonly gaveUp?: (session: string | undefined) => void;
  /** Milliseconds, by which overlays distinguish answers from typing; default: the real time. */
  readonly now?: () => number;
}

interface FullView {
  readonly layout: FullLayout;
  readonly screen: FullScreen;
}

type ViewName = Config["ui"]["view"];

/** Maximum number of queued messages shown. */
const WAITING_LINES = 3;

/** On a screen with fewer rows an open overlay hides queued messages. */
const ROOMY = 16;

/** The chat: shows events, sends submissions, and asks the user at its keyboard. */
export class Chat {
  readonly #options: ChatOptions;
  /** The screen with the scrollback, and the one in use. */
  readonly #main: Screen;
  #screen: PacedScreen;
  readonly #scroll: Layout;
  #layout: Layout;
  /** The full-screen view, once it was in use. */
  #full: FullView | undefined;
  #configured = false;
  /** The full-screen view reports clicks. */
  #mouse = false;
  readonly #composer: Composer;
  readonly #transcript: Transcript;
  readonly #record = new ConversationRecord((error) => this.#fail(error));
  readonly #status: StatusLine;
  readonly #dialogs: Dialogs;
  readonly #live: LiveSession;
  readonly #commands: CommandHost;
  readonly #frontEnd: FrontEnd;
  /** Ctrl-C was pressed with nothing to clear or stop; the next one leaves. */
  #leaving = false;
  #assembly: Assembly | undefined;
  /** The failure that was reported last. */
  #reported: unknown;
  /** The drawing failure that was reported last. */
  #undrawn: string | undefined;
  #headed = false;
  /** The web page of this program, while it is open or being opened. */
  #opening: Promise<WebPage> | undefined;
  #served: WebPage | undefined;
  #end: (code: number) => void = () => {};

  constructor(options: ChatOptions) {
    const { terminal, texts, looks, live } = options;
    this.#options = options;
    this.#live = live;
    this.#main = new Screen(terminal, { frame: (columns, rows) => this.#frame(columns, rows) });
    this.#screen = this.#main;
    this.#scroll = {
      frame: (columns, rows) => this.#whole(columns, rows),
      get columns() {
        return terminal.columns;
      },
      print: (lines) => this.#main.print(lines),
      key: () => false,
    };
    this.#layout = this.#scroll;
    this.#dialogs = this.#createDialogs();
    this.#transcript = new Transcript({
      palette: looks.palette,
      texts: () => texts.transcript,
      print: (lines, piece) => {
        this.#record.add(piece, lines);
        this.#layout.print(lines);
      },
      eager: () => this.#layout !== this.#scroll,
      changed: () => this.#screen.refresh(),
      columns: () => this.#layout.columns,
      failed: (error) => this.#notDrawn(error),
      still: () => looks.still,
      links: looks.links,
    });
    this.#frontEnd = this.#createFrontEnd();
    this.#commands = live.commandsOf(this.#frontEnd);
    this.#composer = this.#createComposer();
    this.#status = new StatusLine({
      palette: looks.palette,
      texts: () => texts.status,
      opening: () => live.host.opening,
      browsers: () => this.#served?.readers,
    });
  }

  /** When a part cannot be drawn, the composer or overlay is shown alone. */
  #frame(columns: number, rows: number): Frame {
    try {
      return this.#layout.frame(columns, rows);
    } catch (error) {
      this.#notDrawn(error);
    }
    try {
      return this.#plain(columns, rows);
    } catch {
      this.#giveUp();
      return { lines: [] };
    }
  }

  #whole(columns: number, rows: number): Frame {
    const { top, aside } = this.#dialogs.overlays;
    const status = { lines: [this.#statusLine(columns)] };
    const waiting = { lines: top && rows < ROOMY ? [] : this.#waitingLines() };
    const head = top || rows < ROOMY / 2 || this.#headed ? [] : [this.#header(columns)];
    const taken = waiting.lines.length + status.lines.length + head.length + 1;
    const space = Math.max(1, rows - taken);
    const bottom = aside ? this.#withDraft(columns, space) : (top ?? this.#composer).frame(columns, space);
    const live = this.#transcript.live(columns, Math.max(0, rows - bottom.lines.length - taken));
    return stack([{ lines: [...head, ...live, ""] }, waiting, bottom, status]);
  }

  #plain(columns: number, rows: number): Frame {
    const view = this.#dialogs.overlays.top ?? this.#composer;
    return stack([{ lines: [""] }, view.frame(columns, Math.max(1, rows - 1))]);
  }

  /** An overlay that opened while the user was typing, and the composer below it. */
  #withDraft(columns: number, rows: number): Frame {
    const { texts: { chat }, looks: { palette } } = this.#options;
    const draft = this.#composer.frame(columns, Math.max(1, Math.floor(rows / 3)));
    const hint = hintRows([chat.asideAnswer, chat.asideWrite], columns).map(palette.warning);
    const left = Math.max(0, rows - draft.lines.length - hint.length);
    return stack([this.#dialogs.overlays.top?.frame(columns, left) ?? { lines: [] }, { lines: hint }, draft]);
  }

  /** The status, or a hint in its place. */
  #statusLine(columns: number): string {
    const hint = this.#hint();
    return hint === ""
      ? this.#status.line(columns)
      : this.#options.looks.palette.dim(fitDisplay(hint, columns));
  }

  #hint(): string {
    const { chat } = this.#options.texts;
    if (this.#leaving) return chat.leaveHint;
    const { busy, stopping } = this.#live.submissions;
    if (stopping) return chat.stopping;
    // A command with a question waits for the user.
    return busy && !this.#transcript.busy && !this.#dialogs.overlays.top ? chat.working : "";
  }

  /** Steering and queued messages. */
  #waitingLines(): string[] {
    const { texts: { chat }, looks: { palette } } = this.#options;
    const { waiting, steering } = this.#live.submissions;
    const lines = [
      ...steering.map((text) => chat.steering(oneLine(text, 200))),
      ...waiting.map(({ text }) => chat.queued(oneLine(text, 200))),
    ];
    const more = lines.length > WAITING_LINES ? [`… +${lines.length - WAITING_LINES}`] : [];
    const hint = waiting.some(({ by }) => by === this.#frontEnd) ? [chat.queueHint] : [];
    return [...lines.slice(0, WAITING_LINES), ...more, ...hint].map((line) => palette.dim(line));
  }

  #createDialogs(): Dialogs {
    const { texts, looks, now } = this.#options;
    return new Dialogs({
      now,
      palette: () => looks.palette,
      locale: () => texts.locale,
      changed: () => this.#screen.draw(),
      drafting: () => !this.#composer.empty || this.#composer.modal,
      questions: this.#live.questions,
      elsewhere: (by) => this.#transcript.say(texts.chat.answeredElsewhere(by)),
      failed: (error) => this.#fail(error),
    });
  }

  #createFrontEnd(): FrontEnd {
    const { texts, terminal, looks, web } = this.#options;
    return {
      name: "terminal",
      event: (event) => {
        if (event.type !== "question.state") this.#event(event);
      },
      opened: (assembly) => this.#opened(assembly),
      said: (text, form) => this.#transcript.say(text, form),
      failed: (error) => this.#fail(error),
      queued: () => this.#screen.refresh(),
      returned: (drafts: readonly ComposerDraft[]) => this.#composer.putBack(drafts),
      headed: (line, run, signal) => this.#transcript.headed(line, run, signal),
      lend: (run) => this.#screen.lend(run),
      settingSaved: (key, value) => {
        looks.change(key, value);
        if (key === "ui.mouse") void this.#useMouse(value === true);
        if (key === "ui.view") {
          void this.#show(value === "full" ? "full" : "scroll").catch((error) => this.#fail(error));
        }
        this.#screen.draw();
      },
      commands: {
        showsEvents: true,
        keys: () =>
          keyHelp(texts.composer)
            .map(({ keys, what }) => `- ${keys.map((key) => `\`${key}\``).join(" · ")} ${what}`).join("\n"),
        draft: (text) => this.#composer.putBack([{ text }]),
        control: (sequence) => void terminal.write(sequence),
        quit: () => this.#end(EXIT.done),
        view: (view) => this.#show(view ?? (this.#layout === this.#scroll ? "full" : "scroll")),
        ...(web ? { web: (what) => this.#web(what, web) } : {}),
      },
    };
  }

  #createComposer(): Composer {
    const { texts, paths, looks } = this.#options;
    return createComposer({
      onSubmit: (draft) => {
        if (draft.text.startsWith("/")) this.#dialogs.overlays.called();
        this.#full?.layout.sent(draft.text);
        void this.#live.submissions.submit({ ...draft, by: this.#frontEnd });
      },
      palette: looks.palette,
      texts: () => texts.composer,
      paths,
      commands: this.#commands,
      session: () => this.#live.host.ifOpen(),
      changed: () => this.#screen.draw(),
      lend: (run) => this.#screen.lend(run),
      problem: (error) => this.#fail(error),
    });
  }

  async run(): Promise<number> {
    const { terminal, start, first = [] } = this.#options;
    const ended = new Promise<number>((resolve) => this.#end = resolve);
    let reason: "interrupted" | "terminated" = "interrupted";
    // A message opens the session, which begins as the flags say.
    let early: InputEvent[] | undefined = [];
    terminal.start({
      input: (event) => early ? void early.push(event) : this.#input(event),
      clicked: (row, column) => {
        this.#full?.layout.click(row, column);
        this.#screen.draw();
      },
      resize: () => this.#screen.resized(),
      learned: () => {
        this.#options.looks.background = terminal.background;
        this.#screen.draw();
      },
      continued: () => this.#screen.continued(),
      ended: (signal: EndSignal = "SIGHUP") => {
        if (signal !== "SIGINT") reason = "terminated";
        this.#end(EXIT[signal === "SIGINT" ? "interrupt" : "terminated"]);
      },
    });
    if (this.#options.view === "full") await this.#show("full");
    if (this.#layout === this.#scroll) this.#screen.open();
    const { host, submissions, assembly } = this.#live;
    if (assembly) await this.configure(assembly.loaded.config.ui);
    const detach = this.#live.attach(this.#frontEnd);
    try {
      if (assembly) {
        this.#opened(assembly);
        if (submissions.busy) openEvents(this.#live.snapshot()).forEach((event) => this.#event(event));
      }
      host.current(start).catch((error) => this.#fail(error));
      const typed = early;
      early = undefined;
      for (const event of typed) this.#input(event);
      for (const text of first) submissions.add({ text, steer: false, pasted: true, by: this.#frontEnd });
      return await ended;
    } finally {
      // Others continue with the turn, unless they are pages of this program.
      if (this.#live.frontEnds.length === 1 || this.#opening) submissions.stop(reason);
      this.#dialogs.close();
      await this.#closeWeb();
      if (this.#layout === this.#scroll) this.#sayGoodbye();
      await this.#screen.close(this.#leftRows());
      await terminal.stop();
      await this.#composer.close();
      detach();
    }
  }

  /** Applies settings of a session that is about to open; that of the view only for the first one. */
  async configure({ view, mouse }: Config["ui"]): Promise<void> {
    await this.#useMouse(mouse);
    const isFirst = !this.#configured;
    this.#configured = true;
    if (isFirst && this.#options.view === undefined) await this.#show(view);
  }

  /** Changes to another view; all else continues, also where the other one cannot be loaded. */
  async #show(view: ViewName): Promise<void> {
    try {
      if (view === "full") this.#full ??= await this.#loadFull();
    } catch (error) {
      // Each attempt fails by the same error.
      this.#reported = undefined;
      return this.#fail(error);
    }
    const { layout, screen } = view === "full" && this.#full || { layout: this.#scroll, screen: this.#main };
    if (layout === this.#layout) return;
    if (view === "full") this.#transcript.flush();
    await this.#screen.close();
    if (view === "full") this.#record.leave(this.#transcript);
    else this.#catchUp();
    [this.#layout, this.#screen] = [layout, screen];
    screen.open();
  }

  /** Prints on the main screen what it has missed. */
  #catchUp(): void {
    const { terminal, texts, looks: { palette } } = this.#options;
    const note = (messages: number) => palette.dim(texts.transcript.earlier(grouped(messages)));
    this.#main.print(this.#record.comeBack(this.#transcript, terminal.columns, note));
  }

  /** The modes of the mouse are set when the screen is entered. */
  async #useMouse(on: boolean): Promise<void> {
    if (on === this.#mouse) return;
    this.#mouse = on;
    if (this.#screen !== this.#full?.screen) return;
    await this.#screen.close();
    this.#screen.open();
  }

  async #loadFull(): Promise<FullView> {
    const { looks, texts, terminal, paths } = this.#options;
    const [{ FullLayout }, { FullScreen }, full] = await Promise.all([
      import("./full/layout.ts"),
      import("./screen/full_screen.ts"),
      texts.area("full"),
    ]);
    const isMouseUsed = () => this.#mouse;
    const screen = new FullScreen(terminal, { frame: (columns, rows) => this.#frame(columns, rows) }, {
      get mouse() {
        return isMouseUsed();
      },
      goodbye: () => this.#goodbye(),
    });
    const layout = new FullLayout({
      looks,
      texts,
      full,
      terminal,
      paths,
      composer: this.#composer,
      dialogs: this.#dialogs,
      status: (columns) => this.#statusLine(columns),
      commands: this.#commands,
      live: this.#live,
      transcript: this.#transcript,
      record: this.#record,
      waiting: () => this.#waitingLines(),
      mouse: isMouseUsed,
      changed: () => this.#screen.refresh(),
      redraw: () => screen.resized(),
      nextMode: () => void this.#nextMode().catch((error) => this.#fail(error)),
      submit: (text) => {
        // The next keys are for what a command asks.
        this.#dialogs.overlays.called();
        void this.#live.submissions.submit({ text, steer: false, by: this.#frontEnd });
      },
      failed: (error) => this.#fail(error),
    });
    return { layout, screen };
  }

  async #web(what: WebAction, open: NonNullable<ChatOptions["web"]>): Promise<void> {
    const { texts: { chat: { web: texts } } } = this.#options;
    if (what === "off") {
      return this.#opening ? await this.#closeWeb() : this.#transcript.say(texts.wasOff);
    }
    this.#opening ??= this.#openWeb(open);
    const { readers } = await this.#opening;
    const isOwner = what === "open";
    if (isOwner) this.#transcript.say(texts.open, "plain");
    const link = this.#showLink(isOwner ? "owner" : "viewer", true);
    // Without sign-in a link has no token.
    if (link.includes("#token=")) this.#transcript.say(isOwner ? texts.once : texts.viewer, "plain");
    if (readers.length === 0) return;
    const who = readers.map(({ role, from }) => role === "viewer" ? texts.looksOnly(from) : from);
    this.#transcript.say(texts.connected([...new Set(who)].join(", ")), "plain");
  }

  async #openWeb(open: NonNullable<ChatOptions["web"]>): Promise<WebPage> {
    const { sessions, texts } = this.#options;
    try {
      const { loaded: { config: { serve: config } } } = await this.#live.host.current();
      this.#served = await open({
        ...{ sessions, texts, config },
        changed: () => this.#screen.refresh(),
        signedIn: (_role, from) => this.#transcript.say(texts.chat.web.signedIn(from), "plain"),
      });
      return this.#served;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /** Prints a link that no browser has used yet; it leads to the session of the chat. */
  #showLink(role: "owner" | "viewer", withCode = false): string {
    const { palette } = this.#options.looks;
    const link = this.#served?.link(role, this.#live.id) ?? "";
    const code = withCode && this.#served?.code(link, palette.bold("x") !== "x") || [];
    this.#transcript.rows((columns) => [
      ...link.match(new RegExp(`.{1,${columns}}`, "g")) ?? [],
      ...(displayWidth(withoutStyles(code[0] ?? "")) < columns ? code : []),
    ]);
    return link;
  }

  /** Closes the web page, if it is open, and says what that means to the browsers and to their sessions. */
  async #closeWeb(): Promise<void> {
    const server = await this.#opening?.catch(() => undefined);
    if (!server) return;
    const { sessions, texts: { chat: { web: texts } } } = this.#options;
    const browsers = server.readers.length;
    [this.#opening, this.#served] = [undefined, undefined];
    await server.close();
    this.#transcript.say(texts.closed(browsers), "plain");
    const others = sessions.all.filter((live) => live !== this.#live);
    const stopped = others.filter(({ submissions: { busy } }) => busy).map(({ id = "" }) => id);
    await Promise.all(others.map((live) => live.end()));
    for (const id of stopped) this.#transcript.say(texts.stopped(id), "plain");
  }

  /** Names the saved session and the command that resumes it. */
  #sayGoodbye(): void {
    const session = this.#kept();
    if (session) this.#transcript.say(this.#options.texts.chat.kept(session.id));
  }

  /** The last answer and the goodbye, for the main screen, which has nothing of the conversation. */
  #goodbye(): string[] {
    const session = this.#kept();
    if (!session) return [];
    const answer = session.state.turns.findLast(({ answer = "" }) => answer.trim() !== "")?.answer;
    const kept = this.#options.texts.chat.kept(session.id);
    const { columns } = this.#options.terminal;
    return [...(answer === undefined ? [] : [answer]), kept]
      .flatMap((text) => ["", ...this.#transcript.laidOut(text, columns)]);
  }

  /** Rows to leave on the main screen. */
  #leftRows(): string[] {
    return this.#layout === this.#scroll ? [] : this.#goodbye();
  }

  /** The session, once it has a turn. */
  #kept(): Assembly["session"] | undefined {
    const { session } = this.#assembly ?? {};
    return session?.state.turns.length ? session : undefined;
  }

  #event(event: Event): void {
    try {
      this.#record.event(event, this.#transcript, () => this.#transcript.event(event));
      this.#full?.layout.event(event);
    } catch (error) {
      this.#notDrawn(error);
    }
    if (event.type === "message.start") this.#screen.guard();
    if (event.type === "turn.end") this.#status.refresh();
  }

  #opened(assembly: Assembly): void {
    this.#assembly = assembly;
    this.#options.looks.use(assembly.loaded.config.ui);
    this.#printHeader();
    // A session that continues with another model is shown already.
    const { session } = assembly;
    this.#record.begin(session, this.#transcript, () => this.#transcript.resume(session.state));
    this.#full?.layout.opened();
    this.#transcript.watch(assembly);
    this.#status.show(assembly, () => this.#screen.refresh());
  }

  #printHeader(): void {
    if (this.#headed) return;
    this.#headed = true;
    this.#transcript.rows((columns) => [this.#header(columns)]);
  }

  /** Version, model, directory and loaded files; before the session is open, as far as known. */
  #header(columns: number): string {
    const { texts: { chat: { loaded } }, paths: { cwd, env }, looks: { palette } } = this.#options;
    const { model, instructions, skills = 0, servers: { configured = 0 } = {} } = this.#assembly?.facts ?? {};
    const home = env("HOME");
    const parts = [
      `Reasonix ${VERSION}`,
      model && `${model.provider}/${model.id}`,
      home && home !== "/" && contains(home, cwd) ? `~${cwd.slice(home.length)}` : cwd,
      [
        ...new Set(instructions?.map(baseName)),
        ...(skills > 0 ? [loaded.skills(skills)] : []),
        ...(configured > 0 ? [loaded.servers(configured)] : []),
      ].join(", "),
    ];
    return palette.dim(fitDisplay(oneLine(parts.filter(Boolean).join(" · "), 1000), columns));
  }

  #input(event: InputEvent): void {
    const key = event.kind === "key" ? event.key : undefined;
    // With the second key: one may be a slip, and an unused chat needs little memory.
    if (!this.#composer.empty) this.#live.submissions.warm(() => this.#transcript.warmUpSink());
    if (key !== "ctrl+c") this.#leaving = false;
    try {
      this.#give(event);
    } catch (error) {
      this.#fail(error);
    }
    this.#screen.draw();
  }

  #give(event: InputEvent): void {
    if (this.#layout.key(event)) return;
    for (const left of this.#dialogs.overlays.input(event)) {
      if (left.kind === "paste" || !this.#key(left.key)) this.#composer.input(left);
    }
  }

  /** Handles the keys of the chat itself; false for all others. */
  #key(key: string): boolean {
    const { empty } = this.#composer;
    // An open menu or search is left before anything else is.
    if (this.#composer.modal && ["escape", "ctrl+c", "ctrl+d", "up"].includes(key)) return false;
    if (key === "escape" && this.#live.submissions.busy) this.#stop();
    else if (key === "ctrl+c") this.#ctrlC(empty);
    else if (key === "ctrl+d" && empty) this.#end(EXIT.done);
    else if (key === "ctrl+z") void this.#screen.stopJob(this.#leftRows());
    else if (key === "ctrl+l") this.#main.print(new Array(this.#options.terminal.rows).fill(""));
    else if (key === "ctrl+o") void this.#expand().catch((error) => this.#fail(error));
    else if (key === "shift+tab") void this.#nextMode().catch((error) => this.#fail(error));
    else {
      // The last queued message is changed.
      const draft = key === "up" && empty && this.#live.submissions.takeBack(this.#frontEnd);
      if (!draft) return false;
      this.#composer.putBack([draft]);
    }
    return true;
  }

  /** Shows collapsed items of the transcript in full. */
  async #expand(): Promise<void> {
    const { looks: { palette }, texts } = this.#options;
    await this.#dialogs.overlays.open(async () => {
      const { ExpandPanel } = await import("./overlay/expand.ts");
      const marks = await loadDiffMarks(palette).catch(() => undefined);
      const collapsed = [...this.#transcript.collapsed];
      return new ExpandPanel({ palette, marks, texts: texts.transcript, collapsed });
    });
  }

  #ctrlC(empty: boolean): void {
    if (!empty) this.#composer.discard();
    else if (this.#live.submissions.busy && !this.#live.submissions.stopping) this.#stop();
    else if (this.#leaving) this.#end(EXIT.done);
    else this.#leaving = true;
  }

  #stop(): void {
    this.#live.submissions.stop("interrupted", this.#frontEnd);
  }

  /** Cycles ask, auto, yolo; yolo needs a confirmation. */
  async #nextMode(): Promise<void> {
    this.#dialogs.overlays.called();
    const { chat } = this.#options.texts;
    const { modes } = await this.#live.host.current();
    const next = modes.approval === "ask" ? "auto" : modes.approval === "auto" ? "yolo" : "ask";
    const text = chat.confirmYoloDetail;
    const sure = next !== "yolo" || await this.#commands.confirm(chat.confirmYolo, { text, danger: true });
    await modes.setApproval(sure ? next : "ask");
    this.#transcript.say(chat.modes[modes.approval]);
  }

  #giveUp(): void {
    this.#options.gaveUp?.(this.#kept()?.id);
    this.#end(EXIT.failed);
  }

  /** Reports once what cannot be shown; the rest is shown. */
  #notDrawn(error: unknown): void {
    const [line = ""] = errorMessage(error).split("\n");
    if (line === this.#undrawn) return;
    this.#undrawn = line;
    this.#transcript.fail(this.#options.texts.chat.notDrawn(line));
  }

  #fail(error: unknown): void {
    if (error instanceof ChatLeft) return this.#end(EXIT.done);
    // A session that cannot be opened fails for everybody who waits for it.
    if (error === this.#reported) return;
    this.#reported = error;
    this.#printHeader();
    this.#transcript.fail(this.#options.texts.problem(error));
  }
}
