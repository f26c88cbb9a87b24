import type { Text } from "../../core/mod.ts";
import type { Translate } from "../translate.ts";

/** The report of `reasonix doctor`. */
export const texts = (t: Translate) => ({
  versions: t`Versions`,
  permissions: t`Permissions of this program`,
  allowed: t`allowed`,
  limited: t`limited`,
  denied: t`denied`,
  needless: (kind: string, name: string) =>
    t`This program was started with permission to load ${kind} (${name}), which it never needs; install it again with a line of docs/install.md`,
  nativeCode: t`native code`,
  remoteModules: t`remote modules`,
  runtimeFault: (version: string, fault: string, source: string, fixedIn: string) =>
    t`Deno ${version} has a known fault: ${fault} (${source}); use Deno ${fixedIn} or newer`,
  deniedSpellings: t`a path denied to file tools opens under another Unicode spelling`,
  unixSockets: t`a process without network permission can connect to Unix sockets`,
  pipeNames: t`a pipe to a program can collide with an existing pipe`,

  paths: t`Paths`,
  configuration: t`Configuration`,
  found: t`found  `,
  absent: t`absent `,

  rules: t`Permission rules`,
  providers: t`Providers`,
  noModel: t`(no model)`,
  keyIs: (state: string) => t`key: ${state}`,
  keyFromCommand: t`from api_key_command`,
  keyInHome: t`set in the home`,
  keyInEnvironment: t`set in the environment`,
  keyMissing: t`MISSING`,
  keyNotNeeded: t`not needed`,
  notAsked: t`not asked`,
  refused: t`reached, but refused`,
  notReachable: t`NOT reachable`,
  answersWithoutList: (model: string) => t`${model} answers; no list of models`,
  itAnswersWithoutList: t`it answers; no list of models`,
  reachable: (count: number) => count === 1 ? t`reachable, 1 model` : t`reachable, ${count} models`,
  notListed: (provider: string, missing: string, listed: string, more: number) =>
    more > 0
      ? t`${provider}: the server does not list ${missing}; choose one of ${listed} and ${more} more`
      : t`${provider}: the server does not list ${missing}; choose one of ${listed}`,
  smallWindow: (provider: string, model: string, tokens: number, configured: number) =>
    t`${provider}: the server gives ${model} a window of ${tokens} tokens, but context_window is ${configured}; set context_window = ${tokens}, or have the server give it more`,

  serverStopped: t`server not running`,
  serverUnusable: t`server cannot be started`,
  serverRuns: (pid: number, port: number, users: number) =>
    users === 1
      ? t`server runs: process ${pid}, port ${port}, used by 1 process`
      : t`server runs: process ${pid}, port ${port}, used by ${users} processes`,
  localServers: t`Model servers on this machine`,
  usedBy: (provider: string) => t`used by provider ${provider}`,
  notSetUp: t`not set up`,
  windowOf: (tokens: number) => t`window ${tokens}`,
  seesImages: t`sees images`,
  noToolCalls: t`no tool calls`,
  moreModels: (count: number) => t`and ${count} more`,
  addEntry: t`\`reasonix setup\` writes an entry such as this one:`,

  servers: t`MCP servers`,
  languageServers: t`Language servers`,
  notInstalled: t`not installed`,
  serverOff: t`switched off`,
  serverUnknown: t`never started; \`reasonix doctor --online\` tries it`,
  serverOffers: (tools: number, prompts: number, resources: number) =>
    t`${[
      tools === 1 ? t`1 tool` : t`${tools} tools`,
      prompts === 1 ? t`1 prompt` : t`${prompts} prompts`,
      resources === 1 ? t`1 resource` : t`${resources} resources`,
    ]}`,
  serverReady: (offers: string, ms: number) => t`${offers}, ready in ${ms} ms`,
  serverSlow: t`slow; what it installs at each start can be installed once`,
  serverBroken: (why: Text) => t`${why}`,
  serverFailed: (why: Text) => t`its last start failed: ${why}`,
  pluginTouches: (what: string) => t`its process may: ${what}`,
  mayRead: (paths: string) => t`read ${paths}`,
  mayWrite: (paths: string) => t`write ${paths}`,
  mayReach: (hosts: string) => t`connect to ${hosts}`,
  mayReachAll: t`connect to every host`,
  mayReachBut: (ranges: number) => t`connect to every host outside of ${ranges} private ranges`,
  maySee: (names: string) => t`see ${names}`,
  mayNothing: t`only compute`,
  pluginWithin: t`an executable cannot narrow the permissions of a plugin: only the checks in its code hold`,
  pluginProxy: (name: string) => t`${name} names a proxy: the addresses that names lead to are not checked`,
  pluginAbsent: (plugin: string) =>
    t`the plugin ${plugin} cannot start: reasonix.plugins.js of this build is missing; install the program again`,
  pluginKey: (server: string, name: string, file: string) =>
    t`${server}: ${name} is not set; write ${name}=… into ${file}`,
  tryServer: (name: string) => t`try \`reasonix mcp test ${name}\``,

  sandbox: t`Sandbox`,
  notExamined: t`not examined`,
  withoutJail: t`Still in force without a jail:`,
  withFullAccess: t`In force with --permission-mode danger-full-access:`,
  noBubblewrap:
    t`bubblewrap is not installed, so commands cannot be confined: apt install bubblewrap (or the package of that name in your distribution)`,

  worktrees: t`Work trees of agents`,
  worktreeUsed: (tree: string) => t`${tree}  in use`,
  worktreeWaits: (tree: string) => t`${tree}  waits for the next run of its tasks`,
  worktreesRemoved: (count: number) => t`${count} left behind and removed now`,
  worktreeStays: (id: string, why: string) => t`the work tree ${id} was left behind and stays: ${why}`,

  telemetry: t`Telemetry`,
  otelDeno:
    t`OTEL_DENO is set: the runtime itself exports the address of every request, keys in it included, and every line of the console; unset it and set [telemetry] otlp instead`,

  sessions: t`Sessions`,
  sessionCount: (count: number, size: string, homeSize: string) =>
    t`${count} of this folder, ${size}; ${homeSize} in the home`,
  bytes: (count: number) => t`${count} bytes`,

  noProblems: t`No problems found`,
  problems: t`Problems`,
  remarks: t`Warnings`,
  verbose: t`Everything, also what is in order: \`reasonix doctor --verbose\` (\`/doctor verbose\`)`,
  launcher: (name: string) =>
    t`The launcher of the npm package starts this program with Node, which takes about 75 ms at each start. For a shell command instead, let npm execute the scripts of the package: npm install -g --allow-scripts=${name},deno ${name}`,
  launcherOnWindows:
    t`The launcher of the npm package starts this program with Node, which takes about 75 ms at each start. The executable starts without Node: install it with Scoop, winget or install.ps1`,
  unknownWindow: (provider: string, model: string) =>
    t`${provider}: the context window of ${model} is unknown. Unless its server reports one, long sessions are not compacted; set context_window of the provider, such as 131072`,
  withRemedy: (problem: string, remedy: string) => t`${problem}; ${remedy}`,
});
