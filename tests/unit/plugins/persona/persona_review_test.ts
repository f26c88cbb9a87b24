import {
  Client,
  type CreateMessageRequestParams,
  type CreateMessageResult,
  InMemoryTransport,
} from "@modelcontextprotocol/client";
import { McpServer, type Transport } from "@modelcontextprotocol/server";
import { parse } from "smol-toml";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { PluginContext, PluginError } from "../../../../plugins/common/plugin.ts";
import { personasOfList, personasOfMarkdown } from "../../../../plugins/persona/personas.ts";
import { plugin } from "../../../../plugins/persona/server.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { startModelServer } from "../../../support/model_server.ts";
import { codeBlocks } from "../../../support/readme.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

type Sample = (params: CreateMessageRequestParams) => Promise<string>;

interface Review extends AsyncDisposable {
  readonly workspace: string;
  readonly home: string;
  /** Reports whether the tool declares that it reaches other machines. */
  reachesNetwork(): Promise<boolean | undefined>;
  /** Calls the tool: its text, whether it failed, and its data. */
  review(
    args: Record<string, unknown>,
    onprogress?: (step: { readonly progress: number }) => void,
  ): Promise<{ text: string; isError: boolean; data: unknown }>;
}

const ERAS = { legacy: "legacy", modern: "auto" } as const;

/** The plugin with a client that answers with `sample`, in one process. */
async function open(
  sample: Sample | undefined,
  era: keyof typeof ERAS = "legacy",
  more: Partial<PluginContext> = {},
): Promise<Review> {
  const temp = await makeTempDir();
  const workspace = `${temp.path}/work`;
  const home = `${temp.path}/home`;
  await Deno.mkdir(workspace);
  await Deno.mkdir(`${home}/prompts/personas`, { recursive: true });
  const context: PluginContext<Record<string, never>> = {
    settings: {},
    workspace,
    state: "",
    home,
    hidden: [],
    providers: [],
    entry: "",
    log() {},
    ...(more as object),
  };
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const connection = serveStdio(() => {
    const server = new McpServer({ name: "persona", version: "1" });
    plugin.register(server, context);
    return server;
  }, { transport: theirs as Transport });
  const client = new Client({ name: "test", version: "1" }, {
    capabilities: sample ? { sampling: {} } : {},
    versionNegotiation: { mode: ERAS[era] },
  });
  if (sample) {
    client.setRequestHandler("sampling/createMessage", async ({ params }): Promise<CreateMessageResult> => {
      const answer = (text: string, stopReason = "endTurn"): CreateMessageResult => ({
        role: "assistant",
        model: "scripted",
        content: { type: "text", text },
        stopReason,
      });
      try {
        return answer(await sample(params));
      } catch (error) {
        const asResult = (params.metadata as Record<string, unknown>)?.["reasonix/failure"] === "result";
        if (!asResult) throw error;
        return answer((error as Error).message, "error");
      }
    });
  }
  await client.connect(ours);
  assertEquals(client.getProtocolEra(), era);
  return {
    workspace,
    home,
    async reachesNetwork() {
      const { tools: [tool] } = await client.listTools();
      return tool?.annotations?.openWorldHint;
    },
    async review(args, onprogress) {
      const options = onprogress ? { onprogress } : {};
      const result = await client.callTool({ name: "persona_review", arguments: args }, options);
      const [block] = result.content;
      return {
        text: block?.type === "text" ? block.text : "",
        isError: result.isError ?? false,
        data: result.structuredContent,
      };
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await connection.close();
      await temp[Symbol.asyncDispose]();
    },
  };
}

const textOf = (params: CreateMessageRequestParams | undefined): string => {
  const { content } = params?.messages[0] ?? {};
  return content && !Array.isArray(content) && content.type === "text" ? content.text : "";
};
const personaOf = ({ systemPrompt = "" }: CreateMessageRequestParams) =>
  /stay in it: (.*)\.$/m.exec(systemPrompt)?.[1] ?? "panel";

/** Answers with the name of the persona; fails for those whose name begins with "No". */
const byName: Sample = (params) => {
  const name = personaOf(params);
  return name.startsWith("No")
    ? Promise.reject(new Error(`${name} declined`))
    : Promise.resolve(`I am ${name}`);
};

