import { summarize, type SummaryTask } from "../../../src/context/compaction/summary.ts";
import { environmentText, loadInstructions, loadReport, systemPrompt } from "../../../src/context/mod.ts";
import { resolveReferences } from "../../../src/context/references.ts";
import { MemoryStore } from "../../../src/control/memory_store.ts";
import { openConversation, Recorder } from "../../../src/control/mod.ts";
import { taughtPrefix } from "../../../src/provider/tool_modes/taught_form.ts";
import { agentModePrompt } from "../../../src/run/context/non_interactive.ts";
import { emptyState } from "../../../src/session/mod.ts";
import { say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir, writeFiles } from "../../support/tool_context.ts";

const HOME = "/nonexistent-home";

function instructions(cwd: string, maxBytes = 10_000, hidden?: (path: string) => boolean) {
  return loadInstructions({ cwd, home: HOME, maxBytes, ...(hidden ? { hidden } : {}) });
}

Deno.test("loadInstructions reads from the repository root down to the working directory", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    ".git/HEAD": "ref: refs/heads/main",
    "AGENTS.md": "root",
    "a/CLAUDE.md": "middle",
    "a/b/AGENTS.md": "near",
    "a/b/REASONIX.md": "own",
    "a/c/AGENTS.md": "elsewhere",
  });
  assertEquals(instructions(`${dir.path}/a/b`).files.map((file) => file.text), [
    "root",
    "middle",
    "near",
    "own",
  ]);
});

Deno.test("loadInstructions prefers AGENTS.md to CLAUDE.md and reports what it ignores", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "AGENTS.md": "\uFEFFone\r\ntwo", "CLAUDE.md": "other" });
  const found = instructions(dir.path);
  assertEquals(found.files.map((file) => file.text), ["one\ntwo"]);
  assertEquals(found.shadowed, [{ path: `${dir.path}/CLAUDE.md`, by: `${dir.path}/AGENTS.md` }]);
});

Deno.test("loadInstructions follows imports inside the directory and rejects cycles and escapes", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "p/AGENTS.md": "top\n@more.md\n@../secret.md\nmail me @home",
    "p/more.md": "more\n@AGENTS.md",
    "secret.md": "secret",
  });
  const found = instructions(`${dir.path}/p`);
  assertEquals(found.files[0]?.text, "top\nmore\n@AGENTS.md\n@../secret.md\nmail me @home");
  assertEquals(found.notices.length, 2);
});

Deno.test("loadInstructions follows imports of a CLAUDE.md, except in code and outside the repository", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "p/.git/HEAD": "",
    "p/sub/CLAUDE.md":
      "See @../docs/a.md and (@b.md), `@c.md`, @types/node, me@x.org, @../../out.md, @p.png.\n" +
      "```java\n@Override\n@b.md\n```\n@../docs/a.md",
    "p/sub/b.md": "B",
    "p/sub/p.png": "\0\x01",
    "p/sub/c.md": "C",
    "p/docs/a.md": "A, then @../sub/b.md",
    "out.md": "OUT",
  });
  const found = instructions(`${dir.path}/p/sub`);
  const a = "A, then @../sub/b.md\n\n## ../sub/b.md\nB";
  assertEquals(
    found.files[0]?.text,
    "See @../docs/a.md and (@b.md), `@c.md`, @types/node, me@x.org, @../../out.md, @p.png.\n```java\n@Override\n@b.md\n```\n" +
      `${a}\n\n## ../docs/a.md\n${a}\n\n## b.md\nB`,
  );
  assertEquals(found.notices, []);
});

Deno.test("loadInstructions does not follow a link to a file that may not be read", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "secrets/key": "TOPSECRET", "p/x": "" });
  await Deno.symlink(`${dir.path}/secrets/key`, `${dir.path}/p/AGENTS.md`);
  const found = instructions(`${dir.path}/p`, 1000, (path) => path.startsWith(`${dir.path}/secrets`));
  assertEquals(found.files, []);
  assertEquals(found.notices.length, 1);
});

