import { wrap } from "../src/wrap.ts";
import { same } from "./same.ts";

Deno.test("wrap keeps a short text on one line", () => {
  same(wrap("to be or not", 20), ["to be or not"]);
});

Deno.test("wrap never makes a line longer than the width", () => {
  same(wrap("to be or not to be", 8), ["to be or", "not to", "be"]);
});

Deno.test("wrap counts the space between two words", () => {
  same(wrap("abcd efgh", 8), ["abcd", "efgh"]);
});

Deno.test("wrap gives a long word a line of its own", () => {
  same(wrap("a incomprehensible b", 5), ["a", "incomprehensible", "b"]);
});
