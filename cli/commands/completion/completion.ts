import { type Application, proposeCompletions } from "@stricli/core";
import { ReasonixError } from "../../../src/core/mod.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";
import type { CliContext } from "../../terminal/process.ts";

/** One script per shell; each asks the hidden command `complete`, so the proposals are never out of date. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_reasonix() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  mapfile -t COMPREPLY < <(reasonix complete -- "\${words[@]}" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace; fi
}
complete -o default -F _reasonix reasonix
`,
  zsh: `#compdef reasonix
_reasonix() {
  local -a found
  local tab=$'\\t'
  found=("\${(@f)$(reasonix complete --describe -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z "\${found[1]}" ]]; then _files; return; fi
  found=("\${(@)found//:/\\\\:}")
  found=("\${(@)found/\${tab}/:}")
  _describe reasonix found
}
compdef _reasonix reasonix
`,
  fish: `function __reasonix_complete
  set -l words (commandline -opc) (commandline -ct)
  reasonix complete --describe -- $words[2..-1] 2>/dev/null
end
complete -c reasonix -a '(__reasonix_complete)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName reasonix -ScriptBlock {
  param($word, $ast, $cursor)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -eq '') { $words += '' }
  reasonix complete -- @words 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
};

export function completion(this: CliContext, _flags: unknown, shell: string): void {
  const script = SCRIPTS[shell];
  if (script === undefined) {
    throw new ReasonixError(`Cannot write a completion script for "${shell}"`, {
      exit: "usage",
      remedy: `choose one of ${Object.keys(SCRIPTS).join(", ")}`,
    });
  }
  this.process.stdout.exact(script);
}

/** Commands about sessions that are not about one of them. */
const NO_SESSION = new Set(["session list", "session search", "session prune"]);

/** Commands about MCP servers that are not about one that is there. */
const NO_SERVER = new Set(["mcp list", "mcp add", "mcp import"]);

/** The words before the command line's end, and the piece of a word that is to be completed. */
interface Unfinished {
  readonly before: readonly string[];
  readonly current: string;
  /** The text that a proposal has to repeat: `--flag=` where a shell replaces the whole word. */
  readonly prefix: string;
  /** The text that a proposal leaves out, since bash takes it for a word of its own. */
  readonly omitted?: string;
}

/** `--flag=value` is the same as `--flag value`. Bash hands it over in three words. */
function unfinished(words: readonly string[]): Unfinished {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  if (current === "=") return { before, current: "", prefix: "" };
  if (before.at(-1) === "=") return { before: before.slice(0, -1), current, prefix: "" };
  if (current === "@") return { before, current, prefix: "", omitted: "@" };
  if (before.at(-1) === "@") {
    return { before: before.slice(0, -1), current: `@${current}`, prefix: "", omitted: "@" };
  }
  const [, flag, value] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? [];
  if (flag === undefined || value === undefined) return { before, current, prefix: "" };
  return { before: [...before, flag], current: value, prefix: `${flag}=` };
}

/** A word to choose, and what it means. */
interface Proposal {
  readonly word: string;
  readonly brief?: string;
}

/** What a task can begin with or mention: commands and skills by their name, files of this directory. */
async function taskWords(
  before: readonly string[],
  current: string,
): Promise<readonly Proposal[] | undefined> {
  if (before[0] !== "run") return undefined;
  const values = await import("./values.ts");
  if (current.startsWith("/") && !current.includes("/", 1)) {
    const commands = await values.slashNames();
    // Else it may be a path.
    return commands.some(({ word }) => word.startsWith(current)) ? commands : undefined;
  }
  return current.startsWith("@") ? values.references(current.slice(1)) : undefined;
}

/** Values that follow a flag or a command and come from this machine. */
async function dynamicValues(before: readonly string[]): Promise<readonly string[] | undefined> {
  const last = before.at(-1);
  if (last === "--model" || last === "-m") return (await import("./values.ts")).modelNames();
  if (last === "--preset") return (await import("./values.ts")).presetNames();
  if (last === "--resume" || last === "-r") return (await import("./values.ts")).sessionIds();
  const command = before.filter((word) => !word.startsWith("-")).join(" ");
  if (command === "replay" || (/^session \w+$/.test(command) && !NO_SESSION.has(command))) {
    return (await import("./values.ts")).sessionIds();
  }
  if (command === "config get" || command === "config set") {
    return (await import("./values.ts")).configKeys();
  }
  if (/^mcp \w+$/.test(command) && !NO_SERVER.has(command)) {
    return (await import("./values.ts")).serverNames();
  }
  const server = /^mcp call (\S+)$/.exec(command)?.[1];
  if (server !== undefined) return (await import("./values.ts")).toolNames(server);
  if (command === "config presets") return (await import("./values.ts")).presetNames();
  if (command === "completion") return Object.keys(SCRIPTS);
}

/** Words that may stand in place of a command, beside the commands. */
const ROOT_FLAGS = ["-p", "--print", "--help", "--version"];

/** The program whose command lines are completed. */
interface Completed {
  readonly app: Application<CliContext>;
  /** The words with the short form of a command written out. */
  readonly expand: (words: readonly string[]) => readonly string[];
}

export const completeFor = ({ app, expand }: Completed) =>
  async function (
    this: CliContext,
    flags: { readonly describe?: boolean },
    ...words: string[]
  ): Promise<void> {
    const { before, current, prefix, omitted = "" } = unfinished(words);
    const command = expand(before);
    const propose = async (): Promise<readonly Proposal[]> => {
      if (command.length === 0 && current.startsWith("-")) return ROOT_FLAGS.map((word) => ({ word }));
      const proposals = await proposeCompletions(app, [...command, current], this);
      return proposals.map((each) => ({
        word: each.completion,
        ...("brief" in each ? { brief: each.brief } : {}),
      }))
        .filter(({ word }) => word !== "--");
    };
    // Flags are proposed where values could stand, too, once a dash says that one is meant.
    const values = current.startsWith("-") ? undefined : await dynamicValues(command);
    const proposals = values?.map((word) => ({ word })) ?? await taskWords(command, current) ??
      await propose();
    const fitting = proposals.filter(({ word }) => word.startsWith(current));
    const told = ({ brief }: Proposal) => flags.describe && brief ? `\t${oneLine(brief, 80)}` : "";
    this.process.stdout.write(
      fitting.map((each) => `${prefix}${each.word.slice(omitted.length)}${told(each)}\n`).join(""),
    );
  };
