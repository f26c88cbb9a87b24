import type { ChatTexts } from "../chat_texts.ts";
import { type KeyHelp, keyHelp, keyRows } from "../composer/keymap.ts";
import { hangingRows } from "../screen/line.ts";
import { Panel, type PanelStyle } from "./panel.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { displayWidth, padDisplay } from "../../../util/display_width.ts";

/** Keys of the full-screen view in the order of the help, named as in `parseKey`. */
const KEYS = {
  panels: ["tab", "shift+tab"],
  back: ["escape"],
  palette: ["ctrl+p"],
  search: ["ctrl+f"],
  matches: ["n", "N"],
  move: ["up", "down"],
  page: ["pageUp", "pageDown"],
  ends: ["home", "end"],
  open: ["enter"],
  copy: ["y"],
  content: ["c"],
  level: ["l"],
  source: ["s"],
  side: ["ctrl+b"],
  mode: ["alt+m", "shift+tab"],
  redraw: ["ctrl+l"],
  help: ["?"],
  answers: ["y", "n", "a"],
};

/** The help of the full-screen view: its keys, and those of the composer and chat that stay as they are. */
export function fullKeyHelp({ keys }: Texts["full"], composer: ChatTexts["composer"]): readonly KeyHelp[] {
  return [
    ...keyRows(KEYS, keys, composer.keyNames),
    ...keyHelp(composer, ["stop", "mode", "clearScreen"]),
  ];
}

/** The same in a panel. */
export function keysPanel(
  full: Texts["full"],
  composer: ChatTexts["composer"],
  style: PanelStyle,
): Panel<never> {
  const rows = fullKeyHelp(full, composer).map(({ keys, what }) => ({
    keys: (keys.every((key) => key.length === 1) ? keys : keys.slice(0, 2)).join(" · "),
    what,
  }));
  const width = Math.max(...rows.map(({ keys }) => displayWidth(keys)));
  const body = (columns: number) =>
    rows.flatMap(({ keys, what }) => hangingRows(`  ${padDisplay(keys, width)}  ${what}`, columns));
  return new Panel<never>({ title: full.keysTitle, body }, style);
}
