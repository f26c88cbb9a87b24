import type { RunPaths } from "../../../src/assembly/mod.ts";
import { type ConfigInput, loadConfig, type LoadedConfig, type TrustItem } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { isFault, readRule } from "../../../src/rule/mod.ts";
import type { RunFlags } from "../../routes/run.ts";
import { realDirectory } from "../../terminal/working_directory.ts";

/** The configuration of a run: files, preset, and what its flags say. */
export function loadRunConfig(
  paths: RunPaths,
  flags: RunFlags,
  trust: (item: TrustItem) => boolean,
): Promise<LoadedConfig> {
  return loadConfig({
    cwd: paths.cwd,
    home: paths.home,
    env: paths.env,
    flags: flagLayer(paths, flags),
    ...(flags.preset === undefined ? {} : { preset: flags.preset }),
    trust,
  });
}

function flagLayer(paths: RunPaths, flags: RunFlags): ConfigInput {
  const agent = {
    ...(flags.maxSteps === undefined ? {} : { max_steps: flags.maxSteps }),
    ...(flags.timeLimit === undefined ? {} : { time_limit_seconds: flags.timeLimit }),
    ...(flags.maxCost === undefined ? {} : { max_cost: flags.maxCost }),
  };
  const permissions = {
    ...(flags.allowedTools ? { allow: splitRules(flags.allowedTools) } : {}),
    ...(flags.disallowedTools ? { deny: denyRules(flags.disallowedTools) } : {}),
  };
  return {
    ...(flags.model === undefined ? {} : { default_model: flags.model }),
    ...(flags.writes === undefined ? {} : { tools: { writes: flags.writes } }),
    ...(flags.addDir
      ? { sandbox: { allow_write: flags.addDir.map((dir) => existingFolder(paths, dir)) } }
      : {}),
    ...(Object.keys(agent).length > 0 ? { agent } : {}),
    ...(Object.keys(permissions).length > 0 ? { permissions } : {}),
  };
}

/** A rule that would deny nothing must not look as if it did. */
function denyRules(values: readonly string[]): string[] {
  return splitRules(values).map((text) => {
    const read = readRule(text);
    if (!isFault(read)) return text;
    throw new ReasonixError(read.message, {
      exit: "usage",
      remedy: `correct --disallowed-tools: ${read.remedy}`,
    });
  });
}

/** A folder that is not there would be granted to whoever makes it first. */
function existingFolder({ cwd }: RunPaths, dir: string): string {
  const isAbsolute = /^(?:[\\/]|[A-Za-z]:)/.test(dir);
  return realDirectory(isAbsolute ? dir : `${cwd}/${dir}`, `add ${dir} to the writable folders`);
}

/** Rules separated by commas or blanks; those inside parentheses belong to the rule. */
function splitRules(values: readonly string[]): string[] {
  return values.flatMap((value) => value.match(/(?:[^\s,()]|\([^)]*\)?)+/g) ?? []);
}
