import { forEachChild, type SyntaxNode } from "unbash";
import { message, type Text, textOf } from "../../core/mod.ts";
import { baseName } from "../../path/lexical.ts";
import { isDirectory, readSmallText } from "../../path/probe.ts";
import { PROTECTED_KINDS, protectedHolder, protectedPath } from "../../path/protected.ts";
import { type DestructiveContext, findDestructive, finding, mentioned } from "./destructive.ts";
import { readLine } from "./effects.ts";
import { allows, concerns, matchText } from "./match_rule.ts";
import { parseScript, Unparsable } from "./parse.ts";
import { contactedHosts, programNamed } from "./programs.ts";
import { describeAction } from "./reasons.ts";
import { listed, wordPattern } from "./program.ts";
import { type Effects, type FileUse, isDiscardDevice, type Line, program } from "./types.ts";
import type {
  CommandEnvironment,
  DestructiveFinding,
  GateOptions,
  LineDescription,
  NetworkNeed,
  SegmentExplanation,
} from "../types.ts";
import {
  ANY,
  coveringRule,
  isKnown,
  isProblem,
  type Match,
  NO_RULE,
  ONE,
  parseRule,
  type PathContext,
  type PathForms,
  type PathMatcher,
  type Rule,
  ruled,
  type RuleSet,
  type Ruling,
  SEP,
  STAR,
  type ToolRules,
  unsure,
} from "../../rule/mod.ts";
import { attempt } from "../../util/lazy.ts";
import { cutText } from "../../util/terminal_text.ts";

/** The rules and directories that a command line is judged by. */
export interface JudgeContext {
  readonly ruleSet: RuleSet;
  readonly rules: ToolRules;
  readonly paths: PathMatcher;
  readonly pathContext: PathContext;
  readonly directory: string;
  /** Reports whether this session wrote a file, so that running it is judged by its content. */
  readonly wrote?: ((path: string) => boolean) | undefined;
}

export interface CommandReport {
  readonly ruling: Ruling;
  readonly segments: readonly SegmentExplanation[];
  /** Every command is proven to only read, and nothing is written. */
  readonly readOnly: boolean;
  /** Every command is on the list of what runs unconfined where files have to stay as they are. */
  readonly listedReaders: boolean;
  readonly unparsable?: string;
  readonly destructive: readonly DestructiveFinding[];
  /** The network that its commands are known to need. */
  readonly network?: NetworkNeed;
  /** It deletes on another machine as soon as it has a network. */
  readonly deletesElsewhere?: true;
  /** First words that similar commands share, when the line is one plain command. */
  readonly prefix?: readonly string[];
  /** Absent when the line cannot be parsed. */
  readonly line?: Line;
}

export interface CommandJudge {
  judge(command: string, context: JudgeContext): CommandReport;
  /** The first line costs ten times the second, because functions are compiled when they are first called. */
  warm(context: JudgeContext): void;
  describe(command: string, line: Line): LineDescription;
}

type JudgeOptions = Pick<GateOptions, "confirm" | "shell" | "permissionMode"> & {
  readonly env: ReturnType<GateOptions["env"]>;
  readonly dangerous: readonly Rule[];
};

/** Creates the part of the gate that needs the shell parser; loaded when the first command comes. */
export function createCommandJudge(
  { env: environment, dangerous = [], ...rest }: Pick<
    GateOptions,
    "env" | "confirm" | "dangerous" | "shell" | "permissionMode"
  >,
  commandEnvironment: CommandEnvironment = OPEN_MACHINE,
): CommandJudge {
  const options = {
    ...rest,
    env: environment(),
    dangerous: dangerous.flatMap((text) => {
      const rule = parseRule(text, "ask");
      return isProblem(rule) ? [] : [rule];
    }),
  };
  return {
    judge: (command, context) => judgeLine(command, context, options, commandEnvironment),
    warm: (context) => void judgeLine(WARM_UP, context, options, commandEnvironment),
    describe: describeLine,
  };
}

const OPEN_MACHINE: CommandEnvironment = { privateDirectories: [], network: true };
const WARM_UP = 'cd a && for f in *.b; do c -d "$f" $(e g) | h > i; done; sudo rm -r j';
const MAX_SCRIPT = 256 * 1024;

