import type { RunPaths } from "../../run/mod.ts";
import type { CommandHost } from "../../command/mod.ts";
import type { Event } from "../../core/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import type { Composer } from "./composer/composer.ts";
import type { Texts } from "../../i18n/mod.ts";
import type { Looks } from "./looks.ts";
import type { Dialogs } from "./overlay/dialogs.ts";
import type { View } from "./screen/view.ts";
import type { LiveSession } from "../session/live_session.ts";
import type { InputEvent, Terminal } from "./terminal/terminal.ts";
import type { ConversationRecord } from "./transcript/record.ts";
import type { Transcript } from "./transcript/transcript.ts";

/** A way to draw the chat, with the keys that only it has. */
export interface Layout extends View {
  /** Cells of a line of the conversation. */
  readonly columns: number;
  /** Prints completed lines of the conversation. */
  print(lines: readonly string[]): void;
  /** Handles a key before overlays and composer; false for all others. */
  key(event: InputEvent): boolean;
  event?(event: Event): void;
  opened?(): void;
}

/** The parts of a chat that its layout draws and uses. */
export interface LayoutDeps {
  readonly looks: Looks;
  readonly texts: ChatTexts;
  readonly full: () => Texts["full"];
  readonly terminal: Terminal;
  readonly paths: RunPaths;
  readonly composer: Composer;
  readonly dialogs: Dialogs;
  /** The status, or a hint in its place. */
  readonly status: (columns: number) => string;
  readonly commands: CommandHost;
  readonly live: LiveSession;
  /** The running conversation. */
  readonly transcript: Transcript;
  readonly record: ConversationRecord;
  /** Lines about waiting messages. */
  readonly waiting: () => readonly string[];
  /** Clicks are reported. */
  readonly mouse: () => boolean;
  /** Draws soon. */
  readonly changed: () => void;
  /** Writes every row again. */
  readonly redraw: () => void;
  /** Changes to the next approval mode. */
  readonly nextMode: () => void;
  /** Sends a message or a command line. */
  readonly submit: (text: string) => void;
  readonly failed: (error: unknown) => void;
}