Deno.test("loadInstructions truncates at the byte limit between characters and reports it", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "AGENTS.md": "é".repeat(100) });
  const found = instructions(dir.path, 11);
  assertEquals(found.files[0]?.text, "é".repeat(5));
  assertStringIncludes(found.notices[0]?.problem ?? "", "11 bytes");
});

Deno.test("systemPrompt is deterministic and contains no date", () => {
  const options = {
    instructions: [{ path: "/w/AGENTS.md", label: "AGENTS.md (project)", text: "Use tabs" }],
  };
  assertEquals(systemPrompt(options), systemPrompt(options));
  assertStringIncludes(systemPrompt(options), "## AGENTS.md (project)\nUse tabs\n");
  assert(!systemPrompt(options).includes(String(new Date().getFullYear())));
  assertEquals(systemPrompt({ custom: "Be brief.", instructions: [] }), "Be brief.\n");
});

Deno.test("environmentText reads the branch of a repository and of a linked worktree", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "repo/.git/HEAD": "ref: refs/heads/feature/x\n",
    "repo/.git/worktrees/w/HEAD": "0123456789abcdef0123\n",
    "w/.git": `gitdir: ${dir.path}/repo/.git/worktrees/w\n`,
    "repo/sub/file": "",
  });
  const text = (cwd: string) =>
    environmentText({ cwd, now: new Date("2026-02-03T12:00:00Z"), platform: "linux" });
  assertStringIncludes(text(`${dir.path}/repo/sub`), "git branch: feature/x");
  assertStringIncludes(text(`${dir.path}/w`), "git branch: 0123456789ab");
  assertStringIncludes(text(`${dir.path}/w`), "date: 2026-02-03");
});

async function references(text: string, cwd: string, vision = false) {
  return await resolveReferences(text, {
    cwd,
    vision,
    read: (path) =>
      path.includes("forbidden") ? Promise.reject(new Error("Forbidden")) : Deno.realPath(`${cwd}/${path}`),
    hidden: (path) => path.endsWith("/hidden"),
  });
}

Deno.test("resolveReferences attaches only existing files, line ranges and directories", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "a.txt": "1\n2\n3\n",
    "d/x.ts": "",
    "d/hidden": "",
    "d/node_modules/y": "",
    "sp ace.txt": "s",
  });
  const found = await references(
    'See @a.txt, @a.txt:2-3 and @d/ or @"sp ace.txt"; mail x@y.com, @handle.',
    dir.path,
  );
  assertEquals(found.blocks, [
    '<file path="a.txt">\n1\n2\n3\n</file>',
    '<file path="a.txt" lines="2-3">\n2\n3\n</file>',
    '<dir path="d/">\nx.ts\n</dir>',
    '<file path="sp ace.txt">\ns\n</file>',
  ]);
  assertEquals(found.notices, []);
});

Deno.test("resolveReferences notes binary files, truncates long ones and attaches images for vision models", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "b.bin": new Uint8Array([1, 0, 2]),
    "long.txt": "x".repeat(100_000),
    "i.png": new Uint8Array(10),
  });
  const blind = await references("@b.bin @long.txt @i.png", dir.path);
  assertStringIncludes(blind.blocks[0] ?? "", "binary file, 3 bytes");
  assertStringIncludes(blind.blocks[1] ?? "", "the file has 100000 bytes");
  assert((blind.blocks[1] ?? "").length < 70_000);
  assertEquals(blind.images, []);
  assertEquals(blind.notices, ["@i.png was not attached: the model takes no images"]);
  assertEquals((await references("@i.png", dir.path, true)).images.length, 1);
});

Deno.test("resolveReferences reports empty and truncated content", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "a.txt": "1\n2\n", "none.txt": "", "long.txt": "x".repeat(70_000) });
  await Deno.mkdir(`${dir.path}/d`);
  const { blocks } = await references("@a.txt:3-9 @none.txt @d/ @long.txt:1-2", dir.path);
  assertEquals(blocks.slice(0, 3), [
    '<file path="a.txt" lines="3-9">\n[the file has only 2 lines]\n</file>',
    '<file path="none.txt">\n[empty]\n</file>',
    '<dir path="d/">\n[empty]\n</dir>',
  ]);
  assertStringIncludes(blocks[3] ?? "", "x\n[cut; read_file shows the rest]\n</file>");
});

