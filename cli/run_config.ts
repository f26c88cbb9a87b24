import { type ConfigInput, loadConfig, type LoadedConfig, type TrustItem } from "../src/config/mod.ts";
import type { RunFlags } from "./run_flags.ts";
import type { Place } from "./place.ts";

/** The configuration of a run: files, preset, and what its flags say. */
export function loadRunConfig(
  place: Place,
  flags: RunFlags,
  trust: (item: TrustItem) => boolean,
): Promise<LoadedConfig> {
  return loadConfig({
    cwd: place.cwd,
    home: place.home,
    env: place.env,
    flags: flagLayer(flags),
    ...(flags.preset === undefined ? {} : { preset: flags.preset }),
    trust,
  });
}

function flagLayer(flags: RunFlags): ConfigInput {
  const agent = {
    ...(flags.maxSteps === undefined ? {} : { max_steps: flags.maxSteps }),
    ...(flags.timeLimit === undefined ? {} : { time_limit_seconds: flags.timeLimit }),
    ...(flags.maxCost === undefined ? {} : { max_cost: flags.maxCost }),
  };
  const permissions = {
    ...(flags.allowedTools ? { allow: splitRules(flags.allowedTools) } : {}),
    ...(flags.disallowedTools ? { deny: splitRules(flags.disallowedTools) } : {}),
  };
  return {
    ...(flags.model === undefined ? {} : { default_model: flags.model }),
    ...(flags.writes === undefined ? {} : { tools: { writes: flags.writes } }),
    ...(flags.addDir ? { sandbox: { allow_write: [...flags.addDir] } } : {}),
    ...(Object.keys(agent).length > 0 ? { agent } : {}),
    ...(Object.keys(permissions).length > 0 ? { permissions } : {}),
  };
}

/** Rules separated by commas or blanks; those inside parentheses belong to the rule. */
function splitRules(values: readonly string[]): string[] {
  return values.flatMap((value) => value.match(/(?:[^\s,()]|\([^)]*\)?)+/g) ?? []);
}
