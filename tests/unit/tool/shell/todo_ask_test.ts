import { textOf } from "../../../../src/core/mod.ts";
import { BUILTINS, openServices, type Question, type TodoItem, type Tool } from "../../../../src/tool/mod.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

function tool(name: string): Tool {
  return BUILTINS.find((one) => one.name === name) as Tool;
}

Deno.test("todo_write keeps the list, reports it and shows a checklist", async () => {
  await using dir = await makeTempDir();
  const heard: (readonly TodoItem[])[] = [];
  await using services = openServices({ onTodos: (items) => heard.push(items) });
  const context = makeToolContext(dir.path, { services });
  assertEquals((await tool("todo_read").execute({}, context)).content, "The todo list is empty");
  const todos = [
    { content: "read  the\ncode", status: "completed" },
    { content: "write it", status: "in_progress" },
    { content: "test it", status: "pending" },
  ];
  const result = await tool("todo_write").execute({ todos }, context);
  assertEquals(result.content, "[x] read the code\n[~] write it\n[ ] test it");
  assertEquals(textOf(result.summary), "1/3 done");
  assertEquals((await tool("todo_read").execute({}, context)).content, result.content);
  assertEquals(heard[0]?.[0], { content: "read the code", status: "completed" });
});

const QUESTIONS = [
  { question: "Which way?", options: [{ label: "Delete the table" }, { label: "Keep it" }] },
  { question: "Colour?", options: [{ label: "Blue" }, { label: "Red" }] },
];

Deno.test("ask selects the safest option in a headless run and labels it", async () => {
  await using dir = await makeTempDir();
  const result = await tool("ask").execute({ questions: QUESTIONS }, makeToolContext(dir.path));
  assertMatch(result.content, /Assumption, not a decision of the user/);
  assertStringIncludes(result.content, "Which way?\n→ Keep it\nColour?\n→ Blue");
});

Deno.test("ask returns the user's choice", async () => {
  await using dir = await makeTempDir();
  let asked: readonly Question[] = [];
  await using services = openServices({
    asker: {
      ask: (questions) => {
        asked = questions;
        return Promise.resolve([["Keep it"], ["Blue", "own words"]]);
      },
    },
  });
  const result = await tool("ask").execute({ questions: QUESTIONS }, makeToolContext(dir.path, { services }));
  assertEquals(result.content, "The user answered:\nWhich way?\n→ Keep it\nColour?\n→ Blue, own words");
  assertEquals(asked[0]?.multiple, false);
});