Deno.test("resolveReferences attaches the text of documents where a plugin reads them", async () => {
  await using dir = await makeTempDir();
  const bytes = new Uint8Array([0x25, 0x50, 0x44, 0x46]);
  await writeFiles(dir.path, {
    "a.pdf": bytes,
    "bad.docx": bytes,
    "m.eml": "Subject: hi\n",
    "t.csv": "1,2\n",
  });
  const task = "@a.pdf @a.pdf:3-4 @bad.docx @m.eml @t.csv";
  const options = {
    cwd: dir.path,
    vision: false,
    read: (path: string) => Deno.realPath(`${dir.path}/${path}`),
    hidden: () => false,
  };
  const without = await resolveReferences(task, options);
  const setUp = "the plugin that reads documents is not set up (reasonix plugin add documents)";
  assertEquals(
    without.notices,
    ["a.pdf", "a.pdf", "bad.docx"].map((name) => `@${name} was not attached: ${setUp}`),
  );
  assertEquals(without.blocks[0], '<file path="a.pdf">[document, 4 bytes; not attached]</file>');
  assertEquals(without.blocks.slice(3), [
    '<file path="m.eml">\nSubject: hi\n</file>',
    '<file path="t.csv">\n1,2\n</file>',
  ]);
  const real = await Deno.realPath(dir.path);
  const found = await resolveReferences(task, {
    ...options,
    document: (path, { offset = 1, limit }) =>
      path.endsWith(".docx")
        ? Promise.reject(new Error("it is damaged"))
        : Promise.resolve(`${path.slice(real.length)} ${offset} ${limit}`),
  });
  assertEquals(found.blocks.slice(0, 4), [
    '<file path="a.pdf">\n/a.pdf 1 5000\n</file>',
    '<file path="a.pdf" lines="3-4">\n/a.pdf 3 2\n</file>',
    '<file path="bad.docx">[document, 4 bytes; not attached]</file>',
    '<file path="m.eml">\n/m.eml 1 5000\n</file>',
  ]);
  assertEquals(found.notices, ["@bad.docx was not attached: it is damaged"]);
});

Deno.test("resolveReferences reports a file that must not be read", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "forbidden.txt": "no" });
  const found = await references("@forbidden.txt", dir.path);
  assertEquals(found.blocks, []);
  assertStringIncludes(found.notices[0] ?? "", "Forbidden");
});

Deno.test("resolveReferences suggests a name for a mistyped path and ignores packages and handles", async () => {
  await using dir = await makeTempDir();
  const files = {
    "src/wrap.ts": "x",
    "main.ts": "y",
    ".git/x": "",
    "node_modules/@scope/pkg.js/index.js": "",
  };
  await writeFiles(dir.path, files);
  const output = async (text: string) => (await references(text, dir.path)).notices;
  for (
    const [name, hint] of [
      ["src/wrpa.ts", "src/wrap.ts"],
      ["mian.ts:3-4", "main.ts"],
      ["src/other.go"],
      ["../reasonix-tset.txt"],
      ["zzz/none.ts"],
      ["src/zzz/none.ts"],
      ["scr/wrap.ts", "src/wrap.ts"],
      ["scr/wrpa.ts:3-9", "src/wrap.ts"],
      ["nofile.ts"],
      ["qqq.md"],
      ["./Makefile"],
      ["a/b/c/Dockerfile.yml"],
      ["lib/none.js"],
      ["/no/such/place.json"],
    ]
  ) {
    const expected = `@${name} was not attached: there is no such file`;
    assertEquals(await output(`see @${name}.`), [hint ? `${expected}; did you mean @${hint}?` : expected]);
  }
  assertEquals(await output("@sr/"), ["@sr/ was not attached: there is no such directory"]);
  for (
    const text of [
      "@john.doe and @jane @someone @scope/pkg.js @types/node me@src/wrpa.ts @Override",
      "@types/chart.js @types/socket.io @types/lodash.get @babel/core @angular/core@17.1.0",
      "@Injectable() @app.route('/x.html') @functools.cache @pytest.mark.skip @property",
      "me@example.com @example.com <a@b.ts> a@b/c.ts",
      "@media (x) @param name @v1.2 @2.5 @...",
      "@/components/Button",
    ]
  ) {
    assertEquals(await output(text), [], text);
  }
});

