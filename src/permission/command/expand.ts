import {
  forEachChild,
  type Redirection,
  type Statement,
  type SyntaxNode,
  type Word,
  type WordPart,
} from "unbash";
import { expandBraces } from "../../path/glob.ts";
import { absolutePath, normalize } from "../../path/lexical.ts";
import { affectsProgramLookup, type Script, Unparsable } from "./parse.ts";
import {
  type Environment,
  type FileUse,
  INHERITED,
  type Input,
  PROCESS_FILE,
  type SimpleCommand,
} from "./types.ts";
import { ANY, isKnown, ONE, STAR } from "../../rule/mod.ts";

/** The state in which a script starts: the session's shell, or a command that hands it on. */
export interface Start {
  readonly cwds: readonly string[] | undefined;
  readonly input: Input;
  readonly functions: ReadonlySet<string>;
  /** Variables that scripts around this one write; absent for the line itself. */
  readonly written?: ReadonlySet<string>;
}

/** The commands of a script in source order: result of the second pass. */
interface Expansion {
  readonly commands: readonly SimpleCommand[];
  readonly forkBomb: boolean;
  /** A variable is set that says where programs or their settings are looked for. */
  readonly affectsLookup: boolean;
}

const MAX_LOOP = 24;
const MAX_COMMANDS = 2000;
const VOLATILE =
  /^(?:_|RANDOM|SRANDOM|SECONDS|EPOCH\w+|LINENO|SHLVL|PPID|BASH\w*|OLDPWD|FUNCNAME|DIRSTACK|OPTARG|OPTIND|REPLY)$/;

type Loop = Extract<SyntaxNode, { type: "While" | "For" | "Select" | "ArithmeticFor" }>;
type NodeOf<T extends SyntaxNode["type"]> = Extract<SyntaxNode, { type: T }>;

/** Lists the commands of a script with their words expanded as far as they are known beforehand. */
export function expand(script: Script, environment: Environment, start: Start): Expansion {
  const expander = new Expander(script, environment, start);
  expander.list(script.tree.commands, {
    cwds: start.cwds,
    input: start.input,
    straight: start.written === undefined,
    inFunction: false,
    source: script.source,
  });
  return {
    commands: expander.commands,
    forkBomb: expander.forkBomb,
    affectsLookup: [...script.writes.keys()].some(affectsProgramLookup),
  };
}

class Expander {
  readonly commands: SimpleCommand[] = [];
  forkBomb = false;
  readonly #script: Script;
  readonly #environment: Environment;
  readonly #start: Start;
  /** Values of variables the script writes; undefined for those only the shell will know. */
  readonly #values = new Map<string, string | undefined>();
  #functions: ReadonlySet<string>;

  constructor(script: Script, environment: Environment, start: Start) {
    this.#script = script;
    this.#environment = environment;
    this.#start = start;
    this.#functions = start.functions;
  }

  list(statements: readonly Statement[], scope: Scope): void {
    for (const { command, background } of statements) this.#node(command, background ? child(scope) : scope);
  }

