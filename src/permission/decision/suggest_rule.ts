import type { PreparedCall } from "../../core/mod.ts";
import type { CommandReport } from "../command/evaluate/evaluate.ts";
import { escapeGlob } from "../../path/glob.ts";
import { absolutePath } from "../../path/lexical.ts";
import type { PathContext } from "../../rule/mod.ts";

/** What a rule is proposed for. */
interface ProposedCall {
  readonly call: PreparedCall;
  readonly subject: string;
  readonly report?: CommandReport;
}

/**
 * The rules an approval could save: exactly this call, and for a plain command a wider prefix.
 * `proves` says whether the call would be allowed with the rule added; what is not proven is not proposed.
 */
export function suggestRules(
  call: ProposedCall,
  places: PathContext,
  proves: (rule: string) => boolean,
): { rule?: string; prefixRule?: string } {
  const exact = exactRule(call, places);
  if (exact === undefined || !proves(exact)) return {};
  const words = call.report?.prefix;
  const prefix = words === undefined ? undefined : `Bash(${words.join(" ")}:*)`;
  return prefix !== undefined && proves(prefix) ? { rule: exact, prefixRule: prefix } : { rule: exact };
}

/** A longer rule is nothing that a person reads before it is saved. */
const MAX_RULE = 2000;

function exactRule({ call, subject }: ProposedCall, places: PathContext): string | undefined {
  const { tool, family, reads, writes = [] } = call;
  if (subject.length > MAX_RULE) return undefined;
  if (family === "Bash") {
    // Quotes and wildcards mean something in a rule; a literal rule takes the line as it is.
    return /^[\w./:=@%+,-]+(?: [\w./:=@%+,-]+)*$/.test(subject) && !subject.endsWith(":*")
      ? `Bash(${subject})`
      : `bash=${subject}`;
  }
  if (family !== "Edit" && family !== "Read") return tool;
  const paths = family === "Edit" ? writes : reads;
  const [path] = paths;
  if (path === undefined || paths.length !== 1) return undefined;
  // The rule is saved for all projects: a relative path would mean a file of each of them.
  const real = places.realPath(absolutePath(path, { cwd: places.cwd, home: places.home }));
  return /[()]/.test(real) ? undefined : `${family}(${escapeGlob(real)})`;
}