Deno.test("resolveReferences reads resources of connected servers and ignores other colons", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "a.txt": "1\n2" });
  const found = await resolveReferences("@docs:page://intro, @bad:x and @a.txt:2 mail:me", {
    cwd: dir.path,
    vision: false,
    read: (path) => Deno.realPath(`${dir.path}/${path}`),
    hidden: () => false,
    resource(server, uri) {
      if (server === "docs") return Promise.resolve({ text: `text of ${uri}\n`, images: [] });
      return server === "bad" ? Promise.reject(new Error("gone")) : undefined;
    },
  });
  assertEquals(found.blocks, [
    '<resource ref="docs:page://intro">\ntext of page://intro\n</resource>',
    '<file path="a.txt" lines="2-2">\n2\n</file>',
  ]);
  assertEquals(found.notices, ["@bad:x was not attached: gone"]);
});

Deno.test("environmentText describes the access to all files", () => {
  const options = { cwd: "/w", now: new Date("2026-02-03T12:00:00Z"), platform: "linux" };
  const text = environmentText({ ...options, files: "not to be changed" });
  assertEquals(text.split("\n").at(-2), "files: not to be changed");
});

// A changed byte of a prompt invalidates the cached prefix of every user. Record a deliberate change
// with UPDATE_GOLDEN=1.

const TOOLS = [
  {
    name: "list",
    description: "Lists a directory.\n",
    parameters: { type: "object", properties: { deep: { type: "boolean", default: false } } },
  },
  {
    name: "write",
    description: "Writes a file.",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "Where to" },
        content: { type: "string" },
        mode: { type: "string", enum: ["new", "end"], description: "How,\n  if not anew" },
        times: { type: "integer", minimum: 1, maximum: 9 },
        marks: { type: "array", items: { type: "string" }, description: "Marks" },
      },
      required: ["path", "content"],
    },
  },
];
const DIRECTORY = new URL("../../golden/prompts/", import.meta.url);

/** The last message of the request for a summary. */
async function summaryPrompt(more: Partial<SummaryTask>): Promise<string> {
  const conversation = new Recorder(new MemoryStore());
  await openConversation(conversation, { system: "Be brief.", tools: [], model: "m" });
  const provider = scriptedProvider([say("a summary")]);
  const task = { provider, conversation, removed: [], limit: 1000, window: undefined, tokens: 0 };
  await summarize({ ...task, replacesSummaries: false, ...more }, new AbortController().signal);
  return String(provider.requests[0]?.at(-1)?.content);
}

const PROMPTS: Readonly<Record<string, () => string | Promise<string>>> = {
  "system.md": () => systemPrompt({ instructions: [] }),
  "system_with_everything.md": () =>
    systemPrompt({
      reasoningLanguage: "en",
      skills: "# Skills\n- marks: Makes marks",
      instructions: [
        { path: "/h/AGENTS.md", label: "AGENTS.md (user)", text: "Use tabs\n" },
        { path: "/w/AGENTS.md", label: "AGENTS.md (project)", text: "Run the tests\n" },
      ],
    }),
  "system_without_tools.md": () => systemPrompt({ instructions: [], withoutTools: true }),
  "taught_tools.md": () => taughtPrefix({ system: "Be brief.\n", tools: TOOLS }).system,
  "summary.md": () => summaryPrompt({}),
  "several_turns.md": () => `${agentModePrompt("allow")}\n\n---\n\n${agentModePrompt("deny")}\n`,
  "summary_with_everything.md": () => summaryPrompt({ replacesSummaries: true, hint: "the port numbers" }),
};

