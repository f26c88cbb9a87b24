/**
 * Writes docs/web-api.md and the description by OpenAPI from the routes of the web server. `deno run -A
 * scripts/gen_web_api.ts`; a test fails while one is not current.
 */
import * as z from "zod/mini";
import { FRONTENDS } from "../src/frontend/mod.ts";
import { VERSION } from "../src/util/version.ts";
import { formatted, type Schema, typeText } from "./gen_events.ts";

const PAGE = new URL("../docs/web-api.md", import.meta.url);
const OPEN_API = new URL("../src/frontend/web/openapi.json", import.meta.url);

const { ANSWERS, ROUTES } = await FRONTENDS.web();
type Route = (typeof ROUTES)[keyof typeof ROUTES] & {
  readonly query?: z.ZodMiniType;
  readonly body?: z.ZodMiniType;
  readonly answer?: z.ZodMiniType;
  readonly status?: number;
};

interface Operation {
  readonly summary: string;
  readonly "x-role": Route["role"];
  readonly security?: readonly never[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

const failure = z.object({
  error: z.object({ message: z.string(), remedy: z.optional(z.string()), code: z.string() }),
});

function schemaOf(schema: z.ZodMiniType): Schema {
  const { $schema: _, "~standard": __, ...rest } = z.toJSONSchema(schema, { unrepresentable: "any" });
  return rest as Schema;
}

const json = (schema: z.ZodMiniType) => ({ "application/json": { schema: schemaOf(schema) } });

function operation(path: string, { role, summary, query, body, answer, status }: Route): Operation {
  const { properties = {}, required = [] } = query ? schemaOf(query) : {};
  return {
    summary,
    "x-role": role,
    ...(role === "none" ? { security: [] } : {}),
    parameters: [
      ...[...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => {
        return { name, in: "path", required: true, schema: { type: "string" } };
      }),
      ...Object.entries(properties).map(([name, schema]) => {
        return { name, in: "query", required: required.includes(name), schema };
      }),
    ],
    ...(body ? { requestBody: { required: true, content: json(body) } } : {}),
    responses: {
      [status ?? 200]: { description: "Done", content: answer ? json(answer) : { "text/event-stream": {} } },
      default: { description: "Refused", content: json(failure) },
    },
  };
}

function openApi() {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const [key, route] of Object.entries<Route>(ROUTES)) {
    const [method = "", path = ""] = key.split(" ");
    const here = paths[path.replace(/:(\w+)/g, "{$1}")] ??= {};
    here[method.toLowerCase()] = operation(path, route);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Reasonix", version: VERSION },
    servers: [{ url: "/api/v1" }],
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(ANSWERS).map(([kind, schema]) => [kind, schemaOf(schema)] as const),
      ),
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
  };
}

/** The description by OpenAPI, as its file has it. */
export async function openApiText(): Promise<string> {
  return await formatted(JSON.stringify(openApi()), "json");
}

const fieldLine = (name: string, optional: boolean, schema: Schema, words = schema.description) =>
  `- \`${name}\`${optional ? " (optional)" : ""}: \`${typeText(schema)}\`${words ? `. ${words}` : ""}`;

function fields(title: string, schema: Schema | undefined): string[] {
  if (!schema) return [];
  const required = new Set(schema.required);
  const lines = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldLine(name, !required.has(name), field)
  );
  if (lines.length > 0) return ["", `${title}:`, "", ...lines];
  return schema.anyOf
    ? ["", `${title}: one of`, "", ...schema.anyOf.map((each) => `- \`${typeText(each)}\``)]
    : [];
}

/** The whole page. */
export async function webApiPage(): Promise<string> {
  const { paths, components } = openApi();
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { summary, "x-role": role, parameters, requestBody, responses } = operation;
      const [status = "", answer] = Object.entries(responses)[0] ?? [];
      const inQuery = parameters.filter((each) => each.in === "query");
      return [
        `### ${method.toUpperCase()} ${path}`,
        "",
        `${summary} ${role === "none" ? "Needs no sign-in." : role === "owner" ? "Owner only." : ""}`.trim(),
        ...(inQuery.length === 0 ? [] : [
          "",
          "Query:",
          "",
          ...inQuery.map(({ name, required, schema }) => fieldLine(name, !required, schema)),
        ]),
        ...fields("Body", requestBody?.content["application/json"]?.schema),
        ...fields(`Answer ${status}`, answer?.content["application/json"]?.schema),
      ].join("\n");
    })
  );
  const answers = Object.entries(components.schemas)
    .map(([name, schema]) => `- ${name}: \`${typeText(schema)}\``);
  return await formatted(`# The API of the web server

\`reasonix serve\` and \`reasonix web\` offer this API below \`/api/v1\`; their page uses nothing else.
\`GET /api/v1/openapi.json\` describes it by OpenAPI 3.1. Requests and answers are JSON. Scripts send
\`Authorization: Bearer TOKEN\`. Unknown fields of a request are refused; answers may get further ones.

A request that fails gets \`{ "error": { "message", "remedy"?, "code" } }\` in the language of the user. A viewer
may send what is not marked "Owner only".

This page is generated from \`src/frontend/web/schemas.ts\` by \`scripts/gen_web_api.ts\`.

## Example

\`\`\`sh
export REASONIX_SERVE_TOKEN=$(openssl rand -hex 32)
reasonix serve &
api=http://127.0.0.1:8787/api/v1
ask() { curl -s -H "Authorization: Bearer $REASONIX_SERVE_TOKEN" -H "Content-Type: application/json" "$@"; }

id=$(ask $api/sessions -d '{"directory":"/home/me/project"}' | jq -r .id)
ask $api/sessions/$id/messages -d '{"id":"message-1","text":"Fix the failing test."}'
ask -N "$api/stream?session=$id@0"              # what happens, until Ctrl-C
ask $api/sessions/$id/questions                 # what waits for an answer, each with its id
ask $api/sessions/$id/questions/QUESTION -d '{"answer":{"allow":true,"scope":"once"}}'
\`\`\`

## The stream

\`GET /stream\` sends server-sent events; a comment each 15 s shows that it is open. \`Last-Event-ID\` continues
a stream, as \`ID@SEQ\` does for each session. An event of the log has the id of its place there.

| event                        | data                                                                          |
| ---------------------------- | ----------------------------------------------------------------------------- |
| \`hello\`                    | \`build\` of the page, \`role\`                                               |
| \`event\`                    | \`session\`, \`event\` of [events.md](events.md)                              |
| \`snapshot\`                 | \`session\`, \`snapshot\`, \`facts\`: after the stored events, before live ones |
| \`reset\`                    | \`session\`: too much was missed; read its events again                       |
| \`facts\`                    | \`session\`, \`fact\`: title, settings, commands, details                      |
| \`queue\`                    | \`session\`, \`waiting\` and \`steering\` messages                             |
| \`said\`, \`failed\`         | \`session\`, \`text\` or \`error\`: for people                                  |
| \`returned\`                 | \`session\`, \`drafts\`: messages that were not sent                           |
| \`sessions\`                 | \`changed\` entries of \`GET /sessions\`, \`removed\` ids                        |

## Requests

${sections.join("\n\n")}

## Answers to questions

The field \`answer\` by the kind of the question. Kinds, and what a person has to see of each, are in
[events.md](events.md) under \`question.state\`.

${answers.join("\n")}
`);
}

if (import.meta.main) {
  await Deno.writeTextFile(PAGE, await webApiPage());
  await Deno.writeTextFile(OPEN_API, await openApiText());
}
