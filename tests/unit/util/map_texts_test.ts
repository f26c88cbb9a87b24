import { assert, assertEquals } from "../../support/assert.ts";
import { mapTexts } from "../../../src/util/json.ts";

Deno.test("mapTexts maps every text and keeps names, other values and its argument unchanged", () => {
  const value = { secret: "a secret", list: ["secret", 1, null, { deep: "secret" }], not: true };
  const before = structuredClone(value);
  assertEquals(mapTexts(value, (text) => text.replaceAll("secret", "*")), {
    secret: "a *",
    list: ["*", 1, null, { deep: "*" }],
    not: true,
  });
  assertEquals(value, before);
});

Deno.test("mapTexts returns the same object when no text changes", () => {
  const value = { a: "x", b: [{ c: "y" }] };
  assert(mapTexts(value, (text) => text) === value);
});
