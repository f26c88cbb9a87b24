import type { ImportFlags } from "./import_flags.ts";
import { displayOf, outputWidth } from "./terminal/display.ts";
import { languageOf } from "./terminal/language.ts";
import { type CliContext, runPaths } from "./terminal/process.ts";
import { createTwoFilesPatch } from "diff";
import type { RunPaths } from "../src/run/mod.ts";
import { type ConfigProblem, loadImport, saveKey, userConfigFile } from "../src/config/mod.ts";
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
import { displayWidth, padDisplay } from "../src/util/display_width.ts";
import { mapTexts } from "../src/util/json.ts";
import { createRedactor } from "../src/util/redact.ts";
import { terminalSafe } from "../src/util/terminal_text.ts";
import { palette, wrapText } from "../src/view/mod.ts";

type Importer = Awaited<ReturnType<typeof loadImport>>;
type Preview = Awaited<ReturnType<Importer["previewImport"]>>;

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
  const sources = await chooseFiles(importer, paths, { agent, from: flags.from, ask: asks, texts });
  const preview = await importer.previewImport(sources, paths, only);
  const hide = withoutSecrets(preview.keys);
  for (const problem of preview.problems) stderr.write(`${hide(problemText(problem, texts))}\n`);
  if (preview.problems.length > 0) context.process.exitCode = EXIT.config;
  const patches = preview.files.map((file) => patchOf(file, texts));
  const view = {
    show: safeShow(hide, paths.env("HOME")),
    texts,
    colour: displayOf(context).outColor,
    columns: outputWidth() ?? Infinity,
  };
  if (!flags.json) stdout.exact(foundText(sources, view) + previewText(preview, patches, view));
  const wanted = preview.files.length > 0 && !flags.dryRun;
  const agreed = wanted && (flags.yes === true || (asks && confirm(texts.writeThis)));
  if (agreed) {
    for (const { path, after, shared } of preview.files) {
      await importer.writeConfig(path, after, { shared });
    }
  }
  const envFile = `${paths.home}/.env`;
  if (!flags.json) stdout.write(keysText(preview.keys, { envFile, view }));
  const saved = await saveKeys(
    preview,
    envFile,
    (count) =>
      !flags.dryRun &&
      (flags.keys === true || (asks && confirm(terminalSafe(texts.saveKeys(count, envFile))))),
  );
  if (flags.json) {
    stdout.json(mapTexts(report({ preview, sources, patches, agreed, saved }), hide));
  } else {
    stdout.write(closing(preview, { agreed, saved, dryRun: flags.dryRun === true, cwd: paths.cwd }, texts));
  }
  if (wanted && !agreed && !asks && !flags.json) throw noPromptAvailable(texts);
}

function problemText(
  { place, message, remedy, texts }: ConfigProblem,
  { error, remark }: Texts["import"],
): string {
  const where = place ? `${formatLocation(place)}: ` : "";
  return `${error}: ${where}${remark(texts?.message ?? message)}\n       ${remark(texts?.remedy ?? remedy)}`;
}

function patchOf({ path, before, after }: Preview["files"][number], texts: Texts["import"]): string {
  return createTwoFilesPatch(
    path,
    path,
    before,
    after,
    before === "" ? texts.noneYet : texts.now,
    texts.afterImport,
  )
    .replace(/^Index: .*\n=+\n/, "");
}

/** Keys that the user does not have yet go into the key file when `agree` says so; returns their names. */
async function saveKeys(
  { keys }: Preview,
  file: string,
  agree: (count: number) => boolean,
): Promise<readonly string[]> {
  const waiting = keys.filter(({ known, origin }) => known === undefined && origin.scope === "user");
  if (waiting.length === 0 || !agree(waiting.length)) {
    return [];
  }
  for (const { name, value } of waiting) await saveKey(file, name, value);
  return waiting.map(({ name }) => name);
}

function noPromptAvailable(texts: Texts["import"]): ReasonixError {
  return new ReasonixError(texts.noPromptAvailable, { exit: "blocked", remedy: texts.nobodyToAskRemedy });
}

interface Result {
  readonly agreed: boolean;
  readonly saved: readonly string[];
}

function closing(
  { files, outcomes }: Preview,
  { agreed, saved, dryRun, cwd }: Result & { readonly dryRun: boolean; readonly cwd: string },
  texts: Texts["import"],
): string {
  const keys = saved.length > 0 ? [texts.saved(saved.join(", "))] : [];
  const lines = files.length === 0
    ? [outcomes.some(({ state }) => state === "present") ? texts.allThere : texts.nothingToWrite]
    : !agreed
    ? (dryRun ? [] : [texts.noneWritten])
    : [
      ...files.map(({ path }) => texts.wrote(path)),
      ...(files.some(({ path }) => path.startsWith(`${cwd}/`)) ? [texts.waitsForTrust] : []),
      texts.checkIt,
    ];
  return [...keys, ...lines].map((line) => `${line}\n`).join("");
}

