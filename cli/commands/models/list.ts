import { loadTrustedConfig } from "../../../src/assembly/mod.ts";
import { modelsOf, type ProviderEntry } from "../../../src/config/mod.ts";
import { loadModels } from "../../../src/command/mod.ts";
import { tableModels } from "../../../src/provider/mod.ts";
import { grouped } from "../../../src/view/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { textsFor } from "../../terminal/language.ts";
import type { CliContext } from "../../terminal/process.ts";
import { outputWidth, table } from "../../terminal/table.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { effortText, type KnownModel, knownModel, knownModelJson } from "./known.ts";

interface ListFlags {
  readonly all?: boolean;
  readonly json?: boolean;
}

/** Lists the models of the configuration and of vendors whose key there is, with what is known of each. */
export async function list(this: CliContext, flags: ListFlags): Promise<void> {
  const { cwd, home, env } = runPaths(this);
  const loaded = await loadTrustedConfig({ cwd, home, env }, { ignoreUntrusted: true });
  const { vendorsWithKey } = await loadModels();
  const entries = [...loaded.config.providers, ...vendorsWithKey(loaded)];
  const names = async (entry: ProviderEntry) =>
    flags.all ? [...new Set([...modelsOf(entry), ...await tableModels(entry, home)])] : modelsOf(entry);
  const known = await Promise.all(
    entries.map(async (entry) =>
      await Promise.all((await names(entry)).map((model) => knownModel(loaded, entry, model)))
    ),
  );
  const all = known.flat();
  const texts = await textsFor("models", this, loaded);
  const { stdout } = this.process;
  if (flags.json) stdout.json(all.map(knownModelJson));
  else stdout.write(listText(all, texts));
}

function listText(all: readonly KnownModel[], texts: Texts["models"]): string {
  if (all.length === 0) return `${texts.noModel}\n`;
  const { columns, unknown } = texts;
  const width = outputWidth();
  const text = table(
    Object.values(columns),
    all.map(({ name, entry, info, facts }) => {
      const { contextWindow, outputLimit, price } = info;
      const sees = entry.vision ?? facts?.vision;
      return [
        name,
        contextWindow === undefined ? unknown : grouped(contextWindow),
        outputLimit === undefined ? unknown : grouped(outputLimit),
        sees === undefined ? unknown : sees ? texts.yes : texts.no,
        price ? String(price.input) : unknown,
        price ? String(price.cachedInput) : "",
        price ? String(price.output) : "",
        price ? [price.currency, price.date ?? ""].join(" ").trim() : "",
        effortText(info, texts) ?? unknown,
      ];
    }),
    {
      right: [columns.window, columns.reply, columns.input, columns.cached, columns.output],
      ...(width === undefined ? {} : { width }),
    },
  );
  return `${text}${texts.mayCostMore}\n`;
}