for (const era of ["legacy", "modern"] as const) {
  Deno.test(`persona_review runs four personas at once, and names those that fail (${era})`, async () => {
    const asked: CreateMessageRequestParams[] = [];
    const fourAsked = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    await using stage = await open(async (params) => {
      most = Math.max(most, ++running);
      if (asked.push(params) === 4) fourAsked.resolve();
      await fourAsked.promise;
      running--;
      return await byName(params);
    }, era);
    const { text, isError, data } = await stage.review({
      content: "The plan",
      personas: "Ada, Grace: likes compilers, Nora, Edsger, Barbara, No one",
      goal: "ship it",
      panel: true,
    });
    assertEquals([isError, most, asked.length], [false, 4, 7], text);
    assertEquals(data, {
      reviews: ["Ada", "Grace", "Edsger", "Barbara"].map((persona) => ({
        persona,
        review: `I am ${persona}`,
      })),
      failed: ["Nora", "No one"].map((persona) => ({ persona, error: `${persona} declined` })),
      panel: "I am panel",
    });
    assertStringIncludes(text, "## Ada\n\nI am Ada\n\n## Grace");
    assertStringIncludes(text, "## Panel\n\nI am panel\n\nFailed: Nora: Nora declined");
    const panel = asked.at(-1);
    assertEquals(
      textOf(panel),
      "[Goal]\nship it\n\n[Reviews]\n" + text.slice(0, text.indexOf("\n\n## Panel")),
    );
    const failing = await stage.review({ content: "The plan", personas: ["Nora"], panel: true });
    assertEquals(failing.isError, true);
    assertMatch(failing.text, /^No persona could review: Nora: Nora declined; set providers = /);
  });
}

Deno.test("persona_review sends guidelines, prompts of the user and the model", async () => {
  const asked: CreateMessageRequestParams[] = [];
  await using stage = await open((params) => Promise.resolve(`Answer ${asked.push(params)}`));
  const { workspace, home, review } = stage;
  await Deno.writeTextFile(`${workspace}/style.md`, "Short sentences");
  await Deno.writeTextFile(`${workspace}/team.md`, "## Personas\n\n### Ada\n\nCounts steps.\n\n### Lin\n");
  const prompts = `${home}/prompts/personas`;
  await Deno.writeTextFile(`${prompts}/review.txt`, "As {{persona}}: {{description}}");
  await Deno.writeTextFile(`${prompts}/panel.md`, "Sum up");
  const args = {
    content: "The plan",
    personas: "team.md",
    artifact_type: "design",
    goal: "ship",
    notes: "a draft",
    files: ["style.md"],
    model: "large",
    panel: true,
  };
  const { text, isError } = await review(args);
  assertEquals(isError, false, text);
  assertEquals(asked.map(({ systemPrompt }) => systemPrompt), [
    "As Ada: Counts steps.",
    "As Lin: ",
    "Sum up",
  ]);
  const about = "[Artifact type]\ndesign\n\n[Goal]\nship\n\n[Notes]\na draft\n\n";
  const sent = `${about}[Guidelines]\n## style.md\n\nShort sentences\n\n[Content]\nThe plan`;
  assertEquals(asked.map(textOf), [
    sent,
    sent,
    `${about}[Reviews]\n## Ada\n\nAnswer 1\n\n## Lin\n\nAnswer 2`,
  ]);
  assertEquals(
    asked.map(({ modelPreferences }) => modelPreferences?.hints?.[0]?.name),
    Array(3).fill("large"),
  );
});

Deno.test("persona_review refuses files that are outside, hidden or no text", async () => {
  let runs = 0;
  await using stage = await open(() => Promise.resolve(`${++runs}`), "legacy", {
    hidden: ["*.key.md", "private/"],
  });
  const { workspace, home, review } = stage;
  await Deno.writeTextFile(`${home}/secret.md`, "- Ada: secret");
  await Deno.symlink(`${home}/secret.md`, `${workspace}/link.md`);
  await Deno.writeFile(`${workspace}/data.md`, new Uint8Array([0xff, 0xfe, 0]));
  await Deno.writeTextFile(`${workspace}/large.md`, "x".repeat(300_000));
  await Deno.mkdir(`${workspace}/dir.md`);
  await Deno.mkdir(`${workspace}/private`);
  await Deno.writeTextFile(`${workspace}/private/a.md`, "- Ada: private");
  await Deno.writeTextFile(`${workspace}/a.key.md`, "- Ada: key");
  await Deno.symlink(`${workspace}/a.key.md`, `${workspace}/other.md`);
  const rows: readonly [path: string, error: RegExp][] = [
    [`${home}/secret.md`, /secret\.md: it is outside of/],
    ["../home/secret.md", /it is outside of/],
    ["link.md", /it is outside of/],
    ["none.md", /none\.md: there is no such file/],
    ["data.md", /data\.md: it is no text in UTF-8; /],
    ["large.md", /large\.md: it has 300000 bytes; use files of at most 262144/],
    ["dir.md", /it is not a file/],
    ["private/a.md", /may not read this file/],
    ["./dir.md/../a.key.md", /may not read this file/],
    ["other.md", /may not read this file/],
  ];
  for (const [path, error] of rows) {
    for (const args of [{ personas: path }, { personas: "Ada", files: [path] }]) {
      const { isError, text } = await review({ content: "The plan", ...args });
      assert(isError, path);
      assertMatch(text, error);
    }
  }
  assertEquals(runs, 0);
});

Deno.test("persona_review names the remedy without sampling and without a provider", async () => {
  for (const era of ["legacy", "modern"] as const) {
    await using stage = await open(undefined, era);
    const { isError, text } = await stage.review({ content: "The plan", personas: "Ada" });
    assertEquals(isError, true);
    assertMatch(text, /^Cannot run a model: .*; set providers = \["NAME"\] in the entry of this plugin/);
  }
});

