import type { ImportFlags } from "./import_flags.ts";
import { displayOf, outputWidth } from "./terminal/display.ts";
import { languageOf } from "./terminal/language.ts";
import { type CliContext, runPaths } from "./terminal/process.ts";
import { createTwoFilesPatch } from "diff";
import { loadImport, saveKey, userConfigFile } from "../src/config/mod.ts";
import {
  EXIT,
  formatLocation,
  ReasonixError,
  type SourceLocation,
  textOf,
  usageError,
} from "../src/core/mod.ts";
import { loadTexts, type Texts } from "../src/i18n/mod.ts";
import { exists } from "../src/path/probe.ts";
import type { RunPaths } from "../src/run/mod.ts";
import { displayWidth, padDisplay } from "../src/util/display_width.ts";
import { mapTexts } from "../src/util/json.ts";
import { createRedactor } from "../src/util/redact.ts";
import { terminalSafe } from "../src/util/terminal_text.ts";
import { palette, wrapText } from "../src/view/mod.ts";

type Importer = Awaited<ReturnType<typeof loadImport>>;
type Preview = Awaited<ReturnType<Importer["previewImport"]>>;
type FoundFile = ReturnType<Importer["findFiles"]>[number];
type ImportTexts = Texts["import"];

/** Shows what the settings of other agents would become here, and writes it on confirmation. */
export async function importFrom(
  context: CliContext,
  flags: ImportFlags,
  agent: string | undefined,
  only?: "servers",
): Promise<void> {
  const { stdout, stderr } = context.process;
  const importer = await loadImport();
  const paths = runPaths(context);
  // Programs read the JSON form: it is English, whatever the user speaks.
  const texts = await loadTexts("import", flags.json ? "en" : languageOf(context).locale);
  const terminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  const asks = terminal && !flags.json && !flags.yes && !flags.dryRun;
  const sources = await chooseFiles(importer, paths, { agent, from: flags.from, asks, texts });
  const preview = await importer.previewImport(sources, paths, only);
  const { files, keys, problems } = preview;
  const hide = withoutSecrets(keys);
  for (const { place, message, remedy, texts: said } of problems) {
    const where = place ? `${formatLocation(place)}: ` : "";
    const [what, next] = [said?.message ?? message, said?.remedy ?? remedy].map(texts.translated);
    stderr.write(`${hide(`${texts.error}: ${where}${what}\n       ${next}`)}\n`);
  }
  if (problems.length > 0) context.process.exitCode = EXIT.config;
  const patches = files.map(({ path, before, after }) => {
    const old = before === "" ? texts.noneYet : texts.now;
    return createTwoFilesPatch(path, path, before, after, old, texts.afterImport).replace(
      /^Index: .*\n=+\n/,
      "",
    );
  });
  const view = new ImportView(texts, {
    hide,
    userHome: paths.env("HOME"),
    color: displayOf(context).outColor,
  });
  if (!flags.json) stdout.exact(view.found(sources, importer) + view.preview(preview, patches));
  const isWanted = files.length > 0 && !flags.dryRun;
  const isAgreed = isWanted && (flags.yes === true || (asks && confirm(texts.writeThis)));
  for (const { path, after, shared } of isAgreed ? files : []) {
    await importer.writeConfig(path, after, { shared });
  }
  const envFile = `${paths.home}/.env`;
  if (!flags.json) stdout.write(view.keys(keys, envFile));
  // Keys that the user does not have yet.
  const waiting = keys.filter(({ known, origin }) => known === undefined && origin.scope === "user");
  const savesKeys = !flags.dryRun && waiting.length > 0 &&
    (flags.keys === true || (asks && confirm(terminalSafe(texts.saveKeys(waiting.length, envFile)))));
  for (const { name, value } of savesKeys ? waiting : []) await saveKey(envFile, name, value);
  const saved = savesKeys ? waiting.map(({ name }) => name) : [];
  if (flags.json) {
    return stdout.json(mapTexts(reportOf(preview, { sources, patches, isAgreed, saved }), hide));
  }
  const lines = saved.length > 0 ? [texts.saved(saved.join(", "))] : [];
  if (files.length === 0) {
    const isThere = preview.outcomes.some(({ state }) => state === "present");
    lines.push(isThere ? texts.allThere : texts.nothingToWrite);
  } else if (isAgreed) {
    lines.push(...files.map(({ path }) => texts.wrote(path)));
    if (files.some(({ path }) => path.startsWith(`${paths.cwd}/`))) lines.push(texts.waitsForTrust);
    lines.push(texts.checkIt);
  } else if (!flags.dryRun) lines.push(texts.noneWritten);
  stdout.write(lines.map((line) => `${line}\n`).join(""));
  if (isWanted && !isAgreed && !asks) {
    throw new ReasonixError(texts.noPromptAvailable, { exit: "blocked", remedy: texts.noPromptRemedy });
  }
}

