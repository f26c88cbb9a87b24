/** Flags of `claude` without an effect here, which scripts and SDKs pass; true: a value follows. */
const WITHOUT_EFFECT: Readonly<Record<string, boolean>> = {
  "--agent": true,
  "--agents": true,
  "--allow-dangerously-skip-permissions": false,
  "--await-initialize": false,
  "--betas": true,
  "--debug": false,
  "--debug-file": true,
  "--debug-to-stderr": false,
  "--fallback-model": true,
  "--include-hook-events": false,
  "--initialize-fields": true,
  "--managed-settings": true,
  "--managed-settings-in-initialize": false,
  "--max-thinking-tokens": true,
  "--mcp-config": true,
  "--no-session-persistence": false,
  "--permission-prompts": true,
  "--plugin-dir": true,
  "--plugin-dir-no-mcp": true,
  "--project-config-root": true,
  "--replay-user-messages": false,
  "--setting-sources": true,
  "--settings": true,
  "--strict-mcp-config": false,
  "--task-budget": true,
  "--thinking": true,
  "--thinking-display": true,
};

/** Names that mean models of Anthropic, in whatever version. */
const CLAUDE_MODEL = /^(?:default|haiku|inherit|opus|opusplan|sonnet|claude-[\w.-]+)(?:\[1m\])?$/;

/** Flags of `claude` that take several values, which stand one after the other. */
const LISTS = ["--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools"];
const RULE = /^(?:[A-Z]\w*|mcp__\w+)(?:\(.*\))?(?:,.*)?$/;

/** Commands of `reasonix plugin` that are no plugin. */
const PLUGIN_WORDS = ["list", "add", "remove", "install", "update"];

/** A line in the words of the command tree. */
interface ShortForm {
  readonly words: readonly string[];
  readonly ignored: readonly string[];
}

/** A command line of `claude -p` in the words of `reasonix run`. */
function fromClaude(args: readonly string[]): ShortForm {
  const words: string[] = [];
  const ignored: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    const [name = ""] = word.split("=", 1);
    const takes = Object.hasOwn(WITHOUT_EFFECT, name) ? WITHOUT_EFFECT[name] : undefined;
    if (word === "--") return { words: [...words, ...args.slice(at)], ignored };
    if (takes !== undefined) {
      ignored.push(name);
      if (takes && word === name) at++;
    } else if (word === "--dangerously-skip-permissions") {
      words.push("--permission-mode=bypassPermissions");
    } else if (name === "--model" && CLAUDE_MODEL.test(word === name ? args[at + 1] ?? "" : word.slice(8))) {
      words.push(`--prefer-model=${word === name ? args[++at] : word.slice(8)}`);
    } else if (LISTS.includes(word)) {
      const first = args[++at];
      if (first !== undefined) words.push(`${word}=${first}`);
      while (RULE.test(args[at + 1] ?? "")) words.push(`${word}=${args[++at]}`);
    } else words.push(word);
  }
  return { words, ignored };
}

/**
 * `reasonix [flags] -p …` is `reasonix run [flags] …`, as is the line that the Claude Agent SDKs start, and
 * `reasonix help …` is `reasonix … --help`. `reasonix --acp` is `reasonix acp`. Editors append
 * the arguments of a sign-in method to it, so that `reasonix acp … setup` is `reasonix setup`. Flags of
 * `reasonix serve` and `web` may have one dash. The words behind `reasonix plugin NAME` are the plugin's.
 */
export function shortForm(args: readonly string[]): ShortForm | undefined {
  const first = args[0] ?? "";
  if (first === "help") return { words: [...args.slice(1), "--help"], ignored: [] };
  if (first === "--acp" || first === "acp") {
    const words = args.at(-1) === "setup" ? ["setup"] : ["acp", ...args.slice(1)];
    return { words, ignored: [] };
  }
  if (first === "serve" || first === "web") {
    return { words: args.map((word) => /^-[a-z][a-z-]+(?:=|$)/.test(word) ? `-${word}` : word), ignored: [] };
  }
  if (
    first === "plugin" && args.length > 2 && !PLUGIN_WORDS.includes(args[1] ?? "") &&
    !/^(?:--help(?:-all)?|-h)$/.test(args[2] ?? "")
  ) {
    return { words: [...args.slice(0, 2), "--", ...args.slice(2)], ignored: [] };
  }
  const end = args.indexOf("--");
  const flags = end < 0 ? args : args.slice(0, end);
  const at = flags.findIndex((arg) => arg === "-p" || arg === "--print");
  const sdk = flags.some((arg) => /^--input-format(?:=|$)/.test(arg));
  if ((at < 0 && !sdk) || !/^-|\s/.test(first)) return undefined;
  const { words, ignored } = fromClaude(args.filter((_, index) => index !== at));
  return { words: ["run", ...words], ignored };
}