  #node(node: SyntaxNode, scope: Scope): void {
    scope.arrived = undefined;
    switch (node.type) {
      case "Command":
        return this.#command(node, scope);
      case "Pipeline":
        return this.#pipeline(node, scope);
      case "AndOr":
        return this.#andOr(node, scope);
      case "Redirected": {
        const { input, ...files } = readRedirects(node.redirects, this.#variables(scope));
        node.redirects.forEach((redirect) => this.#substitutions(redirect, scope));
        const text = node.redirects.map(({ pos, end }) => scope.source.slice(pos, end)).join(" ");
        if (files.reads.length + files.writes.length > 0) this.#add(text, files, scope);
        const inner = { ...scope, ...(input ? { input } : {}) };
        this.#node(node.command, inner);
        scope.cwds = inner.cwds;
        return;
      }
      case "BraceGroup":
        return this.list(node.body.commands, scope);
      case "Subshell":
        return this.list(node.body.commands, child(scope));
      case "Function":
        return this.#function(node, scope);
      case "Coproc":
        return this.#node(node.body, child(scope));
      case "CompoundList":
        return this.list(node.commands, scope);
      case "If":
      case "Case":
        return this.#branches(node, scope);
      case "While":
      case "For":
      case "Select":
      case "ArithmeticFor":
        return this.#loop(node, scope);
      case "TestCommand":
      case "ArithmeticCommand":
        this.#substitutions(node, scope);
        return this.#add(scope.source.slice(node.pos, node.end), {}, scope);
      default:
        throw new Unparsable(`it uses syntax that is not known here (${node.type})`);
    }
  }

  #add(text: string, parts: Partial<SimpleCommand>, scope: Scope): void {
    if (this.commands.length > MAX_COMMANDS) throw new Unparsable("it has too many commands");
    const known = { input: scope.input, cwds: scope.cwds, functions: this.#functions };
    this.commands.push({ text, argv: [], assigns: [], reads: [], writes: [], ...known, ...parts });
  }

  /** Expands the scripts anywhere below a node that runs no command itself. */
  #substitutions(node: SyntaxNode, scope: Scope): void {
    if (node.type === "Script") {
      // A script in escaped backticks has its own text, in which its positions count.
      return this.list(node.commands, { ...child(scope), source: node.source ?? scope.source });
    }
    forEachChild(node, (each) => this.#substitutions(each, scope));
  }

  #pipeline(node: NodeOf<"Pipeline">, scope: Scope): void {
    if (node.commands.length === 1) {
      node.commands.forEach((command) => this.#node(command, scope));
      if (node.prefixes.some(({ type }) => type === "Negation")) scope.arrived = undefined;
      return;
    }
    let from: readonly SimpleCommand[] | undefined;
    for (const command of node.commands) {
      const first = this.commands.length;
      const input: Input = from ? { kind: "pipe", from } : scope.input;
      this.#node(command, { ...child(scope), input });
      from = this.commands.slice(first);
    }
  }

  /**
   * Only the first command is sure to run; what later ones change is uncertain for what comes after the
   * list.
   */
  #andOr(node: NodeOf<"AndOr">, scope: Scope): void {
    const before = scope.cwds;
    let first: Scope["cwds"];
    let sure = new Map(this.#values);
    let functions = this.#functions;
    node.commands.forEach((command, index) => {
      if (node.operators[index - 1] === "||") {
        this.#node(command, { ...child(scope), cwds: join(before, scope.cwds) });
      } else {
        if (index > 0 && scope.arrived) scope.cwds = scope.arrived;
        this.#node(command, scope);
      }
      if (index > 0) return;
      first = scope.cwds;
      sure = new Map(this.#values);
      functions = this.#functions;
    });
    scope.arrived = undefined;
    scope.cwds = join(first, scope.cwds);
    this.#functions = functions;
    for (const [name, value] of this.#values) {
      if (sure.get(name) !== value) this.#values.set(name, undefined);
    }
  }

  #branches(node: NodeOf<"If"> | NodeOf<"Case">, scope: Scope): void {
    const ends: Scope[] = [];
    const branch = (body: SyntaxNode) => {
      const inner = child(scope);
      this.#node(body, inner);
      ends.push(inner);
    };
    if (node.type === "If") {
      this.#node(node.clause, scope);
      branch(node.then);
      for (const each of node.elif) {
        branch(each.clause);
        branch(each.then);
      }
      if (node.else) branch(node.else);
    } else {
      this.#substitutions(node.word, scope);
      for (const item of node.items) {
        item.pattern.forEach((pattern) => this.#substitutions(pattern, scope));
        branch(item.body);
      }
    }
    scope.cwds = ends.reduce((all, end) => join(all, end.cwds), scope.cwds);
  }

  #loop(node: Loop, scope: Scope): void {
    const named = node.type === "For" || node.type === "Select";
    if (node.type === "ArithmeticFor") {
      for (const part of [node.initialize, node.test, node.update]) {
        if (part) this.#substitutions(part, scope);
      }
    }
    const words = named ? node.wordlist ?? [] : [];
    words.forEach((word) => this.#substitutions(word, scope));
    const values = words.flatMap((word) => expandWord(word, this.#variables(scope)));
    const rounds = node.type === "For" && node.wordlist && values.length <= MAX_LOOP && !scope.inFunction
      ? values
      : [undefined];
    const start = scope.cwds;
    for (const value of rounds) {
      if (named) this.#bind(node.name.value, value);
      this.#body(node, scope);
    }
    if (named) this.#bind(node.name.value, undefined);
    // A body that moves starts its next round elsewhere.
    if (scope.cwds?.join() !== start?.join()) {
      scope.cwds = undefined;
      this.#body(node, scope);
    }
  }

  #body(node: Loop, scope: Scope): void {
    const inner = child(scope);
    if (node.type === "While") this.#node(node.clause, inner);
    this.#node(node.body, inner);
    scope.cwds = join(scope.cwds, inner.cwds);
  }

  #function(node: NodeOf<"Function">, scope: Scope): void {
    const first = this.commands.length;
    const name = node.name.value;
    const before = this.#functions;
    // In its own body a function's name is its own.
    if (!this.#script.forgets) this.#functions = new Set([...before, name]);
    const cwds = this.#script.moves ? undefined : scope.cwds;
    this.#node(node.body, { ...child(scope), cwds, inFunction: true, input: INHERITED });
    if (!scope.straight) this.#functions = before;
    if (this.commands.slice(first).filter(({ argv }) => argv[0] === name).length > 1) this.forkBomb = true;
  }

  #command(node: NodeOf<"Command">, scope: Scope): void {
    forEachChild(node, (each) => this.#substitutions(each, scope));
    const variables = this.#variables(scope);
    const text = scope.source.slice(node.pos, node.end);
    const { input = scope.input, ...files } = readRedirects(node.redirects, variables);
    const found = node.prefix.flatMap((part) => part.type === "Assignment" ? [part] : []);
    const assigns = found.map(({ name, value }) => ({
      name,
      value: value.type === "Word" ? expandWhole(value, variables) : ANY,
    }));
    if (!node.name) {
      found.forEach((each, i) => {
        const value = each.index || each.append ? ANY : assigns[i]?.value ?? ANY;
        this.#bind(each.name, scope.straight && value !== ANY ? value : undefined);
      });
      return this.#add(text, { ...files, assigns }, scope);
    }
    const args = node.args.flatMap((arg) =>
      arg.type === "Word"
        ? expandWord(arg, variables)
        : [`${arg.name}=${arg.value.type === "Word" ? expandWhole(arg.value, variables) : ANY}`]
    );
    const argv = [...expandWord(node.name, variables), ...args];
    this.#add(text, { ...files, argv, assigns, input }, scope);
    changeDirectory(argv, scope, this.#environment, variables, this.#script.writes.has("CDPATH"));
  }

  #variables({ cwds, inFunction }: Scope): Variables {
    const { writes, splitsOddly } = this.#script;
    const { written } = this.#start;
    const { env, home } = this.#environment;
    const cwd = cwds?.length === 1 ? cwds[0] : undefined;
    const get = (name: string) => {
      if (writes.has("*") || written?.has("*") || VOLATILE.test(name)) return undefined;
      if (writes.has(name) || written?.has(name)) {
        return inFunction || written ? undefined : this.#values.get(name);
      }
      return name === "PWD" ? cwd : env[name] ?? (name === "HOME" ? home : undefined);
    };
    return { cwd, splitsOddly, get };
  }

  /** Notes what a variable becomes. One that is written in several places is not followed. */
  #bind(name: string, value: string | undefined): void {
    const once = this.#script.writes.get(name) === 1 && this.#start.written === undefined;
    this.#values.set(name, once ? value : undefined);
  }
}

/** The position of the second pass in a script. `cwds` changes during the pass. */
interface Scope {
  cwds: readonly string[] | undefined;
  /** The destination of the `cd` that was just expanded, if it succeeds. */
  arrived?: readonly string[] | undefined;
  readonly input: Input;
  /** This runs exactly once, in order. */
  readonly straight: boolean;
  readonly inFunction: boolean;
  /** The text in which node positions count. */
  readonly source: string;
}

function child(scope: Scope): Scope {
  return { ...scope, straight: false };
}

/** The most directories that are followed: each move that may fail doubles them. */
const MAX_CWDS = 32;

/** Returns all directories of both; undefined as soon as one is unknown, or when they are too many. */
function join(a: Scope["cwds"], b: Scope["cwds"]): Scope["cwds"] {
  const all = a && b ? [...new Set([...a, ...b])] : undefined;
  return all && all.length <= MAX_CWDS ? all : undefined;
}

/**
 * Follows `cd`. When the directory does not exist yet, the move may fail and both directories are possible.
 */
function changeDirectory(
  argv: readonly string[],
  scope: Scope,
  { env, home, isDirectory }: Environment,
  variables: Variables,
  setsCdPath: boolean,
): void {
  const words = /^(?:builtin|command)$/.test(argv[0] ?? "") ? argv.slice(1) : argv;
  const name = words[0];
  const evaluated = name === "eval" &&
    words.some((word) => !isKnown(word) || /\b(?:cd|pushd|popd)\b/.test(word));
  if (name === "popd" || name === "pushd" || evaluated) scope.cwds = undefined;
  if (name !== "cd" || !scope.cwds) return;
  const target = words.slice(1).find((word) => !/^-[LPe@]+$/.test(word) && word !== "--") ??
    variables.get("HOME");
  const temporary = target?.endsWith(`/${MKTEMP_NAME}`);
  const searched = setsCdPath || "CDPATH" in env;
  if (
    target === undefined || target === "-" || (!temporary && !isKnown(target)) ||
    (searched && !/^[./~]/.test(target))
  ) {
    scope.cwds = undefined;
    return;
  }
  scope.arrived = [...new Set(scope.cwds.map((cwd) => normalize(absolutePath(target, { cwd, home }))))];
  scope.cwds = scope.arrived.every(isDirectory) ? scope.arrived : join(scope.arrived, scope.cwds);
}

/** Returns the files that the shell opens for a command, and what becomes its standard input. */
function readRedirects(redirects: readonly Redirection[], variables: Variables) {
  const reads: FileUse[] = [];
  const writes: FileUse[] = [];
  let input: Input | undefined;
  for (const redirect of redirects) {
    if (redirect.type === "HereDoc") {
      input = { kind: "text", text: hereDocument(redirect) };
      continue;
    }
    const { operator } = redirect;
    const path = redirect.target ? expandWhole(redirect.target, variables) : ANY;
    if (redirect.type === "HereString") {
      input = { kind: "text", text: isKnown(path) ? `${path}\n` : undefined };
      continue;
    }
    if (/^[<>]&$/.test(operator) && /^(?:\d+-?|-)$/.test(path)) continue;
    if (operator.startsWith("<")) {
      input = path === PROCESS_FILE ? { kind: "pipe", from: [] } : { kind: "file" };
    }
    if (operator !== "<" && operator !== "<&") {
      const append = operator.endsWith(">>") ? { append: true } as const : {};
      writes.push({ path, redirect: true, ...append });
    }
    if (operator === "<" || operator === "<>") reads.push({ path, redirect: true });
  }
  return { reads, writes, ...(input ? { input } : {}) };
}

/** Returns the text of a here-document, undefined where the shell expands parts of it. */
function hereDocument({ body, delimiter, operator }: Extract<Redirection, { type: "HereDoc" }>) {
  if (!(body.parts ?? []).every((part) => part.type === "Literal")) return undefined;
  const text = operator === "<<-" ? body.text.replace(/^\t+/gm, "") : body.text;
  return delimiter?.quoted || !/[\\$`]/.test(text) ? text : undefined;
}

/** Variables as they are known at one position of a script. */
interface Variables {
  /** The value, or undefined when only the shell will know it. */
  get(name: string): string | undefined;
  /** The working directory, when there is only one it can be. */
  readonly cwd: string | undefined;
  /** `IFS` is not the usual one, so unquoted values split in unknown ways. */
  readonly splitsOddly: boolean;
}

/** A piece of a word; `split` marks an unquoted value that the shell still splits and globs. */
interface Chunk {
  readonly text: string;
  readonly quoted?: true;
  readonly split?: true;
}

const MAX_FIELDS = 256;
/** Characters that a word may become before it counts as unknown: `a=$a$a` doubles a value. */
const MAX_EXPANDED = 64 * 1024;

/** The end of the name that `mktemp` makes, which no other word can have meant. */
export const MKTEMP_NAME = `tmp.${ONE.repeat(10)}`;

/**
 * The words a source word becomes, as far as that is known: braces, tilde, known variables and splitting are
 * done, and marks represent the rest (see pattern.ts).
 */
function expandWord(word: Word, variables: Variables): string[] {
  if (!word.parts) return [sanitize(tilde(word.text, word.value, variables))];
  let forms: Chunk[][] = [[]];
  word.parts.forEach((part, index) => {
    const choices = chunksOf(part, variables, index === 0);
    const [only] = choices;
    if (choices.length === 1 && only) forms.forEach((form) => form.push(...only));
    else if (forms.length * choices.length > MAX_FIELDS) forms = [[{ text: ANY }]];
    else forms = forms.flatMap((form) => choices.map((choice) => [...form, ...choice]));
  });
  const length = forms.reduce((sum, form) => form.reduce((all, { text }) => all + text.length, sum), 0);
  return length > MAX_EXPANDED ? [ANY] : forms.flatMap(toFields);
}

/** A word that is not split, such as an assignment's value or a redirection's target. */
function expandWhole(word: Word, variables: Variables): string {
  const fields = expandWord(word, variables);
  return fields.length === 1 ? fields[0] ?? ANY : fields.length === 0 ? "" : ANY;
}

/** Control characters are marks here, so text that holds any (from `$'\x01'`) is not known text. */
function sanitize(text: string): string {
  return /[^\P{Cc}\t\n]/u.test(text.replaceAll(ANY, "")) ? ANY : text;
}

function tilde(source: string, value: string, variables: Variables): string {
  if (!source.startsWith("~")) return value;
  const end = value.indexOf("/");
  const user = end < 0 ? value : value.slice(0, end);
  const rest = end < 0 ? "" : value.slice(end);
  if (user === "~") return (variables.get("HOME") ?? ANY) + rest;
  if (user === "~+" && variables.cwd !== undefined) return variables.cwd + rest;
  return ANY + rest;
}

function chunksOf(part: WordPart, variables: Variables, first: boolean): Chunk[][] {
  switch (part.type) {
    case "Literal":
      return [[{ text: sanitize(first ? tilde(part.text, part.value, variables) : part.value) }]];
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [[{ text: sanitize(part.value), quoted: true }]];
    case "DoubleQuoted":
    case "LocaleString":
      return [[{ text: "", quoted: true }, ...part.parts.map((inner) => quotedChunk(inner, variables))]];
    case "Glob":
      return [[{ text: part.kind === "question" ? ONE : STAR }]];
    case "ExtendedGlob":
      return [[{ text: part.pattern.includes("/") ? ANY : STAR }]];
    case "BraceExpansion":
      return (part.parts ? [ANY] : bracesOf(part.text)).map((text) => [{ text }]);
    case "ProcessSubstitution":
      return [[{ text: PROCESS_FILE }]];
    default: {
      const value = expansion(part, variables);
      if (value === undefined || variables.splitsOddly) return [[{ text: ANY }]];
      return [[{ text: value, split: true }]];
    }
  }
}

type ExpansionPart = Extract<
  WordPart,
  { type: "SimpleExpansion" | "ParameterExpansion" | "CommandExpansion" | "ArithmeticExpansion" }
>;

function quotedChunk(
  part: Extract<WordPart, { type: "DoubleQuoted" }>["parts"][number],
  variables: Variables,
): Chunk {
  if (part.type === "Literal") return { text: sanitize(part.value), quoted: true };
  return { text: expansion(part, variables) ?? ANY, quoted: true };
}

function expansion(part: ExpansionPart, variables: Variables): string | undefined {
  switch (part.type) {
    case "SimpleExpansion":
      return variables.get(part.text.slice(1));
    case "ParameterExpansion": {
      if (part.prefix || part.index) return undefined;
      const value = variables.get(part.parameter);
      if (!part.operation) return value;
      // With a value that is set and not empty, `${x:-…}` and `${x:?…}` are the value.
      return part.operation.type === "Default" && /^:?[-=?]$/.test(part.operation.operator) && value
        ? value
        : undefined;
    }
    case "CommandExpansion":
      return knownOutput(part.text, variables);
    case "ArithmeticExpansion":
      return undefined;
  }
}

/** Output of the few substitutions whose result is known beforehand. */
function knownOutput(source: string, variables: Variables): string | undefined {
  const command = source.replace(/^\$\(\s*|^`\s*|\s*[)`]$/g, "");
  if (command === "pwd") return variables.cwd;
  if (/^mktemp(?: -d| --directory| -q)*$/.test(command)) {
    return `${variables.get("TMPDIR") || "/tmp"}/${MKTEMP_NAME}`;
  }
  return undefined;
}

function toFields(chunks: readonly Chunk[]): string[] {
  const fields: string[] = [];
  let field: string | undefined;
  for (const chunk of chunks) {
    if (!chunk.split) {
      if (chunk.quoted || chunk.text !== "") field = (field ?? "") + chunk.text;
      continue;
    }
    const pieces = chunk.text.split(/[ \t\n]+/);
    pieces.forEach((piece, index) => {
      if (index > 0 && field !== undefined) {
        fields.push(field);
        field = undefined;
      }
      if (piece !== "") {
        field = (field ?? "") + piece.replaceAll("*", STAR).replaceAll("?", ONE).replace(/\[[^\]]*\]/g, STAR);
      }
    });
  }
  if (field !== undefined) fields.push(field);
  return fields;
}

/** Brace expansion of a word part without quotes or expansions inside. What is odd becomes unknown. */
function bracesOf(text: string): string[] {
  const sequence = /^\{(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?\}$/.exec(text);
  if (sequence) return expandSequence(sequence[1] ?? "", sequence[2] ?? "", sequence[3]);
  // Braces around a sequence, or without a comma, are no alternatives.
  let rest = text;
  const list = /\{[^{}]*,[^{}]*\}/g;
  while (list.test(rest)) rest = rest.replace(list, "");
  const items = /["'\\$`[\]]/.test(text) || rest !== "" ? undefined : expandBraces(text, MAX_FIELDS);
  return items?.map((item) => item.replaceAll("*", STAR).replaceAll("?", ONE)) ?? [ANY];
}

function expandSequence(from: string, to: string, step: string | undefined): string[] {
  const numeric = /\d/.test(from);
  if (numeric !== /\d/.test(to) || /^-?0\d/.test(from) || /^-?0\d/.test(to)) return [ANY];
  const start = numeric ? Number(from) : from.charCodeAt(0);
  const end = numeric ? Number(to) : to.charCodeAt(0);
  const stride = Math.abs(Number(step ?? 1)) || 1;
  const count = Math.floor(Math.abs(end - start) / stride) + 1;
  if (count > MAX_FIELDS) return [ANY];
  return Array.from({ length: count }, (_, i) => {
    const value = start + i * stride * (end < start ? -1 : 1);
    return numeric ? String(value) : String.fromCharCode(value);
  });
}
