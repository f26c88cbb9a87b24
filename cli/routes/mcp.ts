import { buildCommand, buildRouteMap } from "@stricli/core";
import { argument, flag, NONE, option } from "./parameters.ts";
import { importParameters } from "./config.ts";

const many = (brief: string, placeholder: string) =>
  ({ ...option(brief, placeholder), variadic: true }) as const;

const WHOSE = {
  project: flag("Use the files of this project"),
  user: flag("Use your own files (default)"),
};

const NAME = argument("Name of the server", "name");

/** Shows one side of all servers that are switched on, or of one. */
function view(name: "status" | "tools" | "resources" | "prompts", brief: string) {
  return buildCommand({
    loader: async () => (await import("../commands/mcp/show.ts"))[name],
    parameters: {
      flags: { json: flag("Print JSON") },
      positional: {
        kind: "tuple",
        parameters: [{ ...argument("Only this server", "name"), optional: true }],
      },
    },
    docs: { brief },
  });
}

/** `reasonix mcp`: MCP servers. */
export const mcpRoutes = buildRouteMap({
  routes: {
    list: buildCommand({
      loader: async () => (await import("../commands/mcp/list.ts")).list,
      parameters: { flags: { json: flag("Print JSON") }, ...NONE },
      docs: { brief: "List the configured servers" },
    }),
    add: buildCommand({
      loader: async () => (await import("../commands/mcp/entries.ts")).add,
      parameters: {
        flags: {
          env: many("Variable for the program, also only its name", "NAME=value"),
          cwd: option("Directory that the program runs in", "dir"),
          header: many("Header for an address", "Name: value"),
          headersHelper: option("Line of the shell that prints headers as JSON", "line"),
          transport: {
            kind: "enum",
            values: ["stdio", "http", "streamable-http", "sse"],
            optional: true,
            brief: "How it is reached; known from what is given",
          },
          ...WHOSE,
        },
        aliases: { e: "env", t: "transport" },
        positional: {
          kind: "array",
          parameter: argument("Name, then an address, or -- and a command line", "name"),
          minimum: 1,
        },
      },
      docs: {
        brief: "Add a server",
        fullDescription: "Add a server to your own files, or to those of this project.\n" +
          "  reasonix mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n" +
          "  reasonix mcp add tracker https://tracker.example/mcp --header 'X-Team: a'",
      },
    }),
    remove: buildCommand({
      loader: async () => (await import("../commands/mcp/entries.ts")).remove,
      parameters: {
        flags: {
          ...WHOSE,
          forgetSecret: {
            kind: "boolean",
            optional: true,
            brief: "Take its secrets out of the home's .env too, or keep them; default: ask, else keep",
          },
        },
        positional: { kind: "tuple", parameters: [NAME] },
      },
      docs: { brief: "Remove a server" },
    }),
    test: buildCommand({
      loader: async () => (await import("../commands/mcp/show.ts")).test,
      parameters: { positional: { kind: "tuple", parameters: [NAME] } },
      docs: { brief: "Start a server and show the result" },
    }),
    status: view("status", "Start servers and show their state"),
    tools: view("tools", "Show the tools of servers"),
    resources: view("resources", "Show the resources of servers"),
    prompts: view("prompts", "Show the prompts of servers"),
    call: buildCommand({
      loader: async () => (await import("../commands/mcp/call.ts")).call,
      parameters: {
        flags: { json: flag("Print the whole result as JSON") },
        positional: {
          kind: "array",
          parameter: argument("Server, tool, then key=value …, a JSON object, or - to read one", "name"),
          minimum: 2,
        },
      },
      docs: {
        brief: "Call a tool without a model",
        fullDescription: "Call a tool without a model and print what comes back.\n" +
          "  reasonix mcp call files read_file path=README.md\n" +
          '  reasonix mcp call files read_file \'{"path": "README.md"}\'',
      },
    }),
    login: buildCommand({
      loader: async () => (await import("../commands/mcp/login.ts")).login,
      parameters: {
        flags: { print: flag("Open no browser, only print the address") },
        positional: { kind: "tuple", parameters: [NAME] },
      },
      docs: { brief: "Sign in at a server, in the browser" },
    }),
    logout: buildCommand({
      loader: async () => (await import("../commands/mcp/login.ts")).logout,
      parameters: { positional: { kind: "tuple", parameters: [NAME] } },
      docs: { brief: "Sign out of a server, and forget its tokens" },
    }),
    import: buildCommand({
      loader: async () => (await import("../commands/import/import.ts")).importServers,
      parameters: importParameters,
      docs: { brief: "Import the servers of another agent" },
    }),
  },
  docs: { brief: "List, add and try MCP servers" },
});
