import { command, flag, type FlagsOf, JSON_FLAG, option } from "../command.ts";
import { languageNotice, languageOf } from "../terminal/language.ts";
import { forReader } from "../terminal/narrow.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadTrustedConfig, type RunPaths } from "../../src/run/mod.ts";
import { ConfigError, type LoadedConfig } from "../../src/config/mod.ts";
import { EXIT } from "../../src/core/mod.ts";
import { loadTexts } from "../../src/i18n/mod.ts";
import { loadDoctor } from "../../src/reports/mod.ts";

const FLAGS = {
  json: JSON_FLAG,
  verbose: flag("Also list what is in order"),
  online: flag("Also try the providers over the network"),
  dir: option("Check the configuration of this directory", "dir"),
};

/** Looks at everything a run depends on and says what is wrong. Secrets never appear. */
async function doctor(this: CliContext, flags: FlagsOf<typeof FLAGS>): Promise<void> {
  const paths = runPaths(this, flags.dir);
  const loaded = await tryConfig(paths);
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
  });
  const { stdout } = this.process;
  if (flags.json) stdout.json(report);
  else stdout.write(forReader(await reportText(report, texts, { verbose: flags.verbose === true })));
  this.process.exitCode = report.problems.length === 0
    ? EXIT.done
    : report.config.error
    ? EXIT.config
    : EXIT.failed;
}

async function tryConfig(paths: RunPaths): Promise<LoadedConfig | ConfigError> {
  try {
    return await loadTrustedConfig(paths, { ignoreUntrusted: true });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

export const doctorCommand = command({ flags: FLAGS, run: doctor });