function reportOf(
  { outcomes, left, keys, notices, problems, files }: Preview,
  { sources, patches, isAgreed, saved }: {
    readonly sources: readonly FoundFile[];
    readonly patches: readonly string[];
    readonly isAgreed: boolean;
    readonly saved: readonly string[];
  },
): unknown {
  return {
    found: sources.map(({ agent, path, scope }) => ({ agent, path, scope })),
    changes: outcomes.map(({ origin: { text: from, place }, change: to, note, file, state }) => ({
      from,
      place,
      to,
      file,
      state,
      ...(note === undefined ? {} : { note: textOf(note) }),
    })),
    left: left.map(({ origin, why }) => ({ from: origin.text, place: origin.place, why: textOf(why) })),
    keys: keys.map(({ name, known, origin: { text: from, place } }) => ({
      name,
      from,
      place,
      state: saved.includes(name) ? "saved" : known ?? "missing",
    })),
    notices,
    problems,
    files: files.map(({ path }, index) => ({ path, diff: patches[index] })),
    written: isAgreed,
  };
}

interface FileChoice {
  readonly agent: string | undefined;
  /** A file, or a directory with files under their usual names. */
  readonly from: string | undefined;
  /** Lets the user choose between several agents. */
  readonly asks: boolean;
  readonly texts: ImportTexts;
}

/** Finds the files to import from. Throws ReasonixError (usage) when there is none. */
async function chooseFiles(
  { AGENTS, findFiles, filesFrom, usualFiles }: Importer,
  paths: RunPaths,
  { agent: wanted, from, asks, texts }: FileChoice,
): Promise<FoundFile[]> {
  const all = AGENTS.map(({ name }) => name);
  const agent = all.find((name) => name === wanted);
  if (wanted !== undefined && agent === undefined) {
    throw usageError(texts.noSuchAgent(JSON.stringify(wanted)), texts.agents(all.join(", ")));
  }
  if (from !== undefined) return filesFrom(from, agent, paths);
  const names = agent === undefined ? all : [agent];
  const found = names.flatMap((name) => findFiles(name, paths));
  const agents = [...new Set(found.map((file) => file.agent))];
  if (agents.length === 0) {
    const file = userConfigFile(paths);
    if (agent === "reasonix" && exists(file)) throw usageError(texts.ownFile(file), texts.ownFileRemedy);
    const usual = names.flatMap((name) => usualFiles(name, paths)).map(({ path }) => `         ${path}`);
    throw usageError(texts.noneFound, texts.noneFoundRemedy(usual.join("\n")));
  }
  if (!asks || agents.length < 2) return found;
  const { isCancel, multiselect } = await import("@clack/prompts");
  const options = agents.map((name) => ({
    value: name,
    label: AGENTS.find((agent) => agent.name === name)?.label ?? name,
    hint: found.filter(({ agent }) => agent === name).map(({ path }) => path).join(", "),
  }));
  const chosen = await multiselect({ message: texts.from, options, initialValues: agents });
  if (isCancel(chosen) || typeof chosen === "symbol") throw usageError(texts.nothingChosen);
  return found.filter((file) => chosen.includes(file.agent));
}

const VARIABLE = /(?:\b(?:Bearer|Basic|Token)\s+)?\$\{\w+(?::-[^}]*)?\}|\uE000/g;
/** Too short to be taken for a key. */
const HOLE = "\uE000";

/** Takes the keys that were found, and what looks like one, out of a text. */
function withoutSecrets(keys: Preview["keys"]): (text: string) => string {
  const redact = createRedactor(keys.map(({ value }) => value));
  return (text) => {
    // What only names a variable is no secret, also behind `Bearer`.
    const names = text.match(VARIABLE) ?? [];
    let at = 0;
    return redact(text.replace(VARIABLE, HOLE)).replaceAll(HOLE, () => names[at++] ?? HOLE);
  };
}

/** The outcome of one setting: a line after a mark, and a note below it. */
interface Row {
  readonly place: SourceLocation;
  readonly mark: "+" | "=" | "!" | "·";
  readonly text: string;
  readonly note?: string;
}

/** The texts of an import for people: no keys, no controls, and `~` for the user's directory. */
class ImportView {
  readonly #texts: ImportTexts;
  readonly #show: (text: string) => string;
  readonly #colors: ReturnType<typeof palette>;
  readonly #columns = outputWidth() ?? Infinity;

