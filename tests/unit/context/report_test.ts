import { loadReport, systemPrompt } from "../../../src/context/mod.ts";
import { emptyState } from "../../../src/session/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";

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
