/** Reports of models, figures and the state of the installation. */
import {
  argument,
  choice,
  command,
  type CommandGroup,
  entry,
  flag,
  JSON_FLAG,
  option,
  setting,
} from "../command.ts";
import { installationOf } from "../release/channel.ts";
import { outputWidth } from "../terminal/display.ts";
import { languageNotice, languageOf, textsFor } from "../terminal/language.ts";
import { forReader } from "../terminal/narrow.ts";
import { openConfig } from "../terminal/open.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadModels } from "../../src/command/mod.ts";
import { ConfigError, modelsOf, type ProviderEntry, resolveModel } from "../../src/config/mod.ts";
import { errorMessage, EXIT, message, ReasonixError, usageError } from "../../src/core/mod.ts";
import { loadServerWork } from "../../src/features/mod.ts";
import { loadTexts, type Texts } from "../../src/i18n/mod.ts";
import { loadModelList, tableModels } from "../../src/provider/mod.ts";
import { loadDoctor, loadModelReports, loadStatsReports } from "../../src/reports/mod.ts";
import {
  buildWorkspace,
  chosenModel,
  contextReportOf,
  contextText,
  gatherPromptInputs,
} from "../../src/run/mod.ts";
import {
  type CacheReset,
  emptyState,
  lastSession,
  loadEvents,
  loadIndex,
  projectDir,
  type StatsOptions,
} from "../../src/session/mod.ts";
import { programFetch } from "../../src/util/network/fetch.ts";
import { grouped } from "../../src/view/mod.ts";

export const doctorCommand = command({
  flags: {
    json: JSON_FLAG,
    verbose: flag("Also list what is in order"),
    online: flag("Also try the providers over the network"),
    dir: option("Check the configuration of this directory", "dir"),
  },
  async run(flags) {
    const paths = runPaths(this, flags.dir);
    const loaded = await openConfig(this, { dir: flags.dir }).then(({ loaded }) => loaded, (error) => {
      if (error instanceof ConfigError) return error;
      throw error;
    });
    const usable = loaded instanceof ConfigError ? undefined : loaded;
    // Machines read English, whatever the user speaks.
    const locale = flags.json ? "en" : languageOf(this, usable).locale;
    const texts = await loadTexts("doctor", locale);
    const notice = usable && await languageNotice(this, usable);
    const { diagnose, reportText } = await loadDoctor();
    const report = await diagnose(paths, {
      online: flags.online ?? false,
      loaded,
      locale,
      texts,
      warnings: notice === undefined ? [] : [notice],
      installation: installationOf(),
    });
    const { stdout } = this.process;
    if (flags.json) stdout.json(report);
    else stdout.write(forReader(await reportText(report, texts, { verbose: flags.verbose === true })));
    const failure = report.config.error ? "config" : "failed";
    this.process.exitCode = EXIT[report.problems.length === 0 ? "done" : failure];
  },
});

/** Shows the parts of the next request: of a new conversation, or of the latest session. */
export const contextCommand = command({
  flags: {
    json: JSON_FLAG,
    continue: flag("Show the latest session, not a new one"),
    exact: flag("Ask the server to count the next request"),
  },
  async run({ json, continue: latest, exact = false }) {
    const { paths, loaded } = await openConfig(this);
    const last = latest ? lastSession(projectDir(paths.home, paths.cwd)) : undefined;
    const state = last ? loadEvents(last.path).state : emptyState();
    const inputs = await gatherPromptInputs({
      paths,
      loaded,
      workspace: buildWorkspace(paths, loaded.config),
      messages: () => state.messages,
      model: chosenModel(loaded),
    });
    const request = { loaded, inputs, state, exact };
    // No server is started: the last listing counts.
    const report = loaded.config.plugins.length === 0
      ? await contextReportOf(request)
      : await (await loadServerWork()).withServers(
        { paths, loaded },
        (servers) => contextReportOf({ ...request, servers }),
      );
    const { stdout } = this.process;
    if (json) stdout.json(report);
    else stdout.write(contextText(report, (await textsFor("report_commands", this)).contextReport));
  },
});

export const statsCommand = command({
  flags: {
    by: setting("Group the sums", ["day", "model", "project", "session"], "day"),
    all: flag("Include the sessions of every directory"),
    since: option("Begin with this day, YYYY-MM-DD", "day"),
    cache: flag("Show where and why the prompt cache was lost"),
    json: JSON_FLAG,
    format: choice("Print counters of every directory for a collector", ["openmetrics"]),
  },
  async run(flags) {
    if (flags.format) return await printCounters(this, flags);
    const { home, cwd } = runPaths(this);
    const since = flags.since === undefined ? {} : { since: day(flags.since) };
    const scope = flags.all || flags.by === "project" ? {} : { project: projectDir(home, cwd) };
    const { SessionIndex } = await loadIndex();
    using index = await SessionIndex.open(home);
    const rows = index.stats({ by: flags.by, ...scope, ...since });
    const resets = flags.cache
      ? index.cacheResets(scope).filter((reset) => reset.time >= (since.since ?? "") && !isStart(reset))
      : undefined;
    const { stdout } = this.process;
    if (flags.json) return stdout.json(resets === undefined ? rows : { rows, resets });
    if (rows.length === 0) return stdout.write("No requests yet\n");
    const { cacheText, statsText } = await loadStatsReports();
    stdout.write(resets ? cacheText(rows, resets, outputWidth()) : statsText(rows, flags.by));
  },
});

