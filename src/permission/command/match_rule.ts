import { baseName } from "../../path/lexical.ts";
import { ANY, isKnown, type Match, matchPattern, type Rule, SEP, toPattern } from "../../rule/mod.ts";
import type { Effects, Invocation } from "./types.ts";

type CommandSpec = Extract<NonNullable<Rule["spec"]>, { kind: "command" }>;

/**
 * Reports whether a refusing or asking rule concerns a command, under any of the names it may go by: behind
 * wrappers, with a path in front, with options in another order or in between.
 */
export function concerns(rule: Rule, { command, runs }: Effects): Match {
  const spec = rule.spec;
  if (!spec) return runs.length > 0 ? "yes" : "no";
  if (spec.kind === "literal") {
    const exact = command.text === spec.text ||
      runs.some((run) => run.argv.join(" ") === spec.text);
    return exact ? "yes" : "no";
  }
  if (spec.kind !== "command") return "no";
  let best: Match = matchText(spec, command.text.replace(/\s+/g, " ").trim());
  for (const run of runs) {
    if (best === "yes") return best;
    const match = matchInvocation(spec, run);
    if (match !== "no") best = match;
  }
  return best;
}

/** The text as written, for rules with quotes and other marks of the shell. */
export function matchText(spec: CommandSpec, text: string): Match {
  const raw = spec.raw.replace(/\s+/g, " ");
  const prefix = /^(.*?)(?:\s*:\*|\s+\*)$/s.exec(raw)?.[1];
  if (prefix === undefined) return matchPattern(toPattern(raw), text);
  return text === prefix ? "yes" : matchPattern(`${toPattern(prefix)} ${ANY}`, text);
}

function matchInvocation(spec: CommandSpec, { argv }: Invocation): Match {
  let best: Match = "no";
  for (const words of spellings(argv)) {
    const text = words.join(SEP);
    for (const pattern of spec.patterns) {
      const match = matchPattern(pattern, text);
      if (match === "yes") return "yes";
      if (match === "maybe") best = "maybe";
    }
  }
  return sameOptions(spec, argv) ? "yes" : best;
}

/**
 * The words as they are, with the program's bare name, and without the options in front of the first plain
 * word.
 */
function spellings(argv: readonly string[]): (readonly string[])[] {
  const [word = "", ...args] = argv;
  const forms: (readonly string[])[] = [argv];
  const name = isKnown(word) ? baseName(word) : word;
  if (name !== word) forms.push([name, ...args]);
  if (args[0]?.startsWith("-") !== true) return forms;
  let valued = 0;
  let bare = 0;
  while (args[bare]?.startsWith("-")) bare++;
  while (args[valued]?.startsWith("-")) valued += args[valued + 1]?.startsWith("-") === false ? 2 : 1;
  forms.push([name, ...args.slice(bare)]);
  if (valued !== bare) forms.push([name, ...args.slice(valued)]);
  return forms;
}

/** `rm -rf` also means `rm -f -r`, `rm -Rfv` and `rm --recursive --force`. */
function sameOptions(spec: CommandSpec, argv: readonly string[]): boolean {
  const [command, cluster, ...rest] = spec.words;
  const wanted = /^-([A-Za-z]+)(\*?)$/.exec(cluster ?? "");
  if (!wanted || command === undefined || baseName(argv[0] ?? "") !== command) return false;
  const end = argv.indexOf("--");
  const options = argv.slice(1, end < 0 ? undefined : end).filter((word) => /^-./.test(word));
  const letters = options.map((word) => word.startsWith("--") ? word[2] : word.slice(1)).join("")
    .toLowerCase();
  if (![...(wanted[1] ?? "").toLowerCase()].every((letter) => letters.includes(letter))) return false;
  if (wanted[2] === "*") return true;
  const plain = argv.slice(1).filter((word) => !/^-./.test(word)).join(SEP);
  const text = rest.map(toPattern).join(SEP);
  const open = spec.patterns.length > 1;
  return (open && text === "") || matchPattern(text, plain) === "yes" ||
    (open && matchPattern(`${text}${SEP}${ANY}`, plain) === "yes");
}

/**
 * Reports whether an allow rule covers a command: the program that runs in the end is named, nothing in
 * front of it changes what that means, and what is not known falls under the rule's own `*`.
 */
export function allows(rule: Rule, { command, runs, risk, guarded }: Effects): boolean {
  const spec = rule.spec;
  if (!spec) return true;
  if (spec.kind === "literal") return command.text === spec.text;
  if (spec.kind !== "command" || risk !== undefined) return false;
  const views = runs.filter((run) => !run.refusals);
  const inner = views.at(-1);
  if (!inner) return false;
  return views.some((view) => {
    const named = view === inner
      ? guarded === undefined || views.length === 1
      : spec.words.length > inner.at - view.at;
    return named && spec.patterns.some((pattern) => matchPattern(pattern, view.argv.join(SEP)) === "yes");
  });
}
