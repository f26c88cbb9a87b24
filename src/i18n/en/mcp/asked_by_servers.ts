import type { Translate } from "../../translate.ts";

/** Questions in the name of MCP servers. */
export const texts = (t: Translate) => ({
  noUser: (server: string, message: string) =>
    t`MCP server ${server} asked "${message}", and this run has no prompt: the server was notified`,
  asks: (server: string) => t`MCP server ${server} asks`,
  wantsAddress: (server: string, host: string) =>
    t`MCP server ${server} wants to open an address at\n\n    ${host}\n`,
  badAddress: (server: string, address: string) =>
    t`MCP server ${server} wanted to open an address that is none of the web, which was declined: ${address}`,
  notEncrypted: t`The connection to it is not encrypted.`,
  otherLetters: t`The name has letters of other alphabets (xn--): it may look like one that you know.`,
  openIt: t`Open it in the browser`,
  openYourself: (address: string) => t`Open this address: ${address}`,
  decline: t`Decline`,
  send: t`Send`,
  theseValues: t`It would get these values:`,
  cannotAsk: (server: string, why: string) =>
    t`MCP server ${server} asked for something that cannot be asked here (${why}); it was told so`,
  optional: t`(optional)`,
  leaveEmpty: t`Leave it empty`,
  useDefault: (value: string) => t`As proposed: ${value}`,
  yes: t`Yes`,
  no: t`No`,
  secret:
    t`This looks like a secret. Do not give passwords, keys or tokens to a form: the server has to use an address.`,
  /** Counted units. */
  units: { characters: t` characters`, values: t` values` },
  atLeast: (min: number, unit: string) => t`at least ${min}${unit}`,
  atMost: (max: number, unit: string) => t`at most ${max}${unit}`,
  between: (min: number, max: number, unit: string) => t`${min} to ${max}${unit}`,
  problems: {
    number: () => t`This is not a number`,
    integer: () => t`This is not a whole number`,
    min: (range: string) => t`This is too little: ${range}`,
    max: (range: string) => t`This is too much: ${range}`,
    format: (format: string) => t`This does not have the form that is asked for: ${format}`,
    choice: () => t`This is none of the values`,
    boolean: () => t`Say yes or no`,
  },

  wantsMessage: (server: string, input: number, output: number) =>
    t`MCP server ${server} wants the model to write a message for it (about ${input} tokens in, at most ${output} out)`,
  systemOf: (text: string) => t`System prompt: ${text}`,
  lastOf: (text: string) => t`Last message: ${text}`,
  once: t`Allow once`,
  session: t`Allow this server for the session`,
  noUserAllows: (server: string) =>
    t`MCP server ${server} wanted a message of the model, and this run has no prompt: it was refused`,
  overBudget: (server: string, used: number, budget: number) =>
    t`MCP server ${server} wanted another message of the model; it was refused: ${used} of ${budget} tokens are used (tools.mcp_sampling_tokens)`,
  wrote: (server: string, input: number, output: number) =>
    t`The model wrote a message for MCP server ${server}: ${input} tokens in, ${output} out`,

  trustNotSaved: (tool: string, server: string, why: string) =>
    t`${tool} is believed to be read-only for this session only: your own config.toml does not describe ${server}, or cannot be changed (${why})`,
});
