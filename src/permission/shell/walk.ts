import { forEachChild, type Redirection, type Statement, type SyntaxNode } from "unbash";
import { ANY, isKnown } from "../../rule/mod.ts";
import { addCommand, type RawCommand } from "./command_words.ts";
import { distinct, type Input, type Line, type PathUse, type Segment } from "./line.ts";
import {
  bindVariable,
  changeFolder,
  childScope,
  type Found,
  type Frame,
  joinFolders,
  type LineContext,
  type Scope,
  variablesAt,
} from "./scope.ts";
import { runsOwnFile } from "./own_files.ts";
import { surveyLine, Unparsable } from "./syntax.ts";
import { namesProgram, steers } from "./variables.ts";
import { expandWhole, expandWord } from "./words.ts";

const INHERITED: Input = { kind: "inherited" };
const MAX_NESTED_CODE = 12;
const MAX_LOOP = 24;

/** Takes a line apart, or throws {@linkcode Unparsable}. */
export function readLine(source: string, context: LineContext): Line {
  const found: Found = {
    context,
    segments: [],
    values: new Map(),
    runs: [],
    forkBomb: false,
    defined: new Set(),
    steered: false,
  };
  const scope: Scope = { cwds: [context.cwd], input: INHERITED, straight: true, inFunction: false };
  walkCode(source, found, scope, 0);
  const opaque = found.opaque ?? runsOwnFile(found);
  return {
    segments: distinct(found.segments),
    ...(opaque === undefined ? {} : { opaque }),
    forkBomb: found.forkBomb,
  };
}

/** Walks the line itself, or shell code that a command of it is handed. */
function walkCode(code: string, found: Found, scope: Scope, depth: number): void {
  if (depth > MAX_NESTED_CODE) throw new Unparsable("it is nested too deeply");
  const survey = surveyLine(code);
  if (survey.opaque !== undefined) found.opaque ??= survey.opaque;
  if ([...survey.writes.keys()].some(steers)) found.steered = true;
  walkList(survey.script.commands, { found, survey, source: code, depth }, scope);
}

function walkList(list: readonly Statement[], frame: Frame, scope: Scope): void {
  for (const statement of list) {
    walkNode(statement.command, frame, statement.background ? childScope(scope) : scope);
  }
}

function walkNode(node: SyntaxNode, frame: Frame, scope: Scope): void {
  switch (node.type) {
    case "Command":
      return walkCommand(node, frame, scope);
    case "Pipeline":
      return walkPipeline(node, frame, scope);
    case "AndOr":
      return walkAndOr(node, frame, scope);
    case "Redirected": {
      const { uses, input } = readRedirects(node.redirects, frame, scope);
      node.redirects.forEach((redirect) => walkNested(redirect, frame, scope));
      if (uses.length > 0) addCommand(bare(textOf(node.redirects, frame), uses, scope), frame, () => {});
      const inner = { ...scope, ...(input ? { input } : {}) };
      walkNode(node.command, frame, inner);
      scope.cwds = inner.cwds;
      return;
    }
    case "BraceGroup":
      return walkList(node.body.commands, frame, scope);
    case "Subshell":
      return walkList(node.body.commands, frame, childScope(scope));
    case "Function":
      return walkFunction(node, frame, scope);
    case "Coproc":
      return walkNode(node.body, frame, childScope(scope));
    case "CompoundList":
      return walkList(node.commands, frame, scope);
    case "If":
    case "Case":
      return walkBranches(node, frame, scope);
    case "While":
    case "For":
    case "Select":
    case "ArithmeticFor":
      return walkLoop(node, frame, scope);
    case "TestCommand":
    case "ArithmeticCommand":
      return walkNested(node, frame, scope);
    default:
      throw new Unparsable(`it uses syntax that is not known here (${node.type})`);
  }
}

/** Substitutions anywhere below a node that runs no command itself. */
function walkNested(node: SyntaxNode, frame: Frame, scope: Scope): void {
  if (node.type === "Script") {
    return walkList(node.commands, nestedSource(node.source, frame), childScope(scope));
  }
  forEachChild(node, (child) => walkNested(child, frame, scope));
}

