import { EXIT, formatLocation } from "../../../src/core/mod.ts";
import type { McpServer, McpServers, ServerStatus } from "../../../src/mcp/mod.ts";
import { oneLine, terminalSafe } from "../../../src/util/terminal_text.ts";
import { palette } from "../../../src/view/mod.ts";
import { displayOf } from "../../terminal/display.ts";
import { forReader } from "../../terminal/narrow.ts";
import type { CliContext } from "../../terminal/process.ts";
import { counted, toolLines } from "./list.ts";
import { openNamed, type OpenServers } from "./open.ts";

interface ShowFlags {
  readonly json?: boolean;
}

/** The view of a server that has started. */
interface View {
  readonly lines: (server: McpServer, servers: McpServers) => readonly string[];
  readonly data: (server: McpServer, servers: McpServers) => Readonly<Record<string, unknown>>;
}

const problemLines = ({ problems }: ServerStatus) => problems.map((problem) => `! ${oneLine(problem, 300)}`);

const VIEWS = {
  status: {
    lines: ({ status }) => problemLines(status),
    data: () => ({}),
  },
  tools: {
    lines: ({ spec, status }, servers) => [
      ...problemLines(status),
      ...toolLines(servers.offers().filter(({ server }) => server === spec.name).map(({ info }) => info)),
    ],
    data: ({ spec }, servers) => ({
      tools: servers.offers().filter(({ server }) => server === spec.name).map(({ info, name, alias }) => {
        const { claimsToRead, dialect, schema, ...rest } = info;
        const whole = dialect === undefined ? schema : { $schema: dialect, ...schema };
        return { ...rest, schema: whole, readOnly: claimsToRead, calledBy: name, alias };
      }),
    }),
  },
  resources: {
    lines: ({ spec, listing: { resources, templates } }) =>
      [...resources, ...templates].map(({ uri, name, description }) =>
        `@${oneLine(spec.name, 60)}:${oneLine(uri, 300)}  ${
          oneLine([name, description].filter(Boolean).join(": "), 200)
        }`
      ),
    data: ({ listing: { resources, templates } }) => ({ resources, templates }),
  },
  prompts: {
    lines: ({ spec }, servers) =>
      servers.prompts().filter(({ server }) => server === spec.name).map(({ name, prompt }) => {
        const { description, arguments: args } = prompt;
        const names = args.map((each) => each.required ? `<${each.name}>` : `[${each.name}]`);
        const head = oneLine([`/${name}`, ...names].join(" "), 200);
        return `${head}  ${oneLine(description, 200)}`;
      }),
    data: ({ listing: { prompts } }) => ({ prompts }),
  },
} as const satisfies Readonly<Record<string, View>>;

/** Starts servers and shows one side of them; a server that cannot be used is a line, and exit code 1. */
function show(view: keyof typeof VIEWS) {
  return async function (this: CliContext, flags: ShowFlags, name?: string): Promise<void> {
    const { stdout, stderr } = this.process;
    const { lines, data }: View = VIEWS[view];
    await openNamed(this, { name }, async ({ servers, rows }) => {
      const out = rows.filter(({ state, name: other }) =>
        name === undefined && (state === "untrusted" || state === "left out") &&
        !servers.servers.some(({ spec }) => spec.name === other)
      );
      await servers.start();
      const failed = servers.servers.filter(({ status }) => status.state !== "ready");
      if (flags.json) {
        const all = servers.servers.map((server) => ({
          ...(view === "status" ? server.status : { name: server.spec.name, state: server.status.state }),
          ...data(server, servers),
        }));
        const rest = out.map((row) => ({
          name: row.name,
          state: row.state,
          detail: row.why,
          remedy: row.remedy,
        }));
        const elsewhere = servers.status.filter(({ state }) => state === "provider");
        stdout.json([...all, ...elsewhere, ...rest]);
      } else {
        const colours = palette(displayOf(this).outColor);
        for (const server of servers.servers) {
          stdout.exact(forReader(`${statusLine(server.status, colours)}\n`));
          if (server.status.state !== "ready") continue;
          for (const line of lines(server, servers)) stdout.exact(forReader(`  ${line}\n`));
        }
        for (const status of servers.status.filter(({ state }) => state === "provider")) {
          stdout.exact(forReader(`${elsewhereLine(status, colours)}\n`));
        }
        for (const { name, why = "", remedy = "" } of out) {
          stdout.exact(forReader(`${colours.warning("!")} ${oneLine(`${name}  ${why}; ${remedy}`, 600)}\n`));
        }
        if (servers.status.length + out.length === 0) {
          stderr.write(
            "No MCP server is switched on here; `reasonix mcp list` shows those that are described\n",
          );
        }
      }
      if (failed.length > 0) this.process.exitCode = EXIT.failed;
    });
  };
}

