import { readSmallText } from "./probe.ts";
import { readEnv } from "./read_env.ts";
import { IgnoreRules } from "./ignore_rules.ts";

/**
 * The user's own ignore file for all repositories: `core.excludesFile`, else `git/ignore` in the
 * configuration directory.
 */
export function globalExcludes(): IgnoreRules | undefined {
  const home = readEnv("HOME") ?? readEnv("USERPROFILE");
  const config = readEnv("XDG_CONFIG_HOME") ?? (home === undefined ? undefined : `${home}/.config`);
  const path = configuredFile(home, config) ?? (config === undefined ? undefined : `${config}/git/ignore`);
  const text = path === undefined ? undefined : readSmallText(path);
  if (text === undefined) return undefined;
  const rules = new IgnoreRules(text);
  return rules.empty ? undefined : rules;
}

function configuredFile(home: string | undefined, config: string | undefined): string | undefined {
  const files = [home && `${home}/.gitconfig`, config && `${config}/git/config`];
  for (const file of files) {
    const text = file ? readSmallText(file) : undefined;
    const value = text === undefined ? undefined : excludesFile(text);
    if (value === undefined) continue;
    return home !== undefined && value.startsWith("~/") ? home + value.slice(1) : value;
  }
  return undefined;
}

/** The value of `excludesFile` in the section `core` of a git configuration file. */
function excludesFile(text: string): string | undefined {
  let section = "";
  let value: string | undefined;
  for (const line of text.split("\n")) {
    section = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)?.[1]?.toLowerCase() ?? section;
    const found = section === "core"
      ? /^(?:\s*\[[^\]]*\])?\s*excludesfile\s*=\s*(.+?)\s*$/i.exec(line)?.[1]
      : undefined;
    if (found !== undefined) value = found.replace(/^"(.*)"$/, "$1");
  }
  return value;
}
