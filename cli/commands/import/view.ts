import type { loadImport } from "../../../src/config/mod.ts";
import type { SourceLocation } from "../../../src/core/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { createRedactor } from "../../../src/util/redact.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";
import { displayWidth, padDisplay } from "../../../src/util/display_width.ts";
import { palette, wrapText } from "../../../src/view/mod.ts";

type Importer = Awaited<ReturnType<typeof loadImport>>;
type Preview = Awaited<ReturnType<Importer["previewImport"]>>;
type Outcome = Preview["outcomes"][number];
type Keys = Preview["keys"];

export interface ImportView {
  /** Makes a text fit for the screen. */
  readonly show: (text: string) => string;
  readonly colour: boolean;
  readonly texts: Texts["import"];
  /** Width that lines are wrapped to. */
  readonly columns: number;
}

/** Takes the keys that were found, and what looks like one, out of a text. */
export function withoutSecrets(keys: Keys): (text: string) => string {
  const redact = createRedactor(keys.map(({ value }) => value));
  return (text) => {
    // What only names a variable is no secret, also behind `Bearer`.
    const names = text.match(VARIABLE) ?? [];
    let at = 0;
    return redact(text.replace(VARIABLE, HOLE)).replaceAll(HOLE, () => names[at++] ?? HOLE);
  };
}

const VARIABLE = /(?:\b(?:Bearer|Basic|Token)\s+)?\$\{\w+(?::-[^}]*)?\}|\uE000/g;
/** Too short to be taken for a key. */
const HOLE = "\uE000";

/** Texts for the screen: no keys, no controls, and `~` for the user's directory. */
export function safeShow(hide: (text: string) => string, userHome: string | undefined): ImportView["show"] {
  return (text) => {
    const safe = terminalSafe(hide(text));
    return userHome && userHome !== "/" ? safe.replaceAll(`${userHome}/`, "~/") : safe;
  };
}

const LABELS: Readonly<Record<string, string>> = {
  claude: "Claude Code",
  codex: "codex",
  opencode: "opencode",
  reasonix: "Reasonix",
};

/** Lists the files that are read. */
export function foundText(
  sources: readonly { readonly agent: string; readonly path: string; readonly scope: string }[],
  { show, texts }: ImportView,
): string {
  const lines = sources.map(({ agent, path, scope }) =>
    `  ${padDisplay(LABELS[agent] ?? agent, 12, "right")} ${show(path)}${
      scope === "project" ? `  (${texts.ofThisProject})` : ""
    }\n`
  );
  return `${texts.found}\n${lines.join("")}`;
}

/** What becomes of one setting: a line behind a mark, and a remark below it. */
interface Row {
  readonly place: SourceLocation;
  readonly mark: "+" | "=" | "!" | "·";
  readonly text: string;
  readonly remark?: string;
}

/** Every setting with what becomes of it, by file; what is not taken over; and the diffs. */
export function previewText(preview: Preview, patches: readonly string[], view: ImportView): string {
  const { bold } = palette(view.colour);
  const rows = [
    ...preview.outcomes.map((outcome) => outcomeRow(outcome, view.texts)),
    ...preview.left.map(({ origin, why }): Row => ({
      place: origin.place,
      mark: "·",
      text: origin.text,
      remark: view.texts.notTakenOver(why),
    })),
  ].toSorted((a, b) => inFile(a.place, b.place));
  const files = [...new Set(rows.map(({ place }) => place.file))];
  const sections = files.map((file) => {
    const own = rows.filter(({ place }) => place.file === file);
    const width = Math.max(...own.map(({ place }) => position(place).length));
    return `\n${bold(view.show(file))}\n${own.map((row) => rowText(row, width, view)).join("")}`;
  });
  const notices = preview.notices.map((notice) =>
    `\n${wrapText(view.show(view.texts.remark(notice)), view.columns, displayWidth).join("\n")}\n`
  );
  return sections.join("") + notices.join("") +
    patches.map((patch) => `\n${diffText(patch, view)}`).join("") + "\n";
}

function outcomeRow({ origin, change, note, state }: Outcome, texts: Texts["import"]): Row {
  const target = targetText(change);
  const text = `${origin.text} → ${target === origin.text ? texts.same : target}`;
  const { place } = origin;
  if (state === "present") return { place, mark: "=", text: `${text}, ${texts.remark(note ?? "")}` };
  const said = note === undefined ? {} : { remark: texts.remark(note) };
  return state === "new"
    ? { place, mark: "+", text, ...said }
    : { place, mark: "!", text: `${text}, ${texts.notWritten}`, ...said };
}

function rowText(
  { place, mark, text, remark }: Row,
  width: number,
  { show, colour, columns }: ImportView,
): string {
  const { good, dim, warning } = palette(colour);
  const tone = mark === "+" ? good : mark === "!" ? warning : dim;
  const room = Math.max(columns - width - 6, 20);
  const lines = (content: string) => wrapText(show(content), room, displayWidth);
  const indent = " ".repeat(width + 6);
  const [first = "", ...more] = lines(text).map((line) => mark === "=" ? dim(line) : line);
  const below = remark === undefined ? [] : lines(remark).map(dim);
  const head = `  ${position(place).padStart(width)}  ${tone(mark)} ${first}`;
  return [head, ...more.map((line) => indent + line), ...below.map((line) => indent + line)]
    .map((line) => `${line}\n`).join("");
}

function targetText(change: Outcome["change"]): string {
  if (change.kind === "entry") return `[[${change.list}]] ${change.entry.name}`;
  if (change.kind === "file") return change.path;
  if (change.kind === "item" && typeof change.item !== "string") {
    return `[[${change.key}]] ${[change.item.event, change.item.matcher].filter(Boolean).join(" ")}`;
  }
  const value = change.kind === "set" ? change.value : change.item;
  return `${change.key} ${JSON.stringify(value)}`;
}

function diffText(patch: string, { show, colour }: ImportView): string {
  const { added, removed, dim, bold } = palette(colour);
  return show(patch).split("\n").map((line) => {
    if (/^(?:---|\+\+\+) /.test(line)) return bold(line);
    if (line.startsWith("@@")) return dim(line);
    return line.startsWith("+") ? added(line) : line.startsWith("-") ? removed(line) : line;
  }).join("\n");
}

function position({ line, column }: SourceLocation): string {
  return line === undefined ? "" : `${line}:${column ?? 1}`;
}

function inFile(a: SourceLocation, b: SourceLocation): number {
  if (a.file !== b.file) return 0;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** Says which keys were found where, and what to do about them. */
export function keysText(
  keys: Keys,
  { envFile, view }: { readonly envFile: string; readonly view: ImportView },
): string {
  if (keys.length === 0) return "";
  const { show, texts } = view;
  const lines = keys.map(({ name, known, origin }) => {
    const place = show(`${origin.place.file}${position(origin.place) && `:${position(origin.place)}`}`);
    const advice = known === "saved"
      ? texts.keySaved
      : known === "environment"
      ? texts.keyInEnvironment
      : origin.scope === "project"
      ? texts.keyOfProject
      : show(texts.keyToSave(envFile, name));
    return `  ${name}  ${place}  ${advice}\n`;
  });
  return `${texts.keys}\n${lines.join("")}`;
}