export const status = show("status");
export const tools = show("tools");
export const resources = show("resources");
export const prompts = show("prompts");

/** A server that the model's provider speaks to: nothing of it can be tried from here. */
function elsewhereLine({ name }: ServerStatus, { good }: ReturnType<typeof palette>): string {
  return `${good("→")} ${oneLine(name, 60)}  the model's provider speaks to it (kinds anthropic and ` +
    'responses, transport = "provider"); nothing of it runs here';
}

function statusLine(status: ServerStatus, { good, bad }: ReturnType<typeof palette>): string {
  const name = oneLine(status.name, 60);
  const { state, detail = "", greetedMs = 0, listedMs = 0, protocol = "" } = status;
  if (state !== "ready") return `${bad("✗")} ${name}  ${state}: ${oneLine(detail, 600)}`;
  return `${good("✓")} ${name}  ${counted(status)}  ${greetedMs + listedMs} ms, protocol ${protocol}`;
}

/** Starts a server, says how each step went and how long it took, and ends it. */
export async function test(this: CliContext, _flags: unknown, name: string): Promise<void> {
  const { stdout } = this.process;
  const { good, bad, dim, warning } = palette(displayOf(this).outColor);
  const print = (text: string) => stdout.exact(forReader(`${text}\n`));
  let works = false;
  const onClosed = (ms: number) => works && print(`${good("✓")} ${seconds(ms)}  ended`);
  await openNamed(this, { name, onClosed }, async ({ servers, rows }: OpenServers) => {
    const server = servers.named(name);
    const row = rows.find((each) => each.name === name && each.target !== undefined);
    const where = row?.place === undefined ? "" : formatLocation(row.place);
    print(`${oneLine(name, 60)}  ${server.spec.type}  ${oneLine(row?.target ?? "", 400)}`);
    print(dim(`  ${terminalSafe(where)}${row?.state === "off" ? ", switched off there" : ""}`));
    const limit = server.spec.startupMs > 0 ? ` (at most ${server.spec.startupMs / 1000} s)` : "";
    this.process.stderr.write(`· Starting${limit}\n`);
    const begun = performance.now();
    await server.start();
    const { status } = server;
    const ended = performance.now();
    if (status.state !== "ready") {
      print(`${bad("✗")} ${seconds(ended - begun)}  ${stateText(status)}`);
      const log = logEnd(server);
      if (log.length > 0) print(["  Its last words:", ...log.map((line) => `    ${line}`)].join("\n"));
      print(dim(`  All of its log: ${terminalSafe(status.log)}`));
      this.process.exitCode = EXIT.failed;
      return;
    }
    const { about, protocol = "", capabilities = [] } = status;
    const who = oneLine([about?.name, about?.version].filter(Boolean).join(" "), 100) ||
      "a server without a name";
    print(`${good("✓")} ${seconds(status.greetedMs ?? 0)}  ${who} answers, protocol ${protocol}`);
    print(
      `${good("✓")} ${seconds(status.listedMs ?? 0)}  ${counted(status)}; ` +
        `supports ${capabilities.map((each) => oneLine(each, 40)).join(", ") || "nothing"}`,
    );
    for (const line of toolLines(servers.offers().map(({ info }) => info))) print(`  ${line}`);
    for (const problem of status.problems) print(`${warning("!")} ${oneLine(problem, 300)}`);
    works = true;
  });
}

function seconds(ms: number): string {
  return (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`).padStart(7);
}

function stateText({ state, detail = "" }: ServerStatus): string {
  return state === "needs-auth" ? `it wants a sign-in: ${detail}` : oneLine(detail || state, 1_000);
}

/** The last output of the server; a second attempt repeats the lines of the first. */
function logEnd({ log }: McpServer): string[] {
  const lines = log.last.map((line) => oneLine(line, 400));
  return lines.filter((line, at) => line !== lines[at - 1]);
}
