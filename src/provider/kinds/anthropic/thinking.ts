import { isRecord } from "../../../util/json.ts";

/** How a model is asked to think, and what becomes of its earlier thoughts. */
export interface Thinking {
  /** Fields of the request body. */
  readonly fields: Readonly<Record<string, unknown>>;
  /**
   * Thoughts that are sent back: all of them, those that still stand behind the same text as when they were
   * thought, or none.
   */
  readonly kept: "all" | "bound" | "none";
  /** Tokens that thinking may need beside a short answer. */
  readonly tokens: number;
  /** True when the server takes sampling parameters beside it. */
  readonly samples: boolean;
}

export function thinkingOf({ thinking, output_config }: Readonly<Record<string, unknown>>): Thinking {
  const type = isRecord(thinking) ? thinking.type : undefined;
  return {
    fields: { thinking, output_config },
    kept: type === "disabled" ? "none" : type === "enabled" ? "all" : "bound",
    tokens: 0,
    samples: type === undefined || type === "disabled",
  };
}