function judgeLine(
  command: string,
  context: JudgeContext,
  options: JudgeOptions,
  commandEnvironment: CommandEnvironment,
): CommandReport {
  const { rules, pathContext, directory, wrote } = context;
  try {
    if (options.shell === "other") throw new Unparsable("it is not written for a POSIX shell");
    const line = readLine(command, {
      cwd: directory,
      home: pathContext.home,
      env: commandEnvironment.privateDirectories.includes("/tmp")
        ? { ...options.env, TMPDIR: "/tmp" }
        : options.env,
      isDirectory,
      realPath,
      ignoreCase: pathContext.ignoreCase,
      sessionScript: (path) => wrote?.(path) ? readSmallText(path, MAX_SCRIPT) : undefined,
    });
    const strict = options.confirm === "strict";
    const fullAccess = options.permissionMode === "danger-full-access";
    const { dangerous } = options;
    return report(command, line, context, { strict, fullAccess, dangerous, ...commandEnvironment });
  } catch (error) {
    // Whatever goes wrong here, such as a stack that is too small for the line, must not let the line
    // through.
    return unreadable(
      command,
      error instanceof Unparsable ? error.message : "it is too complex to be judged",
      { rules, dangerous: options.dangerous },
    );
  }
}

function realPath(path: string): string | undefined {
  return attempt(() => Deno.realPathSync(path));
}

function report(
  command: string,
  line: Line,
  context: JudgeContext,
  check: CommandEnvironment & Pick<DestructiveContext, "strict" | "fullAccess" | "dangerous">,
): CommandReport {
  const { rules, pathContext } = context;
  const rulings = line.commands.map((each) => evaluateCommand(each, rules, context));
  const prefix = commandPrefix(line.commands.filter((_, i) => rulings[i] !== undefined));
  const readOnly = line.dynamic === undefined && line.commands.length > 0 &&
    line.commands.every((each) => each.readOnly);
  const ruling = combine(line, rulings, rules, { whole: wholeRule(command, rules), readOnly });
  return {
    ruling,
    segments: line.commands.map((each, i) => explainSegment(each, rulings[i])),
    readOnly,
    listedReaders: readOnly && line.commands.every(isListedReader),
    // What is denied anyway need not be resolved and counted.
    destructive: ruling.outcome === "deny" ? [] : findDestructive(line, command, { pathContext, ...check }),
    line,
    ...networkOf(line, context),
    ...(prefix === undefined || line.dynamic !== undefined ? {} : { prefix }),
  };
}

/** Returns the network that a line needs: no more hosts than its commands name, where all of them do. */
function networkOf(
  line: Line,
  { directory }: JudgeContext,
): Pick<CommandReport, "network" | "deletesElsewhere"> {
  if (line.commands.some(({ destructive }) => destructive.some(({ elsewhere }) => elsewhere))) {
    return { deletesElsewhere: true };
  }
  if (line.dynamic !== undefined) return {};
  const needs = line.commands.filter(({ network }) => network)
    .map(({ command, runs }) =>
      contactedHosts(
        runs.filter(({ refusals }) => !refusals).map(({ argv }) => argv),
        command.cwds?.[0] ?? directory,
      )
    );
  if (needs.length === 0 || needs.includes("local")) return {};
  const known = needs.flatMap((hosts) => typeof hosts === "string" ? [] : [hosts]);
  return { network: { hosts: known.length < needs.length ? [] : [...new Set(known.flat())] } };
}

/** Returns the allow rule that names the line as a whole, word for word. */
function wholeRule(command: string, rules: ToolRules): Rule | undefined {
  return rules.allow.find(({ spec }) =>
    spec?.kind === "literal" ? spec.text === command : spec?.kind === "command" && spec.raw === command.trim()
  );
}

function explainSegment(effects: Effects, found: Ruling | undefined): SegmentExplanation {
  const { command: { text }, via, wrapper } = effects;
  const rule = found?.rule;
  const neutral = wrapper ? message`judged by the commands it runs` : ONLY_READS;
  return {
    text,
    via,
    outcome: !found ? "allow" : found.by === "fallback" ? "fallback" : found.outcome,
    reason: textOf(found?.reason ?? neutral),
    ...(rule === undefined ? {} : { rule: `${rule.list} ${rule.text}` }),
    ...(rule?.source.origin === undefined ? {} : { origin: rule.source.origin }),
  };
}

/**
 * Strictest first: denied, possibly denied, protected, asked; then allowed if every command is, by a rule or
 * because it only reads; else the fallback. A command without a ruling is neutral.
 */
