/** Starts: what answers without a model, and one question. */
import { firstRequest, firstSize, wall } from "../figures.ts";
import { BENCH_KINDS } from "../model/kinds.ts";
import { bareFetch, NOTHING, ofKind } from "../programs.ts";
import type { Scenario } from "../scenario.ts";

function plain(name: string, ...args: readonly string[]): Scenario {
  return {
    name,
    runs: 11,
    model: { script: "hello" },
    plain: args,
    floor: () => NOTHING,
    figures: [{ name: args.join(" "), unit: "ms", target: 25, targetRatio: 1.25, of: wall }],
  };
}

export const STARTS: readonly Scenario[] = [
  plain("version", "--version"),
  plain("help", "--help"),
  {
    name: "hello",
    runs: 15,
    model: { script: "hello" },
    figures: [
      {
        name: "process start → first request",
        unit: "ms",
        target: 50,
        targetRatio: 2.08,
        of: firstRequest,
      },
      { name: "one question, whole run", unit: "ms", target: 65, targetRatio: 1.8, of: wall },
      { name: "first request with all tools", unit: "KB", target: 14, of: firstSize },
    ],
  },
  ...Object.keys(BENCH_KINDS).map((kind): Scenario => ({
    name: `hello_${kind}`,
    runs: 15,
    model: { script: "hello", kind },
    setup: ofKind(kind),
    floor: () => bareFetch(kind),
    figures: [
      { name: `process start → first request, kind ${kind}`, unit: "ms", target: 50, of: firstRequest },
    ],
  })),
];
