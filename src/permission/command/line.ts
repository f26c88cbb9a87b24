import { effects } from "./effects/effects.ts";
import { expand, type Start } from "./expand/expand.ts";
import { parseScript, Unparsable } from "./parse.ts";
import { runsOwnFile } from "./effects/self_written.ts";
import { type Effects, type Environment, INHERITED, type Line, type SimpleCommand } from "./types.ts";

const MAX_NESTED_CODE = 12;
const MAX_COMMANDS = 2000;

/** Takes a line apart in three passes, nested code included, or throws {@linkcode Unparsable}. */
export function readLine(source: string, environment: Environment): Line {
  const reader = new LineReader(environment);
  reader.read(source, { cwds: [environment.cwd], input: INHERITED, functions: new Set() }, 0);
  const { found, forkBomb, affectsLookup } = reader;
  const dynamic = reader.dynamic ?? runsOwnFile(found, environment, affectsLookup);
  return { commands: distinct(found), dynamic, forkBomb };
}

class LineReader {
  readonly found: Effects[] = [];
  forkBomb = false;
  affectsLookup = false;
  dynamic: string | undefined;
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  read(source: string, start: Start, depth: number): void {
    if (depth > MAX_NESTED_CODE) throw new Unparsable("it is nested too deeply");
    const script = parseScript(source);
    const expansion = expand(script, this.#environment, start);
    this.dynamic ??= script.dynamic;
    this.forkBomb ||= expansion.forkBomb;
    this.affectsLookup ||= expansion.affectsLookup;
    const outer = [...start.written ?? [], ...script.writes.keys()];
    const written = new Set(outer);
    // The one `eval` of a script may write what it likes, but not before it begins.
    const alone = script.writes.get("*") === 1 && !start.written?.has("*");
    const inside = alone ? new Set(outer.filter((name) => name !== "*")) : written;
    for (const command of expansion.commands) this.#follow(command, { written, inside }, depth);
  }

  /** Adds a command and what it hands on: words of another command, or code for a shell. */
  #follow(
    command: SimpleCommand,
    script: { readonly written: ReadonlySet<string>; readonly inside: ReadonlySet<string> },
    depth: number,
  ): void {
    if (this.found.length > MAX_COMMANDS) throw new Unparsable("it has too many commands");
    if (depth > MAX_NESTED_CODE * 4) throw new Unparsable("it is nested too deeply");
    const result = effects(command, this.#environment);
    this.found.push(result);
    const { via, cwds } = result;
    for (const nested of result.nested) {
      if ("argv" in nested) {
        const { argv, supply = command.supply } = nested;
        const inner = {
          ...command,
          argv,
          supply,
          via,
          cwds,
          assigns: [],
          reads: [],
          writes: [],
          functions: NONE,
        };
        this.#follow(inner, script, depth + 1);
      } else {
        const written = nested.inside ? script.inside : script.written;
        const functions = nested.inside ? command.functions : NONE;
        this.read(nested.code, { cwds, input: command.input, functions, written }, depth + 1);
      }
    }
  }
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Each different command once: the rounds of a loop are mostly the same ones, and judging is what takes
 * time.
 */
function distinct(commands: readonly Effects[]): readonly Effects[] {
  if (new Set(commands.map(({ command }) => command.text)).size === commands.length) return commands;
  const seen = new Set<string>();
  return commands.filter((each) => {
    const { size } = seen;
    return seen.add(keyOf(each)).size > size;
  });
}

function keyOf({ command, runs, via, reads, writes, cwds, dynamic, guarded, risk }: Effects): string {
  const { text, input, supply } = command;
  const from = input.kind === "pipe"
    ? input.from.map((each) => each.text)
    : input.kind === "text"
    ? input.text
    : "";
  return JSON.stringify([
    text,
    runs,
    via,
    reads,
    writes,
    cwds,
    input.kind,
    from,
    supply,
    dynamic,
    guarded,
    risk,
  ]);
}
