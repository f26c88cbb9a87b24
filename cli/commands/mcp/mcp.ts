import type { CallToolResult } from "@modelcontextprotocol/client";
import { argument, type CommandGroup, entry, flag, JSON_FLAG, optional } from "../../command.ts";
import { ADD, REMOVE } from "./entries.ts";
import { IMPORT_WORDS } from "../../import_flags.ts";
import { displayOf } from "../../terminal/display.ts";
import { forReader } from "../../terminal/narrow.ts";
import { type CliContext, onSignals, runPaths } from "../../terminal/process.ts";
import { type KnownServer, loadServerWork } from "../../../src/features/mod.ts";
import { loadTrustedConfig, type RunPaths } from "../../../src/run/mod.ts";
import {
  formatProblem,
  listServers,
  type LoadedConfig,
  lookUpSecret,
  mcpJsonFile,
  type ServerRow,
  userConfigFile,
} from "../../../src/config/mod.ts";
import {
  EXIT,
  formatLocation,
  isAbort,
  message,
  ReasonixError,
  textOf,
  usageError,
} from "../../../src/core/mod.ts";
import { LineSplitter } from "../../../src/util/lines.ts";
import {
  loadSignIn,
  type McpServer,
  type McpServers,
  type McpServerSpec,
  type McpToolInfo,
  type OfferedTool,
  serverSpecs,
  type ServerStatus,
  type SignedInServer,
} from "../../../src/mcp/mod.ts";
import { preparedCall } from "../../../src/tool/mod.ts";
import { displayWidth, padDisplay } from "../../../src/util/display_width.ts";
import { defined, isRecord, parseJson, recordOf } from "../../../src/util/json.ts";
import { openInBrowser } from "../../../src/util/network/browser.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import { oneLine, terminalSafe } from "../../../src/util/terminal_text.ts";
import { palette } from "../../../src/view/mod.ts";
import { openConfig } from "../../terminal/open.ts";
import { explainCall } from "../../explain_call.ts";

/** Servers for a command that uses them itself: nothing has started yet. */
interface OpenServers {
  readonly servers: McpServers;
  readonly rows: readonly ServerRow[];
  readonly loaded: LoadedConfig;
  readonly paths: RunPaths;
}

/**
 * Works with the servers that count here, or with one, and ends what was started. Untrusted servers of a
 * project are left out. `onClosed` receives the milliseconds that stopping took.
 */
async function openServers<T>(
  context: CliContext,
  name: string | undefined,
  work: (open: OpenServers) => Promise<T>,
  onClosed: (ms: number) => void = () => {},
): Promise<T> {
  const { paths, loaded } = await openConfig(context);
  const rows = listServers(loaded);
  if (name !== undefined) requireServer(rows, name);
  const all = loaded.config.plugins;
  // A server that is named is tried although it is switched off.
  const plugins = name === undefined
    ? all.filter(({ enabled }) => enabled)
    : all.filter((entry) => entry.name === name).map((entry) => ({ ...entry, enabled: true }));
  const { withServers } = await loadServerWork();
  const open = { paths, loaded, plugins, onClosed };
  return await withServers(open, (servers) => work({ servers, rows, loaded, paths }));
}

/** Throws a ReasonixError where no server of that name can be used, and says why. */
function requireServer(rows: readonly ServerRow[], name: string): void {
  const named = rows.filter((row) => row.name === name);
  if (named.some(({ state, target }) => state === "on" || (state === "off" && target !== ""))) return;
  const [row] = named;
  const cannot = `Cannot use the MCP server "${name}"`;
  if (!row) {
    const near = suggestNames(name, rows.map((other) => other.name));
    throw usageError(
      message`${cannot}: no file describes one of that name`,
      near.length > 0
        ? message`did you mean ${near.join(" or ")}?`
        : message`\`reasonix mcp list\` shows them`,
    );
  }
  const place = row.place === undefined ? "" : ` (${formatLocation(row.place)})`;
  if (row.state === "off") {
    throw usageError(
      message`${cannot}: this project switches it off${place}`,
      message`use it in another directory, or take the entry out of the project's file`,
    );
  }
  const isUntrusted = row.state === "untrusted";
  const reason = isUntrusted ? "it comes with the project, and you have not trusted it" : row.why ?? "";
  throw new ReasonixError(`${cannot}: ${reason}${place}`, {
    exit: isUntrusted ? "blocked" : "config",
    ...defined({ remedy: row.remedy }),
  });
}