function report({ preview, sources, patches, agreed, saved }: Result & {
  readonly preview: Preview;
  readonly sources: Awaited<ReturnType<typeof chooseFiles>>;
  readonly patches: readonly string[];
}): unknown {
  const { outcomes, left, keys, notices, problems, files } = preview;
  return {
    found: sources.map(({ agent, path, scope }) => ({ agent, path, scope })),
    changes: outcomes.map(({ origin, change, note, file, state }) => ({
      from: origin.text,
      place: origin.place,
      to: change,
      file,
      state,
      ...(note === undefined ? {} : { note: textOf(note) }),
    })),
    left: left.map(({ origin, why }) => ({ from: origin.text, place: origin.place, why: textOf(why) })),
    keys: keys.map(({ name, known, origin: { text, place } }) => ({
      name,
      from: text,
      place,
      state: saved.includes(name) ? "saved" : known ?? "missing",
    })),
    notices,
    problems,
    files: files.map(({ path }, index) => ({ path, diff: patches[index] })),
    written: agreed,
  };
}

type FoundFile = ReturnType<Importer["findFiles"]>[number];
type AgentName = FoundFile["agent"];

interface Wanted {
  readonly agent: string | undefined;
  /** A file, or a directory with files under their usual names. */
  readonly from: string | undefined;
  /** Lets the user choose between several agents. */
  readonly ask: boolean;
  readonly texts: Texts["import"];
}

/** Finds the files to import from. Throws ReasonixError (usage) when there is none. */
async function chooseFiles(importer: Importer, paths: RunPaths, wanted: Wanted): Promise<FoundFile[]> {
  const { AGENTS, findFiles, filesFrom } = importer;
  const agent = AGENTS.find(({ name }) => name === wanted.agent)?.name;
  if (wanted.agent !== undefined && agent === undefined) {
    throw usageError(
      wanted.texts.noSuchAgent(JSON.stringify(wanted.agent)),
      wanted.texts.agents(AGENTS.map(({ name }) => name).join(", ")),
    );
  }
  if (wanted.from !== undefined) return filesFrom(wanted.from, agent, paths);
  const names = agent === undefined ? AGENTS.map(({ name }) => name) : [agent];
  const found = names.flatMap((name) => findFiles(name, paths));
  if (found.length === 0) throw nothingFound(importer, { names, paths, texts: wanted.texts });
  if (!wanted.ask || new Set(found.map((file) => file.agent)).size < 2) return found;
  const chosen = await pickAgents(importer, found, wanted.texts);
  return found.filter((file) => chosen.includes(file.agent));
}

function nothingFound(
  importer: Importer,
  { names, paths, texts }: {
    readonly names: readonly AgentName[];
    readonly paths: RunPaths;
    readonly texts: Texts["import"];
  },
): ReasonixError {
  const own = userConfigFile(paths);
  if (names.length === 1 && names[0] === "reasonix" && exists(own)) {
    return usageError(texts.ownFile(own), texts.ownFileRemedy);
  }
  const places = names.flatMap((name) => importer.usualFiles(name, paths)).map(({ path }) =>
    `         ${path}`
  );
  return usageError(texts.noneFound, texts.noneFoundRemedy(places.join("\n")));
}

async function pickAgents(
  { AGENTS }: Importer,
  found: readonly FoundFile[],
  texts: Texts["import"],
): Promise<readonly AgentName[]> {
  const { isCancel, multiselect } = await import("@clack/prompts");
  const agents = [...new Set(found.map((file) => file.agent))];
  const options = agents.map((name) => ({
    value: name,
    label: AGENTS.find((agent) => agent.name === name)?.label ?? name,
    hint: found.filter(({ agent }) => agent === name).map(({ path }) => path).join(", "),
  }));
  const chosen = await multiselect({ message: texts.from, options, initialValues: agents });
  if (isCancel(chosen) || typeof chosen === "symbol") {
    throw usageError(texts.nothingChosen);
  }
  return chosen;
}

type Outcome = Preview["outcomes"][number];
type Keys = Preview["keys"];

interface ImportView {
  readonly show: (text: string) => string;
  readonly colour: boolean;
  readonly texts: Texts["import"];
  readonly columns: number;
}

/** Takes the keys that were found, and what looks like one, out of a text. */
function withoutSecrets(keys: Keys): (text: string) => string {
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
function safeShow(hide: (text: string) => string, userHome: string | undefined): ImportView["show"] {
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

function foundText(
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

/** The outcome of one setting: a line after a mark, and a note below it. */
interface Row {
  readonly place: SourceLocation;
  readonly mark: "+" | "=" | "!" | "·";
  readonly text: string;
  readonly remark?: string;
}

function previewText(preview: Preview, patches: readonly string[], view: ImportView): string {
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
  const below = note === undefined ? {} : { remark: texts.remark(note) };
  return state === "new"
    ? { place, mark: "+", text, ...below }
    : { place, mark: "!", text: `${text}, ${texts.notWritten}`, ...below };
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

function keysText(
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
