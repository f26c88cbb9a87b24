import { duration } from "../src/duration.ts";
import { same } from "./same.ts";

Deno.test("duration writes seconds below a minute", () => {
  same(duration(42), "42 s");
});

Deno.test("duration writes minutes and seconds", () => {
  same(duration(150), "2 min 30 s");
});

Deno.test("duration leaves out units that are zero", () => {
  same(duration(7200), "2 h");
});

Deno.test("duration keeps the two largest units", () => {
  same(duration(93784), "1 d 2 h");
});
