import type { Text } from "../../../core/mod.ts";
import type { Translate } from "../../translate.ts";

/** Texts of commands about MCP servers. */
export const texts = (t: Translate) => ({
  surplus: (name: string, text: string) => t`Cannot run /${name}: it has no argument for "${text}"`,
  missing: (name: string, argument: string) => t`Cannot run /${name}: it needs "${argument}"`,
  usage: (usage: string) => t`write ${usage}, or name=value; quotes hold blanks together`,
  asksArgument: (server: string, prompt: string, argument: string, description: string) =>
    description === ""
      ? t`${server}: ${prompt} needs "${argument}"`
      : t`${server}: ${prompt} needs "${argument}": ${description}`,
  promptLeft: (name: string) => t`/${name} was not sent`,
  emptyPrompt: (name: string) => t`Cannot send /${name}: the server gave no text for it`,
  tryOther: t`try other arguments`,

  servers: t`MCP servers`,
  noServers: t`No MCP servers are configured`,
  addServer: t`Add one: reasonix mcp add NAME -- COMMAND …, see \`reasonix docs mcp\``,
  waitsForTrust: t`comes with the project and waits for \`reasonix trust\``,
  whichServer: (action: string) => t`Cannot ${action}: no server is named`,
  mcpUsage:
    t`write /mcp [name], /mcp login NAME, /mcp restart NAME, /mcp unload NAME, /mcp load NAME, /mcp trust NAME [TOOL …] or /mcp untrust NAME [TOOL …]`,
  lastTime: (why: Text) => t`it failed the last time: ${why}`,
  because: (state: string, why: Text) => t`${state}: ${why}`,
  isOff: (name: string) => t`Cannot restart ${name}: it is switched off`,
  switchedOff: (name: string) => t`${name} is off for this session; its tools go with the next turn`,
  signIn: {
    how: (address: string) => t`Sign in at ${address}?`,
    open: t`Open this address in the browser`,
    myself: t`I visit it myself`,
    paste: t`My browser is on another machine: I paste the address at which it ends`,
    pasteHere: t`The address at which the browser has ended:`,
    noBrowser: t`There is no browser here`,
    opened: t`A browser was opened for the sign-in; its address is`,
    visit: t`To sign in, visit`,
    waiting: t`Waiting for the end of the sign-in; Esc stops it`,
    notTaken: (why: Text) => t`Not taken: ${why}`,
    stopped: t`The sign-in was stopped; nothing was kept`,
    done: (name: string, issuer: string, rights: string) =>
      rights === ""
        ? t`Signed in at ${name} (${issuer})`
        : t`Signed in at ${name} (${issuer}, rights: ${rights})`,
  },
  actions: {
    login: t`sign in at a server`,
    restart: t`start a server again`,
    unload: t`switch a server off for this session`,
    load: t`switch a server on`,
    trust: t`trust tools of a server to be read-only`,
    untrust: t`no longer trust tools to be read-only`,
  },
  trust: {
    title: (name: string) =>
      t`${name}: tools trusted to be read-only\nThey run without a question, also in plan mode.`,
    all: (count: number) => t`Trust all that the server declares (${count})`,
    declared: t`declared by the server`,
    trusted: (tools: string) => t`Trusted to be read-only: ${tools}`,
    untrusted: (tools: string) => t`No longer trusted to be read-only: ${tools}`,
    savedIn: (file: string) => t`Saved in ${file}`,
    sessionOnly: (name: string) => t`For this session only: your own configuration does not describe ${name}`,
    alsoListed: t`\`agent.plan_mode_allowed_tools\` may still name them`,
    noTool: (name: string, tool: string) => t`${name} has no tool "${tool}"`,
    listTools: (name: string) => t`use /mcp ${name} to list its tools`,
    didYouMean: (tool: string) => t`did you mean ${tool}?`,
    noneDeclared: (name: string) => t`${name} declares no other tool to be read-only`,
    noneTrusted: (name: string) => t`No tool of ${name} is trusted to be read-only`,
  },
  states: {
    "disabled": t`off`,
    "idle": t`not needed yet`,
    "starting": t`starting`,
    "ready": t`ready`,
    "failed": t`failed`,
    "needs-auth": t`needs a sign-in`,
    "stopped": t`ended`,
    "provider": t`the model's provider speaks to it`,
  },
  counts: {
    tools: (count: number) => count === 1 ? t`1 tool` : t`${count} tools`,
    prompts: (count: number) => count === 1 ? t`1 prompt` : t`${count} prompts`,
    resources: (count: number) => count === 1 ? t`1 resource` : t`${count} resources`,
    problems: (count: number) => count === 1 ? t`1 problem` : t`${count} problems`,
    restarts: (count: number) => count === 1 ? t`restarted once` : t`restarted ${count} times`,
  },
  panelActions: {
    details: t`Show everything about it`,
    tools: (count: number) => t`Show its tools (${count})`,
    login: t`Sign in`,
    restart: t`Restart it`,
    unload: t`Switch it off for this session`,
    load: t`Switch it on`,
    trust: t`Trust tools to be read-only`,
  },
  fields: {
    state: t`state`,
    server: t`server`,
    protocol: t`protocol`,
    command: t`command`,
    address: t`address`,
    tools: t`tools`,
    prompts: t`prompts`,
    resources: t`resources`,
    log: t`log`,
  },
});