function listText(paths: RunPaths, rows: readonly KnownServer[]): string {
  if (rows.length === 0) {
    const files = [userConfigFile(paths), mcpJsonFile(paths.cwd)].join(" or ");
    return `No MCP servers. Add one: reasonix mcp add NAME -- COMMAND, or write it into ${files}\n`;
  }
  const home = paths.env("HOME");
  const text = rows.map((row) => rowText(row, paths.cwd)).join("");
  return home && home !== "/" ? text.replaceAll(`${home}/`, "~/") : text;
}

const STATES = {
  on: "on",
  off: "switched off",
  untrusted: "waits for trust",
  "left out": "not used",
} as const;

function rowText(
  { name, state, type, target, why, remedy, source, place, status }: KnownServer,
  cwd: string,
): string {
  const where = place === undefined ? "" : formatLocation(place).replace(`${cwd}/`, "");
  const head = [oneLine(name, 60), type, target === undefined ? undefined : oneLine(target, 300)];
  const facts = [STATES[state], remembered(status), [source, where].filter(Boolean).join(" ")]
    .filter((text) => text !== "");
  const reason = why === undefined
    ? ""
    : `  ${oneLine(why, 600)}${remedy ? `; ${oneLine(remedy, 300)}` : ""}\n`;
  return `${head.filter((text) => text !== undefined && text !== "").join("  ")}\n` +
    `  ${facts.join(" · ")}\n${reason}`;
}

function remembered(status: KnownServer["status"]): string {
  if (!status) return "";
  if (status.state === "provider") return "the model's provider speaks to it";
  const { lastFailure, isKnown } = status;
  if (lastFailure !== undefined) return `its last start failed: ${oneLine(lastFailure, 200)}`;
  return isKnown ? counted(status) : "never started";
}

function counted(
  { tools, prompts, resources }: Pick<ServerStatus, "tools" | "prompts" | "resources">,
): string {
  const some = ([[tools, "tool"], [prompts, "prompt"], [resources, "resource"]] as const)
    .filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}${count === 1 ? "" : "s"}`);
  return some.join(", ") || "no tools";
}

/** Tools in columns: name, `ro` where the server declares that it only reads, what it does, its arguments. */
function toolLines(tools: readonly McpToolInfo[]): string[] {
  const names = tools.map(({ name }) => oneLine(name, 100));
  const width = Math.max(0, ...names.map(displayWidth));
  return tools.map(({ description, schema, claimsToRead }, at) => {
    const text = oneLine(firstSentence(description), 200);
    const parameters = parametersOf(schema);
    const what = [text, ...(parameters === "" ? [] : [`(${parameters})`])].filter(Boolean).join(" ");
    return `${padDisplay(names[at] ?? "", width)}  ${claimsToRead ? "ro" : "  "}  ${what}`.trimEnd();
  });
}

function parametersOf(schema: McpToolInfo["schema"]): string {
  const properties = recordOf(schema.properties);
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, value]) => {
    return oneLine(`${name}${required.includes(name) ? "" : "?"}: ${typeOf(value)}`, 80);
  }).join(", ");
}

function typeOf(schema: unknown): string {
  if (!isRecord(schema)) return "any";
  if (Array.isArray(schema.enum)) return schema.enum.map(String).join("|");
  if (schema.type === "array") return `${typeOf(schema.items)}[]`;
  return [schema.type].flat().filter((type) => typeof type === "string").join("|") || "any";
}

function firstSentence(text: string): string {
  return /^[^]*?[.。](?=\s|$)/.exec(text)?.[0] ?? text;
}

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
function view(view: keyof typeof VIEWS, brief: string) {
  const { lines, data }: View = VIEWS[view];
  return entry(brief, {
    flags: { json: JSON_FLAG },
    args: [optional(argument("Only this server", "name", "servers"))],
    async run({ json }, name?: string) {
      const { stdout, stderr } = this.process;
      await openServers(this, name, async ({ servers, rows }) => {
        const unused = rows.filter(({ state, name: other }) =>
          name === undefined && (state === "untrusted" || state === "left out") &&
          !servers.servers.some(({ spec }) => spec.name === other)
        );
        await servers.start();
        const remote = servers.status.filter(({ state }) => state === "provider");
        if (servers.servers.some(({ status }) => status.state !== "ready")) {
          this.process.exitCode = EXIT.failed;
        }
        if (json) {
          const all = servers.servers.map((server) => ({
            ...(view === "status" ? server.status : { name: server.spec.name, state: server.status.state }),
            ...data(server, servers),
          }));
          const rest = unused.map(({ name, state, why: detail, remedy }) => ({
            name,
            state,
            detail,
            remedy,
          }));
          return stdout.json([...all, ...remote, ...rest]);
        }
        const colors = palette(displayOf(this).outColor);
        const shown = [
          ...servers.servers.flatMap((server) => [
            statusLine(server.status, colors),
            ...(server.status.state === "ready" ? lines(server, servers).map((line) => `  ${line}`) : []),
          ]),
          ...remote.map((status) => remoteLine(status, colors)),
          ...unused.map(({ name, why = "", remedy = "" }) =>
            `${colors.warning("!")} ${oneLine(`${name}  ${why}; ${remedy}`, 600)}`
          ),
        ];
        for (const line of shown) stdout.exact(forReader(`${line}\n`));
        if (servers.status.length + unused.length > 0) return;
        stderr.write(
          "No MCP server is switched on here; `reasonix mcp list` shows those that are described\n",
        );
      });
    },
  });
}

/** A server that the model's provider speaks to: nothing of it can be tried from here. */
function remoteLine({ name }: ServerStatus, { good }: ReturnType<typeof palette>): string {
  return `${good("→")} ${oneLine(name, 60)}  the model's provider speaks to it (kinds anthropic and ` +
    'responses, transport = "provider"); nothing of it runs here';
}

