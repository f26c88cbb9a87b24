import type { Offence } from "./project.ts";

/** A file that may break one rule, and why. With `limit`, only up to that number. */
interface Exemption {
  readonly rule: string;
  readonly path: string;
  readonly limit?: number;
  readonly reason: string;
}

/** The only place where a house rule is switched off. An entry that is no longer needed fails the tests. */
const EXEMPTIONS: readonly Exemption[] = [
  {
    rule: "no private paths",
    path: "src/permission/command/programs.txt",
    reason: "The table of package registries that a person can open for commands",
  },
  {
    rule: "no private paths",
    path: "tests/unit/permission/network_need_test.ts",
    reason: "Tests which registries that table names for a command",
  },
  {
    rule: "no console, no exit",
    path: "plugins/main.ts",
    reason: "An entry module: no worker or timer of a plugin keeps its process when the client is gone",
  },
  {
    rule: "no console, no exit",
    path: "scripts/test.ts",
    reason: "A script is its own command line: its exit code is the result of CI",
  },
  {
    rule: "no console, no exit",
    path: "scripts/demo.ts",
    reason: "A script is its own command line: it fails when the project is not repaired",
  },
  {
    rule: "no console, no exit",
    path: "src/tool/host/worker_entry.ts",
    reason: "An entry module: it hands its standard streams to the work it was started for",
  },
  {
    rule: "extensions through their list",
    path: "cli/main.ts",
    reason: "The bare name of the program opens the chat without the parser, which would cost it 6 ms",
  },
  {
    rule: "comments per file",
    path: "mod.ts",
    reason: "Only re-exports; the text is the documentation of the embedding API, run as a test",
  },
  {
    rule: "no console, no exit",
    path: "src/run/tools/worker.ts",
    reason: "The body of worker processes: it hands its standard streams to the tools or the search",
  },
  {
    rule: "imports do nothing",
    path: "src/run/tools/worker_entry.ts",
    reason: "The module the tool process is started from when the program runs from its sources",
  },
  {
    rule: "imports do nothing",
    path: "src/tool/host/worker_entry.ts",
    reason: "The module that searches and answer checks start from when the program runs from its sources",
  },
  {
    rule: "state belongs to sessions",
    path: "src/util/display_width.ts",
    reason: "The width of a character and what segments text are the same for every session",
  },
  {
    rule: "state belongs to sessions",
    path: "src/frontend/repl/composer/buffer.ts",
    reason: "What segments text into words is the same for every session",
  },
  {
    rule: "state belongs to sessions",
    path: "src/tool/text/encoding.ts",
    reason: "A table of an encoding, made when it is first needed",
  },
  {
    rule: "state belongs to sessions",
    path: "src/path/protected.ts",
    reason: "Compiled patterns of a table of the program",
  },
  {
    rule: "state belongs to sessions",
    path: "src/permission/command/program.ts",
    reason: "Compiled options of a table of the program",
  },
  {
    rule: "state belongs to sessions",
    path: "src/view/call_lines.ts",
    reason: "The kinds of tools by their words, a table of the program",
  },
  {
    rule: "state belongs to sessions",
    path: "src/tool/shell/process.ts",
    reason: "The location of a program of the system, which no session changes",
  },
  {
    rule: "state belongs to sessions",
    path: "src/provider/wire/request_buffer.ts",
    reason: "An ability of the runtime",
  },
  {
    rule: "state belongs to sessions",
    path: "src/config/load/layer.ts",
    reason: "Positions in the text of a layer, which hold no longer than the layer",
  },
  {
    rule: "state belongs to sessions",
    path: "src/util/redact.ts",
    reason: "Secrets that came up while the program runs: no session may show one of another",
  },
  {
    rule: "state belongs to sessions",
    path: "src/provider/network/http_client.ts",
    reason: "Connections by proxy and certificates, which are read again for each provider",
  },
  {
    rule: "state belongs to sessions",
    path: "src/provider/network/command_key.ts",
    reason: "Keys by server and command, which runs in the user's home, outside of any session",
  },
  {
    rule: "state belongs to sessions",
    path: "src/provider/managed/managed_server.ts",
    reason: "Servers by their settings, which all programs of the user share",
  },
];

function excuses(exemption: Exemption, rule: string, offence: Offence): boolean {
  if (exemption.rule !== rule || exemption.path !== offence.path) return false;
  return exemption.limit === undefined || (offence.value ?? Infinity) <= exemption.limit;
}

/** The offenses without an exemption, one line each, and the unused exemptions of this rule. */
export function judge(
  rule: string,
  offences: readonly Offence[],
  exemptions: readonly Exemption[] = EXEMPTIONS,
): string[] {
  const mine = exemptions.filter((exemption) => exemption.rule === rule);
  const open = offences.filter((offence) => !mine.some((exemption) => excuses(exemption, rule, offence)));
  const stale = mine.filter((exemption) => !offences.some((offence) => excuses(exemption, rule, offence)));
  return [
    ...open.map(({ path, line, what }) => `${path}${line === undefined ? "" : `:${line}`}: ${what}`),
    ...stale.map(({ path }) => `tests/house/exemptions.ts: the exemption of ${path} is no longer needed`),
  ];
}