/** Prints the whole text at once, so that a file which it goes to is empty or complete. */
async function printCounters(
  context: CliContext,
  { by, since, cache, json }: { by: StatsOptions["by"]; since?: string; cache?: boolean; json?: boolean },
): Promise<void> {
  const unfit = [
    since !== undefined && "--since",
    cache && "--cache",
    json && "--json",
    by === "session" && "--by session",
  ].find(Boolean);
  if (unfit) {
    throw usageError(
      message`Cannot use ${unfit} together with --format openmetrics`,
      message`leave it out: counters are of all sessions; --by project adds their directories`,
    );
  }
  const { home } = runPaths(context);
  const { SessionIndex } = await loadIndex();
  using index = await SessionIndex.open(home);
  const { openMetricsText } = await loadStatsReports();
  const [rows, projects] = [index.stats({ by: "project_model" }), index.stats({ by: "project" })];
  context.process.stdout.write(openMetricsText(rows, projects, by === "project"));
}

/** A session that begins has nothing cached to lose. */
function isStart({ kind, reason }: CacheReset): boolean {
  return kind === "prefix" && reason === "start";
}

function day(text: string): string {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  if (date && !isNaN(date.getTime()) && date.toISOString().startsWith(text)) return text;
  throw usageError(message`Cannot use "${text}" for --since: give a day such as 2026-01-31`);
}

const MODEL_TABLES = "https://models.dev/api.json";
const LIMIT_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;

export const modelsCommands: CommandGroup = {
  commands: {
    list: entry("List the models that can be used, with window, efforts and prices", {
      flags: { all: flag("Every model of the tables of your vendors"), json: JSON_FLAG },
      async run(flags) {
        const { paths, loaded } = await openConfig(this);
        const { vendorsWithKey } = await loadModels();
        const { knownModel, knownModelJson, modelsText } = await loadModelReports();
        const namesOf = async (entry: ProviderEntry) =>
          flags.all
            ? [...new Set([...modelsOf(entry), ...await tableModels(entry, paths.home)])]
            : modelsOf(entry);
        const known = await Promise.all(
          [...loaded.config.providers, ...vendorsWithKey(loaded)].map(async (entry) =>
            await Promise.all((await namesOf(entry)).map((model) => knownModel(loaded, entry, model)))
          ),
        );
        const { stdout } = this.process;
        if (flags.json) return stdout.json(known.flat().map(knownModelJson));
        stdout.write(modelsText(known.flat(), await textsFor("models", this, loaded), outputWidth()));
      },
    }),
    show: entry("Show what is known of one model, and from where", {
      flags: { json: JSON_FLAG },
      args: [argument("Model: name, provider, or provider/model", "model", "models")],
      async run(flags, reference) {
        const { loaded } = await openConfig(this, { flags: { default_model: reference } });
        const waiting = loaded.needsTrust.filter(({ kind }) => kind === "provider").map(({ name }) => name);
        const { entry, model } = resolveModel(loaded.config, reference, waiting);
        const { knownModel, knownModelJson, modelText } = await loadModelReports();
        const known = await knownModel(loaded, entry, model);
        const { stdout } = this.process;
        if (flags.json) stdout.json(knownModelJson(known));
        else stdout.write(modelText(known, await textsFor("models", this, loaded)));
      },
    }),
    refresh: entry("Fetch new tables of models, in the format of models.dev", {
      flags: { from: option(`Address or file (default: ${MODEL_TABLES})`, "url|file") },
      async run({ from = MODEL_TABLES }) {
        const { home } = runPaths(this);
        const texts = await textsFor("models", this);
        const text = await modelTables(from, texts);
        const { keepModelList } = await loadModelList();
        const date = new Date().toISOString().slice(0, 10);
        const { file, providers, models, skipped } = await keepModelList(home, text, { date, source: from });
        const left = skipped === 0 ? "" : texts.skipped(grouped(skipped));
        this.process.stdout.write(`${texts.kept(grouped(models), grouped(providers), file)}${left}\n`);
      },
    }),
  },
};

/** Reads a file, or downloads an address. */
async function modelTables(from: string, texts: Texts["models"]): Promise<string> {
  const isAddress = /^https?:\/\//i.test(from);
  try {
    return isAddress ? await download(from) : await Deno.readTextFile(from);
  } catch (error) {
    const message = errorMessage(error);
    if (!isAddress) throw usageError(texts.notRead(from, message), texts.notReadRemedy);
    throw new ReasonixError(texts.notFetched(from, message), {
      exit: "provider",
      remedy: texts.notFetchedRemedy,
    });
  }
}

async function download(url: string): Promise<string> {
  const response = await programFetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
  if (!response.ok) throw new Error(`The server answered ${response.status}`);
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MAX_BYTES) throw new Error(`The answer is longer than ${MAX_BYTES / 1024 / 1024} MiB`);
  }
  return text + decoder.decode();
}
