import { isKnown } from "../../../rule/mod.ts";
import { type Call, dynamic, type Found, type Program } from "../program.ts";
import { DOT_FILES } from "./interpreters.ts";
import { SQL_DELETION } from "./network.ts";

/** Commands of these clients that only ask or format; all others may run or write something. */
const PLAIN_DOT =
  /^\.(?:tables|schema|fullschema|dump|mode|headers?|indexes|indices|databases|timer|width|separator|nullvalue|quit|exit|help|show|stats|bail|echo|explain|changes|limit|timeout|print)\b/;
const PLAIN_BACKSLASH =
  /^\\(?:d\S*|l\+?|x|q|t|a|c\S*|z|timing|pset|echo|conninfo|sf|sv|encoding|h|G|\?)(?:\s|$)/;
const RUNS = /\bprogram\s*['$]|\bload_extension\s*\(|\bedit\s*\(/i;
/** Commands that these clients take without a sign in front; elsewhere they are names of columns. */
const BARE_CLIENT = /^(?:mysql|mariadb)$/;
const BARE_RUNS = /\b(?:system|pager|edit|source)\s/i;

/** Clients of databases run commands on request, and read more requests from their input. */
function client({ name, args, input }: Call): Found | undefined {
  const told = dynamic(`${name} is given commands that may run a program`);
  if (args.some((word) => /^-{1,2}(?:init|cmd|pager)\b/.test(word) || !isPlain(word, name))) return told;
  if (input.kind === "inherited") return undefined;
  return input.kind === "text" && input.text !== undefined && isPlain(input.text, name) ? undefined : told;
}

function isPlain(text: string, name: string): boolean {
  if (!isKnown(text) && !/^[\w./]/.test(text)) return false;
  if (RUNS.test(text) || (BARE_CLIENT.test(name) && BARE_RUNS.test(text))) return false;
  const dots = text.split("\n").map((line) => line.trim()).filter((line) => /^\.[a-z]/i.test(line));
  const slashes = [...text.matchAll(/\\./g)].map((match) => text.slice(match.index));
  return dots.every((line) => PLAIN_DOT.test(line) || /^\.{1,2}\//.test(line)) &&
    slashes.every((rest) => PLAIN_BACKSLASH.test(rest));
}

const SQL = { text: SQL_DELETION };

export const DATABASES: readonly Program[] = [
  { names: "sqlite3", files: "reads", obeys: DOT_FILES, read: client, prints: "--version -version" },
  { names: "sqlite duckdb", read: client },
  { names: "psql", network: true, obeys: DOT_FILES, read: client, prints: "--version -V", remote: SQL },
  { names: "mysql mariadb", network: true, read: client, prints: "--version -V", remote: SQL },
];