function combine(
  line: Line,
  rulings: readonly (Ruling | undefined)[],
  rules: ToolRules,
  { whole, readOnly }: { whole: Rule | undefined; readOnly: boolean },
): Ruling {
  const found = rulings.flatMap((each) => each ? [each] : []);
  const pick = (test: (ruling: Ruling) => boolean) => found.find(test);
  const strict = pick((each) => each.outcome === "deny") ??
    pick((each) => each.by === "unsure" && each.rule?.list === "deny") ??
    (line.dynamic === undefined ? undefined : hidden(line.dynamic, rules)) ??
    pick((each) => each.by === "protected") ??
    pick((each) => each.outcome === "ask" && each.by !== "fallback");
  if (strict) return strict;
  if (whole) return ruled("allow", whole);
  const bare = rules.allow.find((rule) => !rule.spec);
  if (bare) return ruled("allow", bare);
  if (line.dynamic === undefined && found.every((each) => each.outcome === "allow")) {
    const [granted] = found;
    if (granted) return granted;
    if (readOnly) return { outcome: "allow", by: "fallback", reason: ONLY_READS };
  }
  if (line.dynamic !== undefined) return unjudged(unclear(line.dynamic));
  return pick((each) => each.by === "fallback") ?? unjudged();
}

/** Returns what could be any command takes the strictest of what any command could get. */
function hidden(reason: Text, rules: ToolRules): Ruling | undefined {
  const rule = rules.deny[0] ?? rules.ask[0];
  return rule ? unsure(rule, reason) : undefined;
}

/**
 * Returns the words of a prefix rule for a line of one plain command; undefined when none is safe to offer.
 */
function commandPrefix([only, ...others]: readonly Effects[]): readonly string[] | undefined {
  if (!only || others.length > 0 || only.runs.length !== 1) return undefined;
  if (only.dynamic !== undefined || only.guarded !== undefined || only.risk !== undefined) return undefined;
  const argv = program(only);
  const offers = programNamed(argv[0] ?? "")?.offers?.split(" ") ?? [];
  const depth = offers.includes(".")
    ? 1
    : offers.includes(argv[1] ?? "")
    ? 2
    : offers.includes(`${argv[1]}+`)
    ? 3
    : 0;
  const words = argv.slice(0, depth);
  return depth > 0 && words.length === depth && words.every((word) => /^[\w:./-]+$/.test(word))
    ? words
    : undefined;
}