for (const [name, prompt] of Object.entries(PROMPTS)) {
  Deno.test(`the prompt is sent as recorded in tests/golden/prompts/${name}`, async () => {
    const file = new URL(name, DIRECTORY);
    const now = await prompt();
    if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, now);
    assertEquals(
      now,
      await Deno.readTextFile(file),
      "a changed prompt is a decision: UPDATE_GOLDEN=1 records it",
    );
  });
}

Deno.test("tests/golden/prompts has only files of existing prompts", () => {
  assertEquals([...Deno.readDirSync(DIRECTORY)].map(({ name }) => name).sort(), Object.keys(PROMPTS).sort());
});

const FILE = {
  path: "/w/AGENTS.md",
  label: "AGENTS.md (project)",
  text: "Use tabs, never blanks. ".repeat(30),
};
const CATALOGUE = "# Skills\n- pdf: Reads PDF files";

function input() {
  const state = emptyState();
  state.messages = [
    { role: "user", content: "<environment>\nx\n</environment>" },
    { role: "user", content: "Fix the parser ".repeat(10) },
    { role: "user", content: '<instructions folder="a">\nmore\n</instructions>' },
    {
      role: "assistant",
      content: "Reading",
      calls: [{ id: "1", name: "read_file", arguments: '{"path":"a"}' }],
    },
    { role: "tool", callId: "1", name: "read_file", content: "line of code\n".repeat(200) },
    { role: "user", content: "<compaction-summary>\nearlier\n</compaction-summary>" },
  ];
  state.sources = (["pinned", "user", "pinned", "assistant", "tool", "summary"] as const)
    .map((kind, i) => ({ seq: i + 1, kind }));
  return {
    state,
    prefix: {
      system: systemPrompt({ instructions: [FILE], skills: CATALOGUE }),
      tools: [{ name: "read_file", description: "Reads", parameters: { type: "object" } }],
    },
    model: "m",
    instructions: {
      files: [FILE],
      notices: [{ path: "/w/x.md", problem: "cut" }],
      shadowed: [{ path: "/w/CLAUDE.md", by: "/w/AGENTS.md" }],
    },
    catalogue: CATALOGUE,
    window: 10_000,
    windowSource: "declared",
    compaction: { auto: true, ratio: 0.8 },
  };
}

Deno.test("contextReport counts by category, with categories that add up to the total", async () => {
  const { contextReport } = await loadReport();
  const report = await contextReport(input());
  const tokens = Object.fromEntries(report.categories.map(({ name, tokens }) => [name, tokens]));
  const sum = Object.values(tokens).reduce((total, value) => total + value, 0);
  assert(Math.abs(sum - report.tokens) <= report.categories.length, `${sum} and ${report.tokens}`);
  for (const [name, value] of Object.entries(tokens)) assert(value > 0, `${name} is empty`);
  assert((tokens["tool results"] ?? 0) > (tokens.assistant ?? 0));
  assertEquals([report.measure, report.compactsAt, report.window], ["estimated", 8_000, 10_000]);
  assertEquals(report.percent, Math.round(report.tokens / 10) / 10);
  assertEquals(report.loaded.map((part) => [part.kind, part.name]), [
    ["instructions", "AGENTS.md (project)"],
    ["late instructions", "a"],
  ]);
  assertEquals([report.shadowed, report.notices], [[{ path: "/w/CLAUDE.md", by: "/w/AGENTS.md" }], [{
    path: "/w/x.md",
    text: "cut",
  }]]);
});

Deno.test("contextReport uses the server's count if available and reports the cached tokens", async () => {
  const { contextReport } = await loadReport();
  const given = input();
  given.state.lastUsage = { inputTokens: 5_000, cachedTokens: 4_000, outputTokens: 10, reasoningTokens: 0 };
  const report = await contextReport({ ...given, window: 0 });
  assert(report.tokens > 5_000 && report.measure === "reported");
  assertEquals([report.percent, report.compactsAt, report.cachedPercent], [undefined, undefined, 80]);
});
