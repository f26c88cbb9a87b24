import { assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";
import { NOTEBOOK_EDIT } from "../../../../src/tool/builtin/notebook_edit/tool.ts";
import { READ_FILE } from "../../../../src/tool/builtin/read_file/tool.ts";

const NOTEBOOK = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title, \\u00e4"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "text": []
    }
   ],
   "source": [
    "a = 1\\n",
    "print(a)"
   ]
  }
 ],
 "metadata": {
  "time": 1.0
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`;

async function edited(args: Record<string, unknown>, text = NOTEBOOK): Promise<string> {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.ipynb`, text);
  const context = makeToolContext(dir.path);
  await READ_FILE.execute({ path: "a.ipynb" }, context);
  const result = await NOTEBOOK_EDIT.execute({ path: "a.ipynb", ...args }, context);
  return result.isError ? result.content : await Deno.readTextFile(`${dir.path}/a.ipynb`);
}

Deno.test("notebook_edit replaces a code cell, drops its outputs and leaves every other byte", async () => {
  const expected = NOTEBOOK.replace('"execution_count": 3', '"execution_count": null')
    .replace(/"outputs": \[[\s\S]*?\n {3}\],/, '"outputs": [],')
    .replace('"a = 1\\n",\n    "print(a)"', '"b = 2\\n",\n    "b"');
  assertEquals(await edited({ cell: "calc", new_source: "b = 2\nb" }), expected);
  assertEquals(await edited({ cell: "1", new_source: "b = 2\nb", edit_mode: "replace" }), expected);
});

Deno.test("notebook_edit deletes and inserts cells in place", async () => {
  const parsed = (text: string) =>
    JSON.parse(text).cells.map((cell: { source: string[] }) => cell.source.join(""));
  const first = await edited({ cell: "intro", edit_mode: "delete" });
  assertEquals(first, NOTEBOOK.replace(/ {2}\{\n {3}"cell_type": "markdown"[\s\S]*?\n {2}\},\n/, ""));
  const last = await edited({ cell: "1", edit_mode: "delete" });
  assertEquals(parsed(last), ["# Title, ä"]);
  const top = await edited({ edit_mode: "insert", cell_type: "code", new_source: "x" });
  assertEquals(parsed(top), ["x", "# Title, ä", "a = 1\nprint(a)"]);
  assertMatch(
    top,
    /"cells": \[\n {2}\{\n {3}"cell_type": "code",\n {3}"execution_count": null,\n {3}"id": "[0-9a-f]{8}"/,
  );
  const end = await edited({ edit_mode: "insert", cell: "calc", cell_type: "markdown", new_source: "" });
  assertEquals(parsed(end), ["# Title, ä", "a = 1\nprint(a)", ""]);
  const only = await edited(
    { edit_mode: "insert", cell_type: "raw", new_source: "r" },
    '{"cells": [], "nbformat": 4}\n',
  );
  assertEquals(only, '{"cells": [{"cell_type":"raw","metadata":{},"source":["r"]}], "nbformat": 4}\n');
});

Deno.test("notebook_edit says what is wrong when the cell or the file is not right", async () => {
  assertStringIncludes(
    await edited({ cell: "nope", new_source: "x" }),
    'no cell "nope"; known: 0:intro, 1:calc',
  );
  assertStringIncludes(await edited({ cell: "1" }), "new_source is required");
  assertStringIncludes(await edited({ new_source: "x" }), "needs a cell");
  assertStringIncludes(await edited({ edit_mode: "insert", new_source: "x" }), "cell_type is required");
  assertStringIncludes(await edited({ cell: "0", new_source: "x" }, "[1]"), "is not a notebook");
  assertStringIncludes(await edited({ cell: "0", new_source: "x" }, "{broken"), "is not a notebook");
});
