/** Panels of the chat on a terminal without a window, with the composer that they hide and a status line. */
import type { ApprovalAnswer } from "../../src/core/mod.ts";
import type { Locale } from "../../src/i18n/mod.ts";
import type { ApprovalRequest } from "../../src/permission/mod.ts";
import { Composer } from "../../src/frontend/repl/composer/composer.ts";
import { Dialogs, type OverlayQueue } from "../../src/frontend/repl/overlay/dialogs.ts";
import { Screen } from "../../src/frontend/repl/screen/screen.ts";
import { stack } from "../../src/frontend/repl/screen/view.ts";
import { personOf, questionsOfCommands } from "../../src/frontend/session/person.ts";
import { Questions } from "../../src/frontend/session/questions.ts";
import { palette, type Theme, ThemedPalette } from "../../src/view/mod.ts";
import { VirtualTerminal } from "./virtual_terminal.ts";

export interface StageOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly locale?: Locale;
  readonly colors?: boolean;
  /** Colors of a theme. */
  readonly theme?: Theme;
}

/** Asks the questions of a session. */
export interface AskedDialogs extends ReturnType<typeof questionsOfCommands> {
  readonly overlays: OverlayQueue;
  /** Undefined: the user left without an answer, or the signal aborted. */
  readonly approve: (
    request: ApprovalRequest,
    signal: AbortSignal,
  ) => Promise<ApprovalAnswer | undefined>;
  readonly ask: Person["asker"]["ask"];
  readonly plan: Person["planReviewer"]["review"];
  readonly trust: Person["trust"];
  readonly copy: Person["copy"];
}

type Person = ReturnType<typeof personOf>;

export interface Stage {
  readonly terminal: VirtualTerminal;
  readonly questions: Questions;
  readonly dialogs: AskedDialogs;
  /** Front ends that have answered in place of this one. */
  readonly elsewhere: string[];
  readonly composer: Composer;
  /** Drafts that were sent from the composer. */
  readonly sent: string[];
  /** Advances the clock of the overlays. */
  pass(milliseconds: number): void;
  /** Selects a row by its letter or digit and answers with it after the required pause. */
  choose(key: string): void;
  /** Resolves when the requested panel is on the screen, and takes keys. */
  shown(): Promise<void>;
}

export function openStage(
  { columns = 80, rows = 24, locale = "en", colors = false, theme }: StageOptions = {},
): Stage {
  const terminal = new VirtualTerminal({ columns, rows });
  const themed = new ThemedPalette(true);
  if (theme) themed.theme = theme;
  const sent: string[] = [];
  const composer = new Composer({ onSubmit: ({ text }) => sent.push(text) });
  let now = 0;
  const questions = new Questions();
  const elsewhere: string[] = [];
  const { overlays } = new Dialogs({
    questions,
    elsewhere: (by) => void elsewhere.push(by),
    failed(error) {
      throw error;
    },
    palette: () => theme ? themed.palette : palette(colors),
    locale: () => locale,
    changed: () => screen.draw(),
    drafting: () => !composer.empty,
    now: () => now,
  });
  let stopped = false;
  const person = personOf(questions, {
    stop: () => void (stopped = true),
    say() {},
    speak: () => Promise.resolve(),
  });
  const dialogs: AskedDialogs = {
    ...questionsOfCommands(questions),
    overlays,
    async approve(request, signal) {
      stopped = false;
      const answer = await person.approver.ask(request, signal).catch(() => undefined);
      return stopped ? undefined : answer;
    },
    ask: person.asker.ask,
    plan: person.planReviewer.review,
    trust: person.trust,
    copy: person.copy,
  };
  const screen = new Screen(terminal, {
    frame: (columns, rows) =>
      stack([
        (overlays.top ?? composer).frame(columns, Math.max(1, rows - 1)),
        { lines: ["status"] },
      ]),
  });
  terminal.start({
    input(event) {
      for (const left of overlays.input(event)) composer.input(left);
      screen.draw();
    },
    resize: () => screen.resized(),
    continued: () => screen.continued(),
    ended: () => {},
  });
  screen.open();
  return {
    terminal,
    questions,
    dialogs,
    elsewhere,
    composer,
    sent,
    pass: (milliseconds) => now += milliseconds,
    choose(key) {
      terminal.press(key);
      now += 300;
      terminal.press("enter");
    },
    async shown() {
      const before = overlays.top;
      // Panels load on demand within a few turns of the event loop, in which another one may close.
      const waits = () => overlays.top === before || overlays.top === undefined;
      for (let turn = 0; turn < 30_000 && waits(); turn++) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      now += 1000;
      screen.draw();
    },
  };
}