/** A script in escaped backticks has its own text, in which its positions count. */
function nestedSource(source: string | undefined, frame: Frame): Frame {
  return source === undefined ? frame : { ...frame, source };
}

function walkPipeline(node: Extract<SyntaxNode, { type: "Pipeline" }>, frame: Frame, scope: Scope): void {
  if (node.commands.length === 1) return node.commands.forEach((command) => walkNode(command, frame, scope));
  let from: readonly Segment[] | undefined;
  for (const command of node.commands) {
    const start = frame.found.segments.length;
    const input: Input = from ? { kind: "pipe", from } : scope.input;
    walkNode(command, frame, { ...childScope(scope), input });
    from = frame.found.segments.slice(start);
  }
}

/** Only the first command is sure to run; what later ones change is uncertain for what comes after the list. */
function walkAndOr(node: Extract<SyntaxNode, { type: "AndOr" }>, frame: Frame, scope: Scope): void {
  const before = scope.cwds;
  const values = frame.found.values;
  let first: readonly string[] | undefined;
  let sure = new Map(values);
  let { defined } = frame.found;
  node.commands.forEach((command, index) => {
    if (node.operators[index - 1] === "||") {
      walkNode(command, frame, { ...childScope(scope), cwds: joinFolders(before, scope.cwds) });
    } else walkNode(command, frame, scope);
    if (index > 0) return;
    first = scope.cwds;
    sure = new Map(values);
    defined = frame.found.defined;
  });
  scope.cwds = joinFolders(first, scope.cwds);
  frame.found.defined = defined;
  for (const [name, value] of values) if (sure.get(name) !== value) values.set(name, undefined);
}

function walkBranches(node: Extract<SyntaxNode, { type: "If" | "Case" }>, frame: Frame, scope: Scope): void {
  const ends: Scope[] = [];
  const branch = (body: SyntaxNode) => {
    const inner = childScope(scope);
    walkNode(body, frame, inner);
    ends.push(inner);
  };
  if (node.type === "If") {
    walkNode(node.clause, frame, scope);
    branch(node.then);
    for (const each of node.elif) {
      branch(each.clause);
      branch(each.then);
    }
    if (node.else) branch(node.else);
  } else {
    walkNested(node.word, frame, scope);
    for (const item of node.items) {
      item.pattern.forEach((pattern) => walkNested(pattern, frame, scope));
      branch(item.body);
    }
  }
  scope.cwds = ends.reduce((all, end) => joinFolders(all, end.cwds), scope.cwds);
}

type Loop = Extract<SyntaxNode, { type: "While" | "For" | "Select" | "ArithmeticFor" }>;

function walkLoop(node: Loop, frame: Frame, scope: Scope): void {
  if (node.type === "ArithmeticFor") {
    for (const part of [node.initialize, node.test, node.update]) if (part) walkNested(part, frame, scope);
  }
  const words = node.type === "For" || node.type === "Select" ? node.wordlist ?? [] : [];
  words.forEach((word) => walkNested(word, frame, scope));
  const values = words.flatMap((word) => expandWord(word, variablesAt(frame, scope)));
  const rounds = node.type === "For" && node.wordlist && values.length <= MAX_LOOP && !scope.inFunction
    ? values
    : [undefined];
  const start = scope.cwds;
  for (const value of rounds) {
    if (node.type === "For" || node.type === "Select") bindVariable(frame, node.name.value, value);
    walkBody(node, frame, scope);
  }
  if (node.type === "For" || node.type === "Select") bindVariable(frame, node.name.value, undefined);
  // A body that moves starts its next round elsewhere.
  if (scope.cwds?.join() !== start?.join()) {
    scope.cwds = undefined;
    walkBody(node, frame, scope);
  }
}

function walkBody(node: Loop, frame: Frame, scope: Scope): void {
  const inner = childScope(scope);
  if (node.type === "While") walkNode(node.clause, frame, inner);
  walkNode(node.body, frame, inner);
  scope.cwds = joinFolders(scope.cwds, inner.cwds);
}

