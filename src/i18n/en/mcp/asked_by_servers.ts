/** What is asked in the name of MCP servers. */
export const texts = {
  nobody: (server: string, message: string) =>
    `MCP server ${server} asked "${message}", and this run has no prompt: the server was notified`,
  asks: (server: string) => `MCP server ${server} asks`,
  wantsAddress: (server: string, host: string) =>
    `MCP server ${server} wants to open an address at\n\n    ${host}\n`,
  badAddress: (server: string, address: string) =>
    `MCP server ${server} wanted to open an address that is none of the web, which was declined: ${address}`,
  notEncrypted: "The connection to it is not encrypted.",
  otherLetters: "The name has letters of other alphabets (xn--): it may look like one that you know.",
  openIt: "Open it in the browser",
  openYourself: (address: string) => `Open this address: ${address}`,
  decline: "Decline",
  send: "Send",
  theseValues: "It would get these values:",
  cannotAsk: (server: string, why: string) =>
    `MCP server ${server} asked for something that cannot be asked here (${why}); it was told so`,
  optional: "(optional)",
  leaveEmpty: "Leave it empty",
  useDefault: (value: string) => `As proposed: ${value}`,
  yes: "Yes",
  no: "No",
  secret:
    "This looks like a secret. Do not give passwords, keys or tokens to a form: the server has to use an address.",
  /** What is counted. */
  units: { characters: " characters", values: " values" },
  atLeast: (min: number, unit: string) => `at least ${min}${unit}`,
  atMost: (max: number, unit: string) => `at most ${max}${unit}`,
  between: (min: number, max: number, unit: string) => `${min} to ${max}${unit}`,
  problems: {
    number: () => "This is not a number",
    integer: () => "This is not a whole number",
    min: (range: string) => `This is too little: ${range}`,
    max: (range: string) => `This is too much: ${range}`,
    format: (format: string) => `This does not have the form that is asked for: ${format}`,
    choice: () => "This is none of the values",
    boolean: () => "Say yes or no",
  },

  wantsMessage: (server: string, input: number, output: number) =>
    `MCP server ${server} wants the model to write a message for it ` +
    `(about ${input} tokens in, at most ${output} out)`,
  systemOf: (text: string) => `System prompt: ${text}`,
  lastOf: (text: string) => `Last message: ${text}`,
  once: "Allow once",
  session: "Allow this server for the session",
  nobodyAllows: (server: string) =>
    `MCP server ${server} wanted a message of the model, and this run has no prompt: it was refused`,
  overBudget: (server: string, used: number, budget: number) =>
    `MCP server ${server} wanted another message of the model; it was refused: ${used} of ` +
    `${budget} tokens are used (tools.mcp_sampling_tokens)`,
  wrote: (server: string, input: number, output: number) =>
    `The model wrote a message for MCP server ${server}: ${input} tokens in, ${output} out`,

  trustNotSaved: (tool: string, server: string, why: string) =>
    `${tool} is believed to be read-only for this session only: your own config.toml does not describe ` +
    `${server}, or cannot be changed (${why})`,
};
