import { isKnown } from "../../../rule/mod.ts";
import { isIdleProgram } from "../variables.ts";

/** Settings that cannot make git run a program. */
const PLAIN_SETTING = new RegExp(
  "^(?:user\\.(?:name|email|useconfigonly|signingkey)|color\\..*|column\\..*|advice\\..*|" +
    "core\\.(?:quotepath|autocrlf|eol|safecrlf|longpaths|abbrev|bare|filemode|ignorecase|symlinks|precomposeunicode|" +
    "logallrefupdates|commentchar|whitespace|preloadindex|untrackedcache)|commit\\.(?:gpgsign|verbose|cleanup)|" +
    "tag\\.(?:gpgsign|sort)|init\\.defaultbranch|safe\\.directory|protocol\\.version|gc\\.auto|log\\.[\\w]+|" +
    "format\\.(?:pretty|signoff|numbered)|diff\\.(?:noprefix|mnemonicprefix|renames|renamelimit|algorithm|colormoved|" +
    "context|interhunkcontext|statgraphwidth)|merge\\.(?:conflictstyle|ff|renames|stat)|" +
    "push\\.(?:default|autosetupremote|followtags)|pull\\.(?:rebase|ff)|fetch\\.(?:prune|prunetags|parallel)|" +
    "rebase\\.(?:autostash|autosquash|updaterefs)|submodule\\.(?:recurse|fetchjobs)|" +
    "http\\.(?:version|postbuffer|lowspeedlimit|lowspeedtime)|index\\.version|pack\\.threads|feature\\.\\w+|" +
    "rerere\\.enabled|branch\\.(?:sort|autosetuprebase|.*\\.(?:remote|merge|rebase|description))|" +
    "remote\\..*\\.(?:url|fetch|pushurl|prune)|i18n\\..*|status\\.\\w+|stash\\.\\w+|worktree\\.\\w+)$",
  "i",
);

/** Says why a setting given with `-c` may run a program, if so. */
export function settingRuns(setting: string): string | undefined {
  const [key = "", value = ""] = setting.split(/=(.*)/s, 2);
  if (/^(?:core\.(?:pager|editor)|pager\.\w+|sequence\.editor)$/i.test(key) && isIdleProgram(value)) {
    return undefined;
  }
  return isKnown(key) && PLAIN_SETTING.test(key)
    ? undefined
    : `git setting ${isKnown(key) ? key : "…"} may run a program`;
}

/** Options of `git config` whose value is the next word. */
const CONFIG_VALUES = /^(?:-f|--(?:file|blob|type|default|comment|value|url))$/;
const CONFIG_QUERIES = /^(?:-l|--list|--get\S*|--unset\S*)$/;

/** Returns the key and value that `git config` would set, or what else it does. */
export function configWords(args: readonly string[]): "edits" | "asks" | readonly string[] {
  const words = args.filter((word, i) => !/^-./.test(word) && !CONFIG_VALUES.test(args[i - 1] ?? ""));
  const [first = ""] = words;
  // Behind the name of a setting even a word with a dash is its value.
  const name = first.includes(".") ? args.indexOf(first) : args.length;
  const options = args.slice(0, name);
  if (options.some((word) => word === "-e" || word === "--edit") || first === "edit") return "edits";
  if (options.some((word) => CONFIG_QUERIES.test(word)) || /^(?:get|list|unset)$/.test(first)) return "asks";
  return first === "set" ? words.slice(1) : args.slice(name);
}

/** Writing a setting that runs programs has the next git command run them. */
export function configRuns(args: readonly string[]): string | undefined {
  const words = configWords(args);
  if (words === "edits") return "git config opens an editor";
  if (words === "asks") return undefined;
  const [key = "", value] = words;
  return value === undefined || (isKnown(key) && PLAIN_SETTING.test(key))
    ? undefined
    : `git setting ${isKnown(key) ? key : "…"} may run a program later`;
}
