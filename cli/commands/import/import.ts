import { createTwoFilesPatch } from "diff";
import { type ConfigProblem, loadImport, saveKey } from "../../../src/config/mod.ts";
import { EXIT, formatLocation, ReasonixError } from "../../../src/core/mod.ts";
import { loadTexts, type Texts } from "../../../src/i18n/mod.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";
import { mapTexts } from "../../../src/util/json.ts";
import { displayOf } from "../../terminal/display.ts";
import type { CliContext } from "../../terminal/process.ts";
import { languageOf } from "../../terminal/language.ts";
import { outputWidth } from "../../terminal/table.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { chooseFiles } from "./sources.ts";
import { foundText, keysText, previewText, safeShow, withoutSecrets } from "./view.ts";

type Importer = Awaited<ReturnType<typeof loadImport>>;
type Preview = Awaited<ReturnType<Importer["previewImport"]>>;

interface ImportFlags {
  readonly from?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly keys?: boolean;
  readonly json?: boolean;
}

/** The same as {@linkcode importSettings} for MCP servers alone. */
export async function importServers(this: CliContext, flags: ImportFlags, agent?: string): Promise<void> {
  await importFrom(this, { ...flags, only: "servers" }, agent);
}

/** Shows what the settings of other agents would become here, and writes it on confirmation. */
export async function importSettings(this: CliContext, flags: ImportFlags, agent?: string): Promise<void> {
  await importFrom(this, flags, agent);
}

async function importFrom(
  context: CliContext,
  flags: ImportFlags & { readonly only?: "servers" },
  agent: string | undefined,
): Promise<void> {
  const { stdout, stderr } = context.process;
  const importer = await loadImport();
  const paths = runPaths(context);
  // Programs read the JSON form: it is English, whatever the user speaks.
  const texts = await loadTexts("import", flags.json ? "en" : languageOf(context).locale);
  const terminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  const asks = terminal && !flags.json && !flags.yes && !flags.dryRun;
  const sources = await chooseFiles(importer, paths, { agent, from: flags.from, ask: asks, texts });
  const preview = await importer.previewImport(sources, paths, flags.only);
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

function problemText({ place, message, remedy }: ConfigProblem, { error, remark }: Texts["import"]): string {
  const where = place ? `${formatLocation(place)}: ` : "";
  return `${error}: ${where}${remark(message)}\n       ${remark(remedy)}`;
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
      ...(note === undefined ? {} : { note }),
    })),
    left: left.map(({ origin, why }) => ({ from: origin.text, place: origin.place, why })),
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