  constructor(
    texts: ImportTexts,
    { hide, userHome, color }: {
      readonly hide: (text: string) => string;
      readonly userHome: string | undefined;
      readonly color: boolean;
    },
  ) {
    this.#texts = texts;
    this.#colors = palette(color);
    this.#show = (text) => {
      const safe = terminalSafe(hide(text));
      return userHome && userHome !== "/" ? safe.replaceAll(`${userHome}/`, "~/") : safe;
    };
  }

  found(sources: readonly FoundFile[], { AGENTS }: Importer): string {
    const lines = sources.map(({ agent, path, scope }) => {
      const { label } = AGENTS.find(({ name }) => name === agent) ?? { label: agent };
      const note = scope === "project" ? `  (${this.#texts.ofThisProject})` : "";
      return `  ${padDisplay(label, 12, "right")} ${this.#show(path)}${note}\n`;
    });
    return `${this.#texts.found}\n${lines.join("")}`;
  }

  /** The settings by file, what is not taken over, and the diffs. */
  preview({ outcomes, left, notices }: Preview, patches: readonly string[]): string {
    const rows = [
      ...outcomes.map((outcome) => this.#row(outcome)),
      ...left.map(({ origin: { place, text }, why }): Row => ({
        place,
        mark: "·",
        text,
        note: this.#texts.notTakenOver(why),
      })),
    ];
    const sections = [...Map.groupBy(rows, ({ place }) => place.file)].map(([file, own]) => {
      const width = Math.max(...own.map(({ place }) => position(place).length));
      const sorted = own.toSorted(({ place: a }, { place: b }) =>
        (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
      );
      return `\n${this.#colors.bold(this.#show(file))}\n${
        sorted.map((row) => this.#rowText(row, width)).join("")
      }`;
    });
    const notes = notices.map((notice) =>
      `\n${wrapText(this.#show(this.#texts.translated(notice)), this.#columns, displayWidth).join("\n")}\n`
    );
    return [...sections, ...notes, ...patches.map((patch) => `\n${this.#diff(patch)}`), "\n"].join("");
  }

  #row({ origin: { text: from, place }, change, note, state }: Preview["outcomes"][number]): Row {
    const { same, notWritten, translated } = this.#texts;
    const target = targetText(change);
    const text = `${from} → ${target === from ? same : target}`;
    if (state === "present") return { place, mark: "=", text: `${text}, ${translated(note ?? "")}` };
    const below = note === undefined ? {} : { note: translated(note) };
    return state === "new"
      ? { place, mark: "+", text, ...below }
      : { place, mark: "!", text: `${text}, ${notWritten}`, ...below };
  }

  #rowText({ place, mark, text, note }: Row, width: number): string {
    const { good, dim, warning } = this.#colors;
    const tone = mark === "+" ? good : mark === "!" ? warning : dim;
    const wrapped = (content: string) =>
      wrapText(this.#show(content), Math.max(this.#columns - width - 6, 20), displayWidth);
    const [first = "", ...more] = wrapped(text).map((line) => mark === "=" ? dim(line) : line);
    const below = [...more, ...(note === undefined ? [] : wrapped(note).map(dim))];
    const head = `  ${position(place).padStart(width)}  ${tone(mark)} ${first}`;
    return [head, ...below.map((line) => " ".repeat(width + 6) + line)].map((line) => `${line}\n`).join("");
  }

  #diff(patch: string): string {
    const { added, removed, dim, bold } = this.#colors;
    return this.#show(patch).split("\n").map((line) => {
      if (/^(?:---|\+\+\+) /.test(line)) return bold(line);
      if (line.startsWith("@@")) return dim(line);
      return line.startsWith("+") ? added(line) : line.startsWith("-") ? removed(line) : line;
    }).join("\n");
  }

  keys(keys: Preview["keys"], envFile: string): string {
    if (keys.length === 0) return "";
    const texts = this.#texts;
    const lines = keys.map(({ name, known, origin: { place, scope } }) => {
      const at = position(place);
      const advice = known === "saved"
        ? texts.keySaved
        : known === "environment"
        ? texts.keyInEnvironment
        : scope === "project"
        ? texts.keyOfProject
        : this.#show(texts.keyToSave(envFile, name));
      return `  ${name}  ${this.#show(`${place.file}${at && `:${at}`}`)}  ${advice}\n`;
    });
    return `${texts.keys}\n${lines.join("")}`;
  }
}

function targetText(change: Preview["outcomes"][number]["change"]): string {
  if (change.kind === "entry") return `[[${change.list}]] ${change.entry.name}`;
  if (change.kind === "file") return change.path;
  if (change.kind === "item" && typeof change.item !== "string") {
    return `[[${change.key}]] ${[change.item.event, change.item.matcher].filter(Boolean).join(" ")}`;
  }
  return `${change.key} ${JSON.stringify(change.kind === "set" ? change.value : change.item)}`;
}

function position({ line, column }: SourceLocation): string {
  return line === undefined ? "" : `${line}:${column ?? 1}`;
}
