import { failureOf } from "./tool.ts";
import type { Tool } from "../../tool/mod.ts";
import { spillPath } from "../../tool/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { ANY, isKnown, matchPattern } from "../../rule/mod.ts";
import { Content } from "../content/content.ts";
import type { Listing, McpResourceInfo } from "../listing/listing.ts";
import { namePrefix } from "../listing/names.ts";
import type { McpServer } from "../server.ts";
import { contentResult } from "./result.ts";

/** Reads and lists resources of the servers that have some; undefined where none has. */
export function resourceTool(servers: readonly McpServer[]): Tool | undefined {
  const having = servers.filter(({ enabled, listing: { resources, templates } }) =>
    enabled && resources.length + templates.length > 0
  );
  if (having.length === 0) return undefined;
  const names = having.map(({ spec }) => spec.name);
  return {
    name: "mcp_resource",
    description:
      "Reads a resource of an MCP server, such as one that a tool's result links to. Without uri it lists the " +
      `resources and templates of the server. Servers with resources: ${names.join(", ")}`,
    schema: {
      type: "object",
      properties: {
        server: { type: "string", enum: names },
        uri: {
          type: "string",
          description: "As listed or linked to; parts in braces of a template filled in",
        },
      },
      required: ["server"],
      additionalProperties: false,
    },
    readOnly: true,
    server: ({ server }) => namePrefix(String(server)),
    // An address of the model's own is a message to the server.
    limits({ server, uri }) {
      const listing = having.find(({ spec }) => spec.name === server)?.listing;
      if (typeof uri !== "string" || uri === "" || listing?.resources.some((one) => one.uri === uri)) {
        return {};
      }
      return listing && fitsTemplate(uri, listing) ? { planSafe: false } : { readOnly: false };
    },
    subjects: ({ server, uri }) => [uri === undefined ? String(server) : `${server}:${uri}`],
    title: ({ server, uri }) =>
      oneLine(uri === undefined ? `list resources of ${server}` : `read resource ${server}:${uri}`),
    async execute({ server, uri }, context) {
      const from = having.find(({ spec }) => spec.name === server);
      if (!from) throw new TypeError("The schema names the servers");
      const content = new Content({
        vision: context.settings.vision,
        file: (number, ending) => spillPath(context).replace(/\.txt$/, `_${number}.${ending}`),
      });
      if (typeof uri !== "string" || uri === "") {
        content.texts.push(listText(from));
        return await contentResult(content, false, context);
      }
      try {
        const { signal } = context;
        const { contents } = await from.use((connection) => connection.read(uri, signal), signal);
        for (const part of contents) await content.addResource(part, contents.length > 1);
        return await contentResult(content, false, context);
      } catch (error) {
        return failureOf(error, from.spec.name, context);
      }
    },
  };
}

/** Reports whether an address is one of those that a listed template names: all of one scheme at most. */
function fitsTemplate(uri: string, { templates }: Listing): boolean {
  return templates.some((template) => {
    const parts = template.uri.split(/\{[^{}]*\}/);
    return /^[a-z][a-z\d+.-]*:/i.test(parts[0] ?? "") && isKnown(uri) && parts.every(isKnown) &&
      matchPattern(parts.join(ANY), uri) === "yes";
  });
}

function listText({ listing: { resources, templates } }: McpServer): string {
  return [...resources.map(lineOf), ...templates.map((each) => `${lineOf(each)} (template)`)].join("\n");
}

function lineOf({ uri, name, description, mimeType }: McpResourceInfo): string {
  const about = oneLine([name === uri ? "" : name, description].filter(Boolean).join(": "), 200);
  return [uri, mimeType, about].filter(Boolean).join(" · ");
}
