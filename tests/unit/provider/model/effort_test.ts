import fc from "fast-check";
import { EFFORT_LEVELS } from "../../../../src/config/mod.ts";
import { resolveEffort, thinkingBudget } from "../../../../src/provider/model/model_info.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

Deno.test("resolveEffort returns the level, the nearest lower one, or the lowest", () => {
  const named = { thinks: true, levels: ["low", "medium", "high"] };
  assertEquals(resolveEffort("medium", named), { level: "medium" });
  assertEquals(resolveEffort("max", named), { level: "high", fellFrom: "max" });
  assertEquals(resolveEffort("minimal", named), { level: "low", fellFrom: "minimal" });
  assertEquals(resolveEffort("none", named), { level: "low", fellFrom: "none" });
  assertEquals(resolveEffort("high", { thinks: true, levels: ["low", "max"] }), {
    level: "low",
    fellFrom: "high",
  });
});

Deno.test("resolveEffort disables thinking for none and minimal only", () => {
  const gap = { thinks: true, toggle: true, levels: ["high", "max"] };
  assertEquals(resolveEffort("none", gap), { level: "none" });
  assertEquals(resolveEffort("minimal", gap), { level: "none", fellFrom: "minimal" });
  assertEquals(resolveEffort("medium", gap), { level: "high", fellFrom: "medium" });
});

Deno.test("resolveEffort sends nothing when no level is set or the model does not think", () => {
  assertEquals(resolveEffort(undefined, { thinks: true, levels: ["low"] }), {});
  assertEquals(resolveEffort("", undefined), {});
  assertEquals(resolveEffort("high", { thinks: false }), { fellFrom: "high" });
  assertEquals(resolveEffort("none", { thinks: false }), {});
  assertEquals(resolveEffort("high", { thinks: true }), { fellFrom: "high" });
});

Deno.test("resolveEffort keeps the requested level of an unknown model", () => {
  assertEquals(resolveEffort("high", undefined), { level: "high" });
  assertEquals(resolveEffort("turbo", undefined), { level: "turbo" });
});

Deno.test("resolveEffort maps vendor-specific levels and never disables thinking for a higher one", () => {
  const words = { thinks: true, levels: ["none", "default"] };
  assertEquals(resolveEffort("default", words), { level: "default" });
  assertEquals(resolveEffort("high", words), { fellFrom: "high" });
});

Deno.test("resolveEffort never returns a level that the model does not have", () => {
  const facts = fc.record({
    thinks: fc.boolean(),
    levels: fc.subarray([...EFFORT_LEVELS, "default"]),
    toggle: fc.boolean(),
    budget: fc.option(fc.record({ min: fc.nat(2000) }), { nil: undefined }),
  });
  fc.assert(fc.property(facts, fc.constantFrom(...EFFORT_LEVELS), (facts, wanted) => {
    const { budget, ...rest } = facts;
    const model = { ...rest, ...(budget ? { budget } : {}) };
    const { level, fellFrom } = resolveEffort(wanted, model);
    const anyLevel = model.levels.length === 0 && (model.toggle || budget);
    const named = [...model.levels, ...(model.toggle || budget?.min === 0 ? ["none"] : [])];
    assert(level === undefined || anyLevel || named.includes(level));
    assertEquals(fellFrom === undefined, level === wanted || (!model.thinks && wanted === "none"));
    assert(level !== "none" || wanted === "none" || wanted === "minimal");
  }));
});

Deno.test("resolveEffort supports every level for a model with a token budget or a switch", () => {
  for (const level of EFFORT_LEVELS) {
    assertEquals(resolveEffort(level, { thinks: true, budget: { min: 0 } }), { level });
    assertEquals(resolveEffort(level, { thinks: true, toggle: true }), { level });
  }
  assertEquals(resolveEffort("none", { thinks: true, budget: { min: 128 } }), {
    level: "minimal",
    fellFrom: "none",
  });
});

Deno.test("thinkingBudget stays within the bounds of the model and leaves tokens for the answer", () => {
  assertEquals(thinkingBudget("low", {}), 4096);
  assertEquals(thinkingBudget("max", { max: 32_768 }), 32_768);
  assertEquals(thinkingBudget("minimal", { min: 2048 }), 2048);
  assertEquals(thinkingBudget("max", { min: 1024 }, 8000), 6000);
  assertEquals(thinkingBudget("none", { min: 1024 }), 0);
  assertEquals(thinkingBudget("default", {}), undefined);
});