Deno.test("persona_review runs the model of a granted provider", async () => {
  await using server = startModelServer([{ text: "Well done" }, { text: "All agree" }], {
    check: { prefix: false },
  });
  const providers = [
    { name: "first", base_url: "http://127.0.0.1:1/v1", model: "none" },
    { name: "local", base_url: server.url, models: ["small", "large"] },
  ];
  await using stage = await open(undefined, "legacy", { providers });
  assertEquals(await stage.reachesNetwork(), false);
  await using remote = await open(undefined, "modern", {
    providers: [...providers, { name: "far", base_url: "https://127.0.0.1.example.org/v1" }],
  });
  assertEquals(await remote.reachesNetwork(), true);
  const args = { content: "The plan", personas: "Ada", panel: true, model: "local/large" };
  const { text, isError } = await stage.review(args);
  assertEquals([text, isError], ["## Ada\n\nWell done\n\n## Panel\n\nAll agree", false]);
  assertEquals(server.requests.map(({ json }) => json.model), ["large", "large"]);
});

Deno.test("personas are read from lists and from Markdown in three forms", () => {
  const rows: readonly [text: string, expected: string[][]][] = [
    [
      "# Team\n\n## Personas\n### Ada\nCounts.\n#### Likes\nproofs\n### **Grace** ##\n\n## Other\n### Not this",
      [
        ["Ada", "Counts.\n#### Likes\nproofs"],
        ["Grace", ""],
      ],
    ],
    ["---\na: b\n---\n# Team\nIntro\n## Ada\nCounts.\n### Likes\nx\n## 世界\n```\n## no\n```\n# End\nno", [
      ["Ada", "Counts.\n### Likes\nx"],
      ["世界", "```\n## no\n```"],
    ]],
    ["### Ada\r\nCounts.\r\n### Grace\r\n", [["Ada", "Counts."], ["Grace", ""]]],
    ["Team:\n\n- Ada: counts\n- **Grace:** compiles: fast\n* `Lin`：写\n- Edsger", [
      ["Ada", "counts"],
      ["Grace", "compiles: fast"],
      ["Lin", "写"],
      ["Edsger", ""],
    ]],
    ["## Personas\n- Ada: counts\n\n## More\n- Grace", [["Ada", "counts"]]],
  ];
  for (const [text, expected] of rows) {
    assertEquals(
      personasOfMarkdown(text, "a.md").map(({ name, description }) => [name, description]),
      expected,
    );
  }
  assertEquals(personasOfList(" Ada: counts, Grace，,Lin").map(({ name }) => name), ["Ada", "Grace", "Lin"]);
  const wrong: readonly [given: string, error: RegExp][] = [
    [" , ", /the list: there are none; use headings/],
    ["Ada, ada", /"ada" is there twice; /],
    ["x".repeat(101), /is too long for a name/],
    [Array.from({ length: 13 }, (_, at) => `P${at}`).join(), /there are 13; use at most 12/],
  ];
  for (const [given, error] of wrong) {
    try {
      personasOfList(given);
    } catch (thrown) {
      assertMatch((thrown as PluginError).text, error);
      continue;
    }
    assert(false, given);
  }
});

Deno.test("the examples of the page are personas, settings and a prompt", async () => {
  const blocks = (language: string) => codeBlocks("docs/plugins/persona.md", language);
  for (const block of await blocks("markdown")) {
    const personas = personasOfMarkdown(block, "team.md");
    assertEquals(personas.map(({ name }) => name), ["Ada", "Grace"]);
    assert(personas.every(({ description }) => /service|terms?/.test(description)), block);
  }
  const [entry = ""] = await blocks("toml");
  const { plugins } = parse(entry) as {
    plugins: { settings: unknown; args: string[]; providers: string[] }[];
  };
  assertEquals(plugin.settings.parse(plugins[0]?.settings), { model: "qwen3" });
  assertEquals([plugins[0]?.args, plugins[0]?.providers], [["plugin", "persona"], ["local"]]);
  const asked: CreateMessageRequestParams[] = [];
  await using stage = await open((params) => Promise.resolve(`${asked.push(params)}`));
  const [prompt = ""] = await blocks("text");
  await Deno.writeTextFile(`${stage.home}/prompts/personas/review.md`, prompt);
  await stage.review({ content: "The plan", personas: ["Ada: an operator"] });
  assertMatch(asked[0]?.systemPrompt ?? "", /^You are Ada\. an operator\nName the three worst/);
});

Deno.test("a long review reports progress, which increases to the end of the summary", async () => {
  const reported = Promise.withResolvers<void>();
  await using stage = await open(async (params) => {
    await reported.promise;
    return await byName(params);
  });
  const steps: number[] = [];
  const { isError } = await stage.review(
    { content: "x", personas: "Ada, Grace", panel: true },
    ({ progress }) => {
      steps.push(progress);
      reported.resolve();
    },
  );
  assertEquals(isError, false);
  assert(steps.length >= 3 && steps.every((step, at) => step > (steps[at - 1] ?? 0)), steps.join());
});