function statusLine(status: ServerStatus, { good, bad }: ReturnType<typeof palette>): string {
  const name = oneLine(status.name, 60);
  const { state, detail = "", greetedMs = 0, listedMs = 0, protocol = "" } = status;
  if (state !== "ready") return `${bad("✗")} ${name}  ${state}: ${oneLine(detail, 600)}`;
  return `${good("✓")} ${name}  ${counted(status)}  ${greetedMs + listedMs} ms, protocol ${protocol}`;
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

type Schema = OfferedTool["info"]["schema"];

const PAIR = /^([^\s={}[\]"]+)=(.*)$/s;

/** Reads the arguments: one JSON object, `-` for standard input, or `key=value` by the types of the tool. */
async function givenArguments(
  words: readonly string[],
): Promise<(schema: Schema) => Record<string, unknown>> {
  const [first = "{}", ...others] = words;
  if (others.length === 0 && !PAIR.test(first)) {
    const args = argumentsOf(first === "-" ? await new Response(Deno.stdin.readable).text() : first);
    return () => args;
  }
  const pairs = words.map((word): readonly [key: string, value: string] => {
    const [, key, value] = PAIR.exec(word) ?? [];
    if (key === undefined || value === undefined) throw unusable(word, "it is no key=value");
    return [key, value];
  });
  const twice = pairs.find(([key], at) => pairs.findIndex((pair) => pair[0] === key) < at);
  if (twice) throw unusable(twice.join("="), `${JSON.stringify(twice[0])} is given twice`);
  return ({ properties }) =>
    Object.fromEntries(
      pairs.map((
        [key, value],
      ) => [key, valueOf(key, value, isRecord(properties) ? properties[key] : undefined)]),
    );
}

/** The value of a word: text where the tool takes text, else what it means as JSON. */
function valueOf(key: string, text: string, schema: unknown): unknown {
  const types = typesOf(schema);
  if (types.includes("string")) return text;
  const value = parseJson(text);
  if (value !== undefined) return value;
  if (types.length === 0) return text;
  throw unusable(`${key}=${text}`, `${key} is to be ${types.join(" or ")}`);
}

/** The types that a value may have, as far as its schema names them. */
function typesOf(schema: unknown): readonly unknown[] {
  if (!isRecord(schema)) return [];
  const { type, enum: values, anyOf, oneOf } = schema;
  const named = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const listed = Array.isArray(values) ? values.map((value) => typeof value) : [];
  const branches = [anyOf, oneOf].flatMap((list) => Array.isArray(list) ? list.flatMap(typesOf) : []);
  return [...named, ...listed, ...branches];
}

function argumentsOf(text: string): Record<string, unknown> {
  const args = parseJson(text);
  if (isRecord(args)) return args;
  throw unusable(text, "it is no JSON object");
}

function unusable(text: string, why: string): ReasonixError {
  return usageError(
    message`Cannot use ${JSON.stringify(text.slice(0, 80))} as arguments: ${why}`,
    `write text=hello count=3, or JSON in quotes, such as '{"text": "hello"}', or - to read that from ` +
      "standard input",
  );
}

function toolOf({ servers }: OpenServers, server: string, tool: string): OfferedTool {
  const offered = servers.offers();
  const found = offered.find(({ info, name, alias }) => [info.name, name, alias].includes(tool));
  if (found) return found;
  const names = offered.map(({ info }) => info.name);
  const near = suggestNames(tool, names);
  const there = names.length === 0 ? "it has none" : `its tools are ${names.slice(0, 30).join(", ")}`;
  throw usageError(
    message`The MCP server "${server}" offers no tool "${tool}"`,
    near.length > 0 ? message`did you mean ${near.join(" or ")}?` : there,
  );
}

/** Throws for a call that the rules refuse. A person who types a call needs no approval of it. */
async function requireAllowed(
  { paths, loaded, servers }: OpenServers,
  name: string,
  args: Record<string, unknown>,
): Promise<void> {
  const tool = servers.tools().find((each) => each.name === name);
  if (!tool) throw new TypeError("The server offers the tool");
  const call = preparedCall({ id: "call", name, arguments: JSON.stringify(args) }, tool, args);
  const { decision, reason, rule, origin } = await explainCall(call, { paths, loaded });
  if (decision !== "deny") return;
  const place = origin === undefined ? "" : ` (${origin})`;
  const why = rule === undefined ? reason : message`the rule ${rule + place} forbids it`;
  throw new ReasonixError(message`Cannot call ${name}: ${why}`, {
    exit: "blocked",
    remedy: message`change the rule, or call another tool`,
  });
}

function resultText({ content, structuredContent }: CallToolResult): string {
  const texts = content.map((block): string => {
    switch (block.type) {
      case "text":
        return block.text;
      case "image":
      case "audio":
        return `[${block.type}: ${block.mimeType}, ${block.data.length} characters of base64; --json prints them]`;
      case "resource_link":
        return `[resource ${block.uri}]`;
      case "resource":
        return "text" in block.resource
          ? block.resource.text
          : `[resource ${block.resource.uri}; --json prints it]`;
    }
  });
  if (texts.length === 0 && structuredContent !== undefined) {
    texts.push(JSON.stringify(structuredContent, null, 2));
  }
  const text = texts.filter((each) => each !== undefined).join("\n");
  return text === "" ? "(no output)\n" : `${text}\n`;
}

/**
 * The servers of a name: the one of the configuration, else those that the user signed in at when their entry
 * had this name. One that is in use under another name is left to that.
 */
async function signedInServers(
  paths: RunPaths,
  name: string,
): Promise<{ readonly loaded: LoadedConfig; readonly servers: readonly SignedInServer[] }> {
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const isDescribed = listServers(loaded).some((row) => row.name === name);
  const { signedInAs } = await loadSignIn();
  const urls = isDescribed ? [] : await signedInAs(name, paths.home);
  if (urls.length === 0) {
    return await configured(paths, name).then(({ spec }) => ({ loaded, servers: [spec] }));
  }
  const others = loaded.config.plugins.filter(({ url = "" }) => urls.some((each) => isSame(each, url)));
  const [other] = others;
  if (other) {
    throw usageError(
      message`Cannot sign out of "${name}": its sign-in is that of "${other.name}" now`,
      message`reasonix mcp logout ${other.name}`,
    );
  }
  return { loaded, servers: urls.map((url) => ({ name, url, headers: {}, oauth: undefined })) };
}

function isSame(address: string, other: string): boolean {
  return URL.parse(address)?.href === URL.parse(other)?.href;
}

async function* pastedLines(signal: AbortSignal): AsyncGenerator<string> {
  const lines = new LineSplitter();
  for await (const bytes of Deno.stdin.readable) {
    if (signal.aborted) return;
    yield* lines.push(bytes);
  }
}

/** A server of the configuration, whether it is switched on or not. */
async function configured(
  paths: RunPaths,
  name: string,
): Promise<{ readonly loaded: LoadedConfig; readonly spec: McpServerSpec }> {
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  requireServer(listServers(loaded), name);
  const entries = loaded.config.plugins.filter((entry) => entry.name === name);
  const [spec] = serverSpecs(entries, { cwd: paths.cwd, callSeconds: 0 });
  if (!spec) throw usageError(message`The MCP server "${name}" does not count here`);
  return { loaded, spec };
}

const NAME = argument("Name of the server", "name", "servers");

export const mcpCommands: CommandGroup = {
  commands: {
    list: entry("List the configured servers", {
      flags: { json: JSON_FLAG },
      async run({ json }) {
        const { paths, loaded } = await openConfig(this);
        const rows = await (await loadServerWork()).knownServers(paths, loaded);
        const { stdout, stderr } = this.process;
        if (json) return stdout.json(rows);
        const ofServers = new Set(loaded.leftOut.map(({ place }) => formatLocation(place)));
        for (const warning of loaded.warnings) {
          const { place } = warning;
          const isOther = place?.file.endsWith(".mcp.json") && !ofServers.has(formatLocation(place));
          if (isOther) stderr.write(`! ${formatProblem(warning)}\n`);
        }
        stdout.write(forReader(listText(paths, rows)));
      },
    }),
    add: ADD,
    remove: REMOVE,
    test: entry("Start a server and show the result", {
      args: [NAME],
      async run(_flags, name) {
        const { good, bad, dim, warning } = palette(displayOf(this).outColor);
        const print = (text: string) => this.process.stdout.exact(forReader(`${text}\n`));
        let works = false;
        await openServers(this, name, async ({ servers, rows }) => {
          const server = servers.named(name);
          const { spec, status: { log } } = server;
          const row = rows.find((each) => each.name === name && each.target !== undefined);
          const where = row?.place === undefined ? "" : formatLocation(row.place);
          print(`${oneLine(name, 60)}  ${spec.type}  ${oneLine(row?.target ?? "", 400)}`);
          print(dim(`  ${terminalSafe(where)}${row?.state === "off" ? ", switched off there" : ""}`));
          const limit = spec.startupMs > 0 ? ` (at most ${spec.startupMs / 1000} s)` : "";
          this.process.stderr.write(`· Starting${limit}\n`);
          const begun = performance.now();
          await server.start();
          const { status } = server;
          if (status.state !== "ready") {
            print(`${bad("✗")} ${seconds(performance.now() - begun)}  ${stateText(status)}`);
            const last = logEnd(server).map((line) => `    ${line}`);
            if (last.length > 0) print(["  Its last words:", ...last].join("\n"));
            print(dim(`  All of its log: ${terminalSafe(log)}`));
            this.process.exitCode = EXIT.failed;
            return;
          }
          const { about, protocol = "", capabilities = [], greetedMs = 0, listedMs = 0 } = status;
          const named = oneLine([about?.name, about?.version].filter(Boolean).join(" "), 100);
          const supported = capabilities.map((each) => oneLine(each, 40)).join(", ") || "nothing";
          print(
            `${good("✓")} ${seconds(greetedMs)}  ${
              named || "a server without a name"
            } answers, protocol ${protocol}`,
          );
          print(`${good("✓")} ${seconds(listedMs)}  ${counted(status)}; supports ${supported}`);
          for (const line of toolLines(servers.offers().map(({ info }) => info))) print(`  ${line}`);
          for (const problem of status.problems) print(`${warning("!")} ${oneLine(problem, 300)}`);
          works = true;
        }, (ms) => works && print(`${good("✓")} ${seconds(ms)}  ended`));
      },
    }),
    status: view("status", "Start servers and show their state"),
    tools: view("tools", "Show the tools of servers"),
    resources: view("resources", "Show the resources of servers"),
    prompts: view("prompts", "Show the prompts of servers"),
    call: entry("Call a tool without a model", {
      description: "Call a tool without a model and print what comes back.\n" +
        "  reasonix mcp call files read_file path=README.md\n" +
        '  reasonix mcp call files read_file \'{"path": "README.md"}\'',
      flags: { json: flag("Print the whole result as JSON") },
      rest: {
        ...argument("Server, tool, then key=value …, a JSON object, or - to read one", "name", "serverTools"),
        minimum: 2,
      },
      async run({ json }, ...[name = "", tool = "", ...words]) {
        const given = await givenArguments(words);
        await openServers(this, name, async (open) => {
          const server = open.servers.named(name);
          await server.start();
          const { signal } = new AbortController();
          const result = await server.use(async (connection) => {
            const offered = toolOf(open, name, tool);
            const args = given(offered.info.schema);
            await requireAllowed(open, offered.name, args);
            return await connection.call(offered.info.name, args, {
              signal,
              progress: (line) => this.process.stderr.write(`· ${line.trimEnd()}\n`),
            });
          }, signal);
          const { stdout } = this.process;
          if (json) stdout.json(result);
          else stdout.write(resultText(result));
          if (result.isError) this.process.exitCode = EXIT.failed;
        });
      },
    }),
    login: entry("Sign in at a server, in the browser", {
      flags: { print: flag("Open no browser, only print the address") },
      args: [NAME],
      async run({ print }, name) {
        const paths = runPaths(this);
        const { loaded, spec } = await configured(paths, name);
        const { stdout, stderr } = this.process;
        const { signIn } = await loadSignIn();
        const life = new AbortController();
        const removeListeners = onSignals({
          stop: () => life.abort(new DOMException("Interrupted", "AbortError")),
          exit: Deno.exit,
        });
        const terminal = Deno.stdin.isTerminal();
        try {
          const { issuer, scope } = await signIn(spec, {
            home: paths.home,
            secret: (variable) => lookUpSecret(variable, loaded.keys),
            visit: (address) => {
              const opened = !print && openInBrowser(address, [paths.cwd]);
              const what = opened
                ? "A browser was opened for the sign-in; its address is"
                : "To sign in, visit";
              // Never broken into lines: it is to be copied.
              stdout.write(`${what}\n\n  ${address.href}\n\n`);
              const paste = terminal
                ? " If the browser is on another machine, paste the address at which it ends."
                : "";
              stderr.write(`· Waiting for the end of the sign-in.${paste}\n`);
            },
            ...(terminal ? { pasted: pastedLines(life.signal) } : {}),
            refused: (why) => stderr.write(`· Not taken: ${textOf(why)}\n`),
            signal: life.signal,
          });
          const rights = scope === undefined ? "" : `, rights: ${oneLine(scope, 300)}`;
          stdout.write(forReader(`Signed in at ${name} (${oneLine(issuer, 200)}${rights})\n`));
          stdout.write(forReader(`Try it: reasonix mcp test ${name}\n`));
        } catch (error) {
          if (!isAbort(error)) throw error;
          stderr.write("Interrupted; nothing was kept\n");
          this.process.exitCode = EXIT.interrupt;
        } finally {
          removeListeners();
          life.abort();
        }
      },
    }),
    logout: entry("Sign out of a server, and forget its tokens", {
      args: [NAME],
      async run(_flags, name) {
        const paths = runPaths(this);
        const { signOut } = await loadSignIn();
        const { loaded, servers } = await signedInServers(paths, name);
        const { stdout, stderr } = this.process;
        const revoked: string[] = [];
        let isKnown = false;
        for (const server of servers) {
          const left = await signOut(server, {
            home: paths.home,
            secret: (variable) => lookUpSecret(variable, loaded.keys),
          });
          isKnown ||= left.known;
          revoked.push(...left.revoked);
          for (const problem of left.problems.map((text) => oneLine(text, 300))) {
            stderr.write(
              `· The tokens could not be given back and are good until they run out: ${problem}\n`,
            );
          }
        }
        const note = revoked.length === 0 ? "" : `; ${oneLine(revoked.join(", "), 300)} took the tokens back`;
        stdout.write(
          forReader(isKnown ? `Signed out of ${name}${note}\n` : `You are not signed in at ${name}\n`),
        );
      },
    }),
    import: entry("Import the servers of another agent", {
      ...IMPORT_WORDS,
      async run(flags, agent) {
        await (await import("../../import_settings.ts")).importFrom(this, flags, agent, "servers");
      },
    }),
  },
};
