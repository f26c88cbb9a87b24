import { ANY, isKnown } from "../../../rule/mod.ts";
import { getopt, type Program } from "../program.ts";
import { programNamed } from "../programs.ts";
import type { VariableAssignment } from "../types.ts";

/** What a wrapper's words say about the command it runs. */
export type Unwrapped =
  | {
    readonly kind: "inner";
    readonly at: number;
    readonly assigns: readonly VariableAssignment[];
    readonly writes: readonly string[];
    readonly guarded?: string | undefined;
  }
  /** It runs nothing. */
  | { readonly kind: "none"; readonly prints: boolean }
  | { readonly kind: "dynamic"; readonly reason: string };

/** Looks through one wrapper. Undefined when the words are no wrapper's. */
export function unwrap(
  argv: readonly string[],
  name: string,
  row: Program | undefined,
): Unwrapped | undefined {
  const two = programNamed(`${name} ${argv[1] ?? ""}`);
  const wraps = row?.wraps ?? two?.wraps;
  const unknown: Unwrapped = { kind: "dynamic", reason: `${name} is used in a way that is not known here` };
  if (!wraps) {
    const behind = argv[1]?.startsWith("-") === true &&
      argv.slice(2).some((word) => programNamed(`${name} ${word}`)?.wraps !== undefined);
    if (behind || two?.runs) return unknown;
    return row?.runs && argv.length > 1 &&
        !(argv.length === 2 && row.prints?.split(" ").includes(argv[1] ?? ""))
      ? { kind: "dynamic", reason: `${name} runs what its arguments say` }
      : undefined;
  }
  const start = row?.wraps ? 1 : 2;
  const spec = wraps.options ?? "";
  let parsed = getopt(argv.slice(start), spec, true);
  let at = start + parsed.end;
  if (wraps.dash && argv[at] === "-") {
    parsed = getopt(argv.slice(at + 1), spec, true);
    at += 1 + parsed.end;
  }
  if (parsed.unknown !== undefined) return unknown;
  if (parsed.options.some((each) => wraps.queries?.includes(each.name))) {
    return { kind: "none", prints: true };
  }
  const assigns: VariableAssignment[] = [];
  for (; wraps.assigns && argv[at]?.includes("="); at++) {
    const [variable = "", value = ""] = (argv[at] ?? "").split(/=(.*)/s, 2);
    if (!isKnown(variable)) return unknown;
    assigns.push({ name: variable, value });
  }
  const named = wraps.writes?.split(" ") ?? [];
  const writes = parsed.options.flatMap((each) => named.includes(each.name) ? [each.value ?? ""] : []);
  if (named.includes("operand")) writes.push(...argv.slice(at, at + 1));
  at += wraps.operands ?? 0;
  if (wraps.operands) {
    if (argv[at] === "--") at++;
    else if (/^-/.test(argv[at] ?? "")) return unknown;
  }
  if (at >= argv.length) return wraps.shell ? unknown : { kind: "none", prints: wraps.prints === true };
  return {
    kind: "inner",
    at,
    assigns,
    writes: writes.map((path) => isKnown(path) ? path : ANY),
    guarded: wraps.guarded,
  };
}
