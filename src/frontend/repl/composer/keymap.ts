import type { Motion, TextBuffer } from "./buffer.ts";

interface Edit {
  /** Names as in `parseKey`; the help shows the first ones. */
  readonly keys: readonly string[];
  readonly apply: (buffer: TextBuffer) => void;
}

const edit = (apply: Edit["apply"], ...keys: readonly string[]): Edit => ({ keys, apply });
const move = (motion: Motion, ...keys: readonly string[]) => edit((buffer) => buffer.move(motion), ...keys);
const kill = (motion: Motion, ...keys: readonly string[]) => edit((buffer) => buffer.kill(motion), ...keys);

/** Actions on the text buffer only. */
export const EDITS = {
  newline: edit((buffer) => buffer.type("\n"), "shift+enter", "alt+enter", "ctrl+j"),
  left: move("left", "left", "ctrl+b"),
  right: move("right", "right", "ctrl+f"),
  wordLeft: move("wordLeft", "ctrl+left", "alt+left", "alt+b"),
  wordRight: move("wordRight", "ctrl+right", "alt+right", "alt+f"),
  lineStart: move("lineStart", "home", "ctrl+a"),
  lineEnd: move("lineEnd", "end", "ctrl+e"),
  start: move("start", "ctrl+home", "alt+<"),
  end: move("end", "ctrl+end", "alt+>"),
  eraseLeft: edit((buffer) => buffer.erase("left"), "backspace", "ctrl+h", "shift+backspace"),
  eraseRight: edit((buffer) => buffer.erase("right"), "delete", "ctrl+d"),
  killWordRight: kill("wordRight", "alt+d", "ctrl+delete", "alt+delete"),
  killWordLeft: kill("wordLeft", "ctrl+w", "alt+backspace", "ctrl+backspace"),
  killToLineStart: kill("lineStart", "ctrl+u"),
  killToLineEnd: kill("lineEnd", "ctrl+k"),
  yank: edit((buffer) => buffer.yank(), "ctrl+y"),
  undo: edit((buffer) => buffer.undo(), "ctrl+-", "ctrl+x ctrl+u", "super+z"),
  redo: edit((buffer) => buffer.redo(), "alt+z", "shift+ctrl+z", "shift+super+z"),
};

/** Keys of the other actions. */
const KEYS = {
  send: ["enter"],
  steer: ["ctrl+enter"],
  up: ["up", "ctrl+p"],
  down: ["down", "ctrl+n"],
  search: ["ctrl+r"],
  editor: ["ctrl+g", "ctrl+x ctrl+e"],
  pasteImage: ["ctrl+v"],
  complete: ["tab"],
  discard: ["escape escape"],
};

export type Action = keyof typeof EDITS | keyof typeof KEYS;

const ACTIONS = new Map(
  [
    ...Object.entries(KEYS),
    ...Object.entries(EDITS).map(([action, { keys }]) => [action, keys] as const),
  ].flatMap(([action, keys]) => keys.map((key) => [key, action as Action] as const)),
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
  newline: [...EDITS.newline.keys, "\\ enter"],
  steer: KEYS.steer,
  complete: KEYS.complete,
  history: ["up", "down"],
  search: KEYS.search,
  words: [...EDITS.wordLeft.keys.slice(0, 1), ...EDITS.wordRight.keys.slice(0, 1)],
  line: ["ctrl+a", "ctrl+e"],
  kill: [...EDITS.killToLineStart.keys, ...EDITS.killToLineEnd.keys, "ctrl+w"],
  yank: EDITS.yank.keys,
  undo: EDITS.undo.keys.slice(0, 1),
  redo: EDITS.redo.keys.slice(0, 1),
  editor: KEYS.editor,
  pasteImage: KEYS.pasteImage,
  stop: ["escape"],
  mode: ["shift+tab"],
  expand: ["ctrl+o"],
  clearScreen: ["ctrl+l"],
  suspend: ["ctrl+z"],
  clear: [...KEYS.discard, "ctrl+c"],
  leave: ["ctrl+d", "ctrl+c ctrl+c"],
};

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

/** The help, for a view that uses some of the keys itself without their rows. */
export function keyHelp(
  { keys, keyNames }: HelpTexts,
  without: readonly (keyof typeof HELP)[] = [],
): KeyHelp[] {
  const shown = Object.entries(HELP).filter(([name]) => !without.includes(name as keyof typeof HELP));
  return keyRows(Object.fromEntries(shown) as Partial<typeof HELP>, keys, keyNames);
}

/** Rows of the help about keys, which are named as in `parseKey`. */
export function keyRows<K extends string>(
  keys: Readonly<Partial<Record<K, readonly string[]>>>,
  descriptions: Readonly<Record<K, string>>,
  keyNames: HelpTexts["keyNames"],
): KeyHelp[] {
  const names: Readonly<Record<string, string>> = keyNames;
  const nameOf = (key: string) =>
    key.length === 1
      ? key
      : key.replace(/[a-zA-Z]+/g, (word) => names[word] ?? word.charAt(0).toUpperCase() + word.slice(1));
  return (Object.keys(keys) as K[])
    .map((name) => ({ keys: (keys[name] ?? []).map(nameOf), what: descriptions[name] }));
}
