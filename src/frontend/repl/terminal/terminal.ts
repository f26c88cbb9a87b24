/** What a person does at the keyboard. */
export type InputEvent =
  /** A key by its name (`ctrl+c`, `shift+enter`, `a`); `text` is what it types, where it types something. */
  | { readonly kind: "key"; readonly key: string; readonly text?: string }
  /** Text of the clipboard, byte for byte as the terminal sent it. */
  | { readonly kind: "paste"; readonly text: string };

export interface TerminalHandlers {
  readonly input: (event: InputEvent) => void;
  readonly resize: () => void;
  /** The input has ended: the terminal is gone. */
  readonly ended: () => void;
}

/** A terminal that sends keys and shows text. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  /** Takes the keyboard; modes that were changed are put back by `stop`. */
  start(handlers: TerminalHandlers): void;
  /** Writes everything before it returns. */
  write(text: string): void;
  /** Gives the terminal back as it was; may be called twice, and from a signal handler. */
  stop(): void;
}
