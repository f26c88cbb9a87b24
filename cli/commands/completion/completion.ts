import { type Application, proposeCompletions } from "@stricli/core";
import { message, usageError } from "../../../src/core/mod.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";
import { argument, type Command, command, flag, type Proposal } from "../../command.ts";
import type { CliContext } from "../../terminal/process.ts";

/** One script per shell; each asks the hidden command `complete`, so the proposals are never out of date. */
export const SCRIPTS: Readonly<Record<string, string>> = {
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
if [[ $funcstack[1] == _reasonix ]]; then _reasonix "$@"; else compdef _reasonix reasonix; fi
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

function completion(this: CliContext, _flags: unknown, shell: string): void {
  const script = SCRIPTS[shell];
  if (script === undefined) {
    throw usageError(
      message`Cannot write a completion script for "${shell}"`,
      message`choose one of ${Object.keys(SCRIPTS).join(", ")}`,
    );
  }
  this.process.stdout.exact(script);
}

/** The words before the command line's end, and the piece of a word that is to be completed. */
interface Unfinished {
  readonly before: readonly string[];
  readonly current: string;
  /** The text that a proposal has to repeat: `--flag=` where a shell replaces the whole word. */
  readonly prefix: string;
  /** The text that a proposal leaves out, since bash takes it for a separate word. */
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

export const completionCommand = command({
  description: "Print a shell completion script. To install it, once:\n" +
    "  bash        reasonix completion bash \\\n" +
    "                > ~/.local/share/bash-completion/completions/reasonix\n" +
    "  zsh         echo 'eval \"$(reasonix completion zsh)\"' >> ~/.zshrc\n" +
    "  fish        reasonix completion fish \\\n" +
    "                > ~/.config/fish/completions/reasonix.fish\n" +
    "  powershell  reasonix completion powershell >> $PROFILE",
  args: [argument("bash, zsh, fish or powershell", "shell", "shells")],
  run: completion,
});

interface CompletedProgram {
  readonly appFor: (command: string | undefined) => Promise<Application<CliContext>>;
  readonly inCommandWords: (words: readonly string[]) => readonly string[];
}

/** Prints the proposals for the last word, one a line. */
export function completeCommand({ appFor, inCommandWords }: CompletedProgram): Command {
  return command({
    flags: { describe: flag("Add what each proposal means, after a tab") },
    rest: argument("Words of the command line", "word"),
    async run(flags, ...words) {
      const { before, current, prefix, omitted = "" } = unfinished(words);
      const command = inCommandWords(before);
      const proposals = command.length === 0 && current.startsWith("-")
        ? ROOT_FLAGS.map((word): Proposal => ({ word }))
        : await proposed(this, await appFor(command[0]), [...command, current]);
      const lines = proposals.filter(({ word }) => word !== "--" && word.startsWith(current))
        .map(({ word, brief }) => {
          const meaning = flags.describe && brief ? `\t${oneLine(brief, 80)}` : "";
          return `${prefix}${word.slice(omitted.length)}${meaning}\n`;
        });
      this.process.stdout.write(lines.join(""));
    },
  });
}

const ROOT_FLAGS = ["-p", "--print", "--help", "--version"];

/** Proposals of the parser. Flags are among them once a dash says that one is meant, or nothing else fits. */
async function proposed(
  context: CliContext,
  app: Application<CliContext>,
  words: readonly string[],
): Promise<readonly Proposal[]> {
  const briefs = new Map<string, string>();
  const completing = { ...context, before: words.slice(0, -1), briefs };
  const found = await proposeCompletions(app, words, completing);
  const values = words.at(-1)?.startsWith("-") ? [] : found.filter(({ kind }) => kind === "argument:value");
  return (values.length > 0 ? values : found).map((each): Proposal => {
    const brief = briefs.get(each.completion) ?? ("brief" in each ? each.brief : undefined);
    return { word: each.completion, ...(brief === undefined ? {} : { brief }) };
  });
}