function unreadable(
  command: string,
  why: string,
  { rules, dangerous }: { readonly rules: ToolRules; readonly dangerous: readonly Rule[] },
): CommandReport {
  const reason = message`this line cannot be parsed: ${why}`;
  // Such a line may have millions of pieces: they are made when a rule asks for them.
  let made: string[] | undefined;
  const pieces = () =>
    made ??= [command, ...command.split(/[;&|\n(){}`]+/)].map((piece) => piece.replace(/\s+/g, " ").trim());
  const named = [...rules.deny, ...rules.ask].find((rule) =>
    !rule.spec ||
    (rule.spec.kind === "command" &&
      pieces().some((piece) => rule.spec?.kind === "command" && matchText(rule.spec, piece) === "yes"))
  );
  const covered = rules.allow.find((rule) => !rule.spec) ?? wholeRule(command, rules);
  const ruling: Ruling = named?.list === "deny" ? ruled("deny", named) : hidden(reason, rules) ??
    (covered ? ruled("allow", covered) : unjudged(reason));
  const risky = /\b(?:rm|mkfs\S*|dd|shutdown|reboot|shred|wipefs)\b/.exec(command)?.[0] ??
    (dangerous.length > 0 ? mentioned(command, dangerous) : undefined);
  const destructive = risky === undefined ? [] : [finding(command, ["unreadable", risky])];
  return {
    ruling,
    segments: [],
    readOnly: false,
    listedReaders: false,
    unparsable: why,
    destructive,
  };
}

type CommandContext = Pick<JudgeContext, "ruleSet" | "paths" | "pathContext">;

/**
 * Judges one command of a line. Undefined when it is neutral: it needs no rule next to commands
 * that are allowed.
 */
function evaluateCommand(effects: Effects, rules: ToolRules, context: CommandContext): Ruling | undefined {
  const ruling = refusal(effects, rules, context) ?? allowance(effects, rules, context);
  if (ruling || effects.readOnly) return ruling;
  const why = effects.dynamic ?? effects.risk ?? effects.guarded;
  if (why !== undefined) return unjudged(unclear(why));
  const writes = redirectedWrites(effects).length > 0;
  return unjudged(writes ? message`it writes to a file by redirection` : NO_RULE);
}

/** No rule applies, for a reason that the call itself may give. */
function unjudged(reason: Text = NO_RULE): Ruling {
  return { outcome: "ask", by: "fallback", reason };
}

function unclear(why: string): Text {
  return message`it cannot be judged before it runs: ${why}`;
}

const ONLY_READS = message`it only reads`;

function redirectedWrites({ writes }: Effects): FileUse[] {
  return writes.filter((use) => use.redirect && !isDiscardDevice(use.path));
}

/** Says what denies it, may deny it, protects what it writes, or asks; in this order. */
function refusal(effects: Effects, rules: ToolRules, context: CommandContext): Ruling | undefined {
  const { dynamic } = effects;
  const { paths, pathContext } = context;
  const writes = located(effects.writes.filter(({ path }) => !isDiscardDevice(path)), effects, paths);
  const reads = located(effects.reads.filter(({ path }) => !isDiscardDevice(path)), effects, paths);
  // What is moved or copied as a whole may be an ordinary file.
  const whole = [...reads, ...writes].filter((use) => use.deep);
  const holder = () => whole.some(({ forms }) => !isKnown(forms.real) || isDirectory(forms.real));
  const read = context.ruleSet.family("Read");
  const edit = context.ruleSet.family("Edit");
  function* candidates(list: "deny" | "ask"): Generator<readonly [Rule, Match]> {
    for (const rule of rules[list]) yield [rule, concerns(rule, effects)];
    for (const use of reads) {
      for (const rule of read[list]) yield [rule, matchFile(rule, use, paths, use.moved && holder)];
    }
    for (const use of writes) {
      for (const rule of edit[list]) yield [rule, matchFile(rule, use, paths, use.deep && holder)];
    }
  }
  const find = (list: "deny" | "ask") => {
    let maybe: { rule: Rule; match: Match } | undefined;
    for (const [rule, match] of candidates(list)) {
      if (match === "yes") return { rule, match };
      if (match === "maybe") maybe ??= { rule, match };
    }
    return maybe;
  };
  const denied = find("deny");
  if (denied) {
    return denied.match === "yes"
      ? ruled("deny", denied.rule)
      : unsure(denied.rule, message`only the shell will know all of its words`);
  }
  const deny = rules.deny[0];
  if (dynamic !== undefined && deny) return unsure(deny, dynamic);
  const makesEmpty = /^(?:mkdir|touch)$/.test(baseName(program(effects)[0] ?? ""));
  for (const { forms } of writes) {
    const names = Object.values(forms);
    const what = protectedPath(names, pathContext) ??
      (makesEmpty ? undefined : protectedHolder(names, pathContext));
    if (what) return { outcome: "ask", by: "protected", reason: PROTECTED_KINDS[what] };
  }
  const asked = find("ask");
  if (asked) return ruled("ask", asked.rule);
  const ask = rules.ask[0];
  return dynamic !== undefined && ask ? unsure(ask, dynamic) : undefined;
}

type LocatedUse = FileUse & { readonly forms: PathForms };

/** `holder`: what is below the path is concerned as well, if it is, or becomes, a directory. */
function matchFile(
  rule: Rule,
  use: LocatedUse,
  paths: PathMatcher,
  holder: (() => boolean) | undefined,
): Match {
  // A bare Read or Edit rule is about tools; among commands it concerns what the shell itself opens.
  if (!rule.spec) return use.redirect ? "yes" : "no";
  if (rule.spec.kind === "literal") return use.path === rule.spec.text ? "yes" : "no";
  if (holder && paths.holds(rule.spec.raw, use.forms, holder)) return "yes";
  const match = paths.match(rule.spec.raw, rule.list, use.forms);
  // An unknown word of an ordinary command is most likely harmless; an unknown target of a redirection is
  // not let through.
  return match === "maybe" && !use.redirect && use.forms.lexical === ANY ? "no" : match;
}

function located(uses: readonly FileUse[], { cwds }: Effects, paths: PathMatcher): LocatedUse[] {
  return uses.flatMap((use) => {
    const relative = !/^[/~]/.test(use.path);
    if (relative && !cwds) return [{ ...use, forms: { lexical: ANY, real: ANY } }];
    return (relative ? cwds ?? [] : [undefined]).map((cwd) => ({
      ...use,
      forms: paths.forms(use.path, cwd),
    }));
  });
}

/** Returns the rule that covers the command, if its redirections are covered as well. */
function allowance(effects: Effects, rules: ToolRules, context: CommandContext): Ruling | undefined {
  const bare = rules.allow.find((rule) => !rule.spec);
  if (bare) return ruled("allow", bare);
  const writes = redirectedWrites(effects);
  const edits = context.ruleSet.family("Edit").allow;
  const open = located(writes, effects, context.paths).some(({ forms }) =>
    coveringRule(edits, forms, context.paths) === undefined
  );
  if (open || effects.wrapper) return undefined;
  const rule = rules.allow.find((each) => allows(each, effects));
  if (rule) return ruled("allow", rule);
  const edit = edits[0];
  return effects.runs.length === 0 && writes.length > 0 && edit ? ruled("allow", edit) : undefined;
}

const LISTED_READERS = wordPattern("listed readers");
const LISTED_OPTIONS: ReadonlyMap<string, RegExp> = new Map(
  listed("listed options").map(([name = "", options = ""]) => [name, new RegExp(options)]),
);

/**
 * Reports whether a command is on the short list of what may run without a jail where files have to stay as
 * they are. Exact by intent: nothing but these programs and options, by their plain names, with nothing in
 * front of them.
 */
function isListedReader(effects: Effects): boolean {
  const { dynamic, risk, guarded, via, wrapper, runs, writes } = effects;
  if (dynamic !== undefined || risk !== undefined || guarded !== undefined || wrapper) return false;
  if (via.length > 0 || runs.length !== 1 || writes.some(({ path }) => !isDiscardDevice(path))) return false;
  const [name = "", ...words] = program(effects);
  if (LISTED_READERS.test(name)) return true;
  const options = LISTED_OPTIONS.get(name);
  return options !== undefined &&
    words.every((word) => isKnown(word) && (!/^[-(!]/.test(word) || options.test(word)));
}

/** Describes a line pass by pass, for `permissions check --explain`. */
function describeLine(source: string, line: Line): LineDescription {
  return {
    parse: outline(parseScript(source).tree, source, 0),
    expand: line.commands.map(commandText),
    effects: [
      ...line.commands.map(effectsText),
      ...line.dynamic === undefined ? [] : [`the line as a whole is dynamic: ${line.dynamic}`],
    ],
  };
}

/** Nodes that only group others, or that are parts of a word. */
const UNSHOWN =
  /^(?:Script|Statement|CompoundList|Word|Literal|\w*Quoted|AnsiCQuoted|Glob|Redirect|Assignment)$/;

function outline(node: SyntaxNode, source: string, depth: number): string[] {
  const shown = !UNSHOWN.test(node.type);
  const lines = shown
    ? [`${"  ".repeat(depth)}${node.type}: ${brief(source.slice(node.pos, node.end))}`]
    : [];
  forEachChild(node, (child) => void lines.push(...outline(child, source, depth + (shown ? 1 : 0))));
  return lines;
}

function brief(text: string): string {
  return cutText(readable(text).replace(/\s+/g, " ").trim(), 100);
}

function readable(text: string): string {
  return text.replaceAll(ANY, "…").replaceAll(STAR, "*").replaceAll(ONE, "?").replaceAll(SEP, " ");
}

function commandText({ command }: Effects): string {
  const { argv, assigns, input, cwds, supply } = command;
  const words = argv.map((word) => JSON.stringify(readable(word))).join(" ");
  return [
    words === "" ? `(no program) ${brief(command.text)}` : words,
    ...assigns.map(({ name, value }) => `sets ${name} to ${brief(value)}`),
    ...(input.kind === "inherited" ? [] : [`input: ${input.kind}`]),
    ...(supply ? [`words from ${supply.directories.map(readable).join(", ")}`] : []),
    `in ${cwds?.map(readable).join(" or ") ?? "an unknown directory"}`,
  ].join("; ");
}

function effectsText(effects: Effects): string {
  const { via, reads, writes, network, destructive, dynamic, guarded, risk, readOnly, command } = effects;
  const paths = (uses: readonly FileUse[]) => uses.map(({ path }) => brief(path)).join(", ");
  const runs = program(effects).map(readable).join(" ");
  return [
    runs === "" ? brief(command.text) : `runs ${brief(runs)}`,
    ...(via.length > 0 ? [`through ${via.join(", ")}`] : []),
    ...(reads.length > 0 ? [`reads ${paths(reads)}`] : []),
    ...(writes.length > 0 ? [`writes ${paths(writes)}`] : []),
    ...(network ? ["uses the network"] : []),
    ...destructive.map(({ action, paths }) =>
      `may destroy: ${textOf(describeAction(action, paths?.map(brief).join(", ")))}`.trim()
    ),
    ...[dynamic, guarded, risk].flatMap((reason) => reason === undefined ? [] : [reason]),
    ...(readOnly ? ["only reads"] : []),
  ].join("; ");
}