function walkFunction(node: Extract<SyntaxNode, { type: "Function" }>, frame: Frame, scope: Scope): void {
  const start = frame.found.segments.length;
  const cwds = frame.survey.moves ? undefined : scope.cwds;
  const name = node.name.value;
  const { found } = frame;
  const before = found.defined;
  const sure = !frame.survey.forgets;
  // In its own body a function's name is its own.
  if (sure) found.defined = new Set([...before, name]);
  walkNode(node.body, frame, { ...childScope(scope), cwds, inFunction: true, input: INHERITED });
  if (!scope.straight) found.defined = before;
  const own = found.segments.slice(start).filter((segment) => segment.views[0]?.argv[0] === name);
  if (own.length > 1) found.forkBomb = true;
}

function walkCommand(node: Extract<SyntaxNode, { type: "Command" }>, frame: Frame, scope: Scope): void {
  forEachChild(node, (child) => walkNested(child, frame, scope));
  const variables = variablesAt(frame, scope);
  const text = frame.source.slice(node.pos, node.end);
  const { uses, input = scope.input } = readRedirects(node.redirects, frame, scope);
  const assigns = node.prefix.flatMap((part) => part.type === "Assignment" ? [part] : []);
  if (!node.name) {
    for (const each of assigns) {
      const value = each.value.type === "Word" && !each.index && !each.append
        ? expandWhole(each.value, variables)
        : undefined;
      bindVariable(frame, each.name, scope.straight && value !== ANY ? value : undefined);
    }
    addCommand({ ...bare(text, uses, scope), assigns: assigns.map((each) => each.name) }, frame, () => {});
    return;
  }
  const args = node.args.flatMap((arg) =>
    arg.type === "Word"
      ? expandWord(arg, variables)
      : [`${arg.name}=${arg.value.type === "Word" ? expandWhole(arg.value, variables) : ANY}`]
  );
  const argv = [...expandWord(node.name, variables), ...args];
  const programs = assigns.filter((each) => namesProgram(each.name)).map((each) =>
    each.value.type === "Word" ? expandWhole(each.value, variables) : ANY
  );
  addCommand(
    { text, argv, uses, input, assigns: assigns.map((each) => each.name), scope, programs },
    frame,
    (code) => walkCode(code, frame.found, { ...childScope(scope), input }, frame.depth + 1),
  );
  changeFolder(argv, frame, scope);
}

function readRedirects(
  redirects: readonly Redirection[],
  frame: Frame,
  scope: Scope,
): { uses: PathUse[]; input?: Input } {
  const uses: PathUse[] = [];
  let input: Input | undefined;
  for (const redirect of redirects) {
    if (redirect.type === "HereDoc") {
      const parts = redirect.body.parts ?? [];
      const known = parts.every((part) => part.type === "Literal");
      const body = redirect.operator === "<<-"
        ? redirect.body.text.replace(/^\t+/gm, "")
        : redirect.body.text;
      const plain = redirect.delimiter?.quoted ? body : /[\\$`]/.test(body) ? undefined : body;
      input = { kind: "text", text: known ? plain : undefined };
      continue;
    }
    const target = redirect.target ? expandWhole(redirect.target, variablesAt(frame, scope)) : ANY;
    if (redirect.type === "HereString") {
      input = { kind: "text", text: isKnown(target) ? `${target}\n` : undefined };
      continue;
    }
    const duplicate = /^[<>]&$/.test(redirect.operator) && /^(?:\d+-?|-)$/.test(target);
    if (redirect.operator.startsWith("<") && !duplicate) input = { kind: "file" };
    if (duplicate) continue;
    if (redirect.operator !== "<" && redirect.operator !== "<&") {
      const append = redirect.operator.endsWith(">>") ? { append: true } as const : {};
      uses.push({ path: target, access: "write", redirect: true, ...append });
    }
    if (redirect.operator === "<" || redirect.operator === "<>") {
      uses.push({ path: target, access: "read", redirect: true });
    }
  }
  return input ? { uses, input } : { uses };
}

function bare(text: string, uses: readonly PathUse[], scope: Scope): RawCommand {
  return { text, argv: [], uses, input: INHERITED, assigns: [], scope };
}

function textOf(redirects: readonly Redirection[], frame: Frame): string {
  return redirects.map((redirect) => frame.source.slice(redirect.pos, redirect.end)).join(" ");
}
