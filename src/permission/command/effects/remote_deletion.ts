import { isKnown } from "../../../rule/mod.ts";
import type { Call, RemoteDeletion } from "../program.ts";
import { inputText } from "../languages/embedded_code.ts";
import type { Destruction } from "../types.ts";

/** Nothing is deleted with one of these, and `help` in front. */
const HARMLESS = /^--(?:help|version|dry-run(?:=(?!none$|false$).*)?)$/;

/** Returns what a client of a service deletes there, by its table. It takes an open network to happen. */
export function remoteDeletion({ name, args, input }: Call, row: RemoteDeletion): Destruction[] {
  if (args[0] === "help" || args.some((word) => HARMLESS.test(word))) return [];
  const found = deletingWord(args, row) ?? deletingOption(args, row) ??
    (row.text ? [args.join(" "), inputText(input) ?? ""].map((text) => row.text?.exec(text)?.[0]) : [])
      .find((text) => text !== undefined);
  return found === undefined ? [] : [{ deed: ["deletesRemote", name, found.trim()], elsewhere: true }];
}

/** A subcommand among the first plain words, whether or not the options in front of it take a word each. */
function deletingWord(
  args: readonly string[],
  { words = "", depth = 1 }: RemoteDeletion,
): string | undefined {
  const plain = args.filter((word) => !word.startsWith("-"));
  const valued = args.filter((word, i) => !word.startsWith("-") && !/^-[^=]*$/.test(args[i - 1] ?? ""));
  const [first] = valued;
  if (words !== "" && first !== undefined && !isKnown(first)) return "…";
  const wanted = words.split(" ").map(toExpression);
  return [...valued.slice(0, depth), ...plain.slice(0, depth)].find((word) =>
    wanted.some((each) => each.test(word))
  );
}

function deletingOption(args: readonly string[], { options = "" }: RemoteDeletion): string | undefined {
  const wanted = options.split(" ").map(toExpression);
  const joined = args.flatMap((word, i) => {
    const short = /^-[A-Za-z]([A-Za-z].*)$/.exec(word)?.[1];
    return [word, `${word}=${args[i + 1] ?? ""}`, ...(short ? [`${word.slice(0, 2)}=${short}`] : [])];
  });
  return joined.find((word) => word.startsWith("-") && wanted.some((each) => each.test(word)));
}

function toExpression(pattern: string): RegExp {
  return pattern === ""
    ? /(?!)/
    : new RegExp(`^${pattern.replace(/[.+?^$()|[\]{}\\]/g, "\\$&").replaceAll("*", ".*")}$`, "i");
}
