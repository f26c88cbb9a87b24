/** Panels of the chat on a terminal without a window, with the composer that they hide and a status line. */
import type { Locale } from "../../src/i18n/mod.ts";
import { Composer } from "../../src/frontend/repl/composer/composer.ts";
import { Dialogs } from "../../src/frontend/repl/overlay/dialogs.ts";
import { Screen } from "../../src/frontend/repl/screen/screen.ts";
import { stack } from "../../src/frontend/repl/screen/view.ts";
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

export interface Stage {
  readonly terminal: VirtualTerminal;
  readonly dialogs: Dialogs;
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
  const dialogs = new Dialogs({
    palette: () => theme ? themed.palette : palette(colors),
    locale: () => locale,
    changed: () => screen.draw(),
    drafting: () => !composer.empty,
    now: () => now,
  });
  const screen = new Screen(terminal, {
    frame: (columns, rows) =>
      stack([
        (dialogs.overlays.top ?? composer).frame(columns, Math.max(1, rows - 1)),
        { lines: ["status"] },
      ]),
  });
  terminal.start({
    input(event) {
      for (const left of dialogs.overlays.input(event)) composer.input(left);
      screen.draw();
    },
    resize: () => screen.resized(),
    continued: () => screen.continued(),
    ended: () => {},
  });
  screen.open();
  return {
    terminal,
    dialogs,
    composer,
    sent,
    pass: (milliseconds) => now += milliseconds,
    choose(key) {
      terminal.press(key);
      now += 300;
      terminal.press("enter");
    },
    async shown() {
      const before = dialogs.overlays.top;
      // Panels load on demand within a few turns of the event loop, in which another one may close.
      const waits = () => dialogs.overlays.top === before || dialogs.overlays.top === undefined;
      for (let turn = 0; turn < 30_000 && waits(); turn++) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      now += 1000;
      screen.draw();
    },
  };
}
