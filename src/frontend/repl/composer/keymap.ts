import type { TextBuffer } from "./buffer.ts";

export type Action =
  | "send"
  | "steer"
  | "newline"
  | "left"
  | "right"
  | "up"
  | "down"
  | "wordLeft"
  | "wordRight"
  | "lineStart"
  | "lineEnd"
  | "start"
  | "end"
  | "eraseLeft"
  | "eraseRight"
  | "killWordRight"
  | "killWordLeft"
  | "killToLineStart"
  | "killToLineEnd"
  | "yank"
  | "undo"
  | "redo"
  | "search"
  | "editor"
  | "pasteImage"
  | "complete"
  | "discard";

type OtherAction =
  | "send"
  | "steer"
  | "up"
  | "down"
  | "search"
  | "editor"
  | "pasteImage"
  | "complete"
  | "discard";

/** Keys of each action by name (`parseKey`); the help shows the first ones. */
const KEYS: Readonly<Record<Action, readonly string[]>> = {
  send: ["enter"],
  steer: ["ctrl+enter"],
  newline: ["shift+enter", "alt+enter", "ctrl+j"],
  left: ["left", "ctrl+b"],
  right: ["right", "ctrl+f"],
  up: ["up", "ctrl+p"],
  down: ["down", "ctrl+n"],
  wordLeft: ["ctrl+left", "alt+left", "alt+b"],
  wordRight: ["ctrl+right", "alt+right", "alt+f"],
  lineStart: ["home", "ctrl+a"],
  lineEnd: ["end", "ctrl+e"],
  start: ["ctrl+home", "alt+<"],
  end: ["ctrl+end", "alt+>"],
  eraseLeft: ["backspace", "ctrl+h", "shift+backspace"],
  eraseRight: ["delete", "ctrl+d"],
  killWordRight: ["alt+d", "ctrl+delete", "alt+delete"],
  killWordLeft: ["ctrl+w", "alt+backspace", "ctrl+backspace"],
  killToLineStart: ["ctrl+u"],
  killToLineEnd: ["ctrl+k"],
  yank: ["ctrl+y"],
  undo: ["ctrl+-", "ctrl+x ctrl+u", "super+z"],
  redo: ["alt+z", "shift+ctrl+z", "shift+super+z"],
  search: ["ctrl+r"],
  editor: ["ctrl+g", "ctrl+x ctrl+e"],
  pasteImage: ["ctrl+v"],
  complete: ["tab"],
  discard: ["escape escape"],
};

/** Actions on the text buffer only. */
export const EDITS: Readonly<Record<Exclude<Action, OtherAction>, (buffer: TextBuffer) => void>> = {
  newline: (buffer) => buffer.type("\n"),
  left: (buffer) => buffer.move("left"),
  right: (buffer) => buffer.move("right"),
  wordLeft: (buffer) => buffer.move("wordLeft"),
  wordRight: (buffer) => buffer.move("wordRight"),
  lineStart: (buffer) => buffer.move("lineStart"),
  lineEnd: (buffer) => buffer.move("lineEnd"),
  start: (buffer) => buffer.move("start"),
  end: (buffer) => buffer.move("end"),
  eraseLeft: (buffer) => buffer.erase("left"),
  eraseRight: (buffer) => buffer.erase("right"),
  killWordLeft: (buffer) => buffer.kill("wordLeft"),
  killWordRight: (buffer) => buffer.kill("wordRight"),
  killToLineStart: (buffer) => buffer.kill("lineStart"),
  killToLineEnd: (buffer) => buffer.kill("lineEnd"),
  yank: (buffer) => buffer.yank(),
  undo: (buffer) => buffer.undo(),
  redo: (buffer) => buffer.redo(),
};

const ACTIONS = new Map(
  Object.entries(KEYS).flatMap(([action, keys]) => keys.map((key) => [key, action as Action] as const)),
);
/** First keys of two-key sequences. */
const PREFIXES = new Set([...ACTIONS.keys()].flatMap((key) => key.includes(" ") ? key.split(" ", 1) : []));

/** The action of a key; `prefix` is the first key of a two-key sequence. */
export function actionOf(key: string, prefix: string | undefined): Action | "prefix" | undefined {
  const second = prefix === undefined ? undefined : ACTIONS.get(`${prefix} ${key}`);
  if (second) return second;
  return PREFIXES.has(key) ? "prefix" : ACTIONS.get(key);
}

/** Keys in the help, in order; some are keys of the chat. */
const HELP = {
  send: KEYS.send,
  newline: [...KEYS.newline, "\\ enter"],
  steer: KEYS.steer,
  complete: KEYS.complete,
  history: ["up", "down"],
  search: KEYS.search,
  words: [...KEYS.wordLeft.slice(0, 1), ...KEYS.wordRight.slice(0, 1)],
  line: ["ctrl+a", "ctrl+e"],
  kill: [...KEYS.killToLineStart, ...KEYS.killToLineEnd, "ctrl+w"],
  yank: KEYS.yank,
  undo: KEYS.undo.slice(0, 1),
  redo: KEYS.redo.slice(0, 1),
  editor: KEYS.editor,
  pasteImage: KEYS.pasteImage,
  stop: ["escape"],
  mode: ["shift+tab"],
  expand: ["ctrl+o"],
  clearScreen: ["ctrl+l"],
  suspend: ["ctrl+z"],
  clear: [...KEYS.discard, "ctrl+c"],
  leave: ["ctrl+d", "ctrl+c ctrl+c"],
} as const;

/** A row of the help: keys, the usual ones first, and their effect. */
export interface KeyHelp {
  readonly keys: readonly string[];
  readonly what: string;
}

interface HelpTexts {
  readonly keys: Readonly<Record<keyof typeof HELP, string>>;
  /** Names of keys that differ from those used here. */
  readonly keyNames: Readonly<Record<"enter" | "escape" | "up" | "down" | "left" | "right", string>>;
}

export function keyHelp({ keys: descriptions, keyNames }: HelpTexts): KeyHelp[] {
  const names: Readonly<Record<string, string>> = keyNames;
  const nameOf = (key: string) =>
    key.replace(/[a-z]+/g, (word) => names[word] ?? word.charAt(0).toUpperCase() + word.slice(1));
  return Object.entries(HELP).map(([name, keys]) => ({
    keys: keys.map(nameOf),
    what: descriptions[name as keyof typeof HELP],
  }));
}
