export type InputEvent =
  /**
   * A key by its name (`ctrl+c`, `shift+enter`, `a`; all names: `parseKey`); `text` is what it types, where
   * it types something; `several` when the same key came more than once, as a wheel sends it.
   */
  | { readonly kind: "key"; readonly key: string; readonly text?: string; readonly several?: boolean }
  /** Pasted text, exactly as the terminal sent it. */
  | { readonly kind: "paste"; readonly text: string };

export interface TerminalHandlers {
  readonly input: (event: InputEvent) => void;
  /** The first button of the mouse was pressed on a cell, where clicks are reported. */
  readonly clicked?: (row: number, column: number) => void;
  readonly resize: () => void;
  /** The terminal has reported its background. */
  readonly learned?: () => void;
  /** The program was stopped and continues: the screen shows output of other programs. */
  readonly continued: () => void;
  /** The program must end: by a signal, or because the terminal is gone. */
  readonly ended: (signal?: EndSignal) => void;
}

export type EndSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  /**
   * Its size is changing, and `resize` will be called: the position of rows that are written until then is
   * unknown.
   */
  readonly resizing: boolean;
  /** Its size is stable. */
  readonly settled: boolean;
  /** While it is `resizing`: asks for its size, so that `resize` is called soon. */
  askSize(): void;
  /** Reports if the last text was processed before or after the size changed. */
  readonly lastTaken: "before" | "after" | "unknown";
  /** It supports synchronized updates (mode 2026). */
  readonly synchronized: boolean;
  /**
   * Effect of a changed width on existing lines: it wraps all of them again, all but the line of the
   * cursor, or none (it cuts them).
   */
  readonly reflow: "all" | "other-lines" | "none";
  /** The reported background; undefined until it is known. */
  readonly background?: "dark" | "light" | undefined;
  /** Texts that enter the alternate screen, where the wheel sends arrows, and leave it. */
  alternate(mouse: boolean): { readonly enter: string; readonly leave: string };
  /** Text that restores the screen, for a program that ends without doing it. Set by the screen. */
  abandoned?: (() => string) | undefined;
  /** Takes the keyboard and sets modes; `stop` resets them. */
  start(handlers: TerminalHandlers): void;
  /**
   * Writes a text. Undefined when the terminal has accepted it, otherwise a promise that resolves when it
   * has; it never rejects. Callers wait for it before the next frame.
   */
  write(text: string): Promise<void> | undefined;
  /**
   * Restores the terminal for another program (an editor, a shell); resolves when reading keys has stopped.
   */
  suspend(): Promise<void>;
  /** Takes the terminal again after `suspend`. */
  resume(): void;
  /**
   * Stops the program until its shell continues it (Ctrl-Z); call it between `suspend` and `resume`.
   * Resolves when the program continues, or at once where it cannot be stopped.
   */
  stopJob(): Promise<void>;
  /** Restores the terminal; may be called twice. */
  stop(): Promise<void>;
}
