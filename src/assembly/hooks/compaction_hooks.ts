import { hookNote } from "../../hook/mod.ts";
import type { CompactionHooks } from "../../context/mod.ts";
import type { RunHooks } from "./run_hooks.ts";

/** The hooks around a compaction; what those at the start of a session say is said again after it. */
export function compactionHooks(hooks: RunHooks): CompactionHooks {
  let guide: string | undefined;
  return {
    async before(trigger, hint, signal) {
      const verdict = await hooks.fire("PreCompact", {
        names: [trigger],
        signal,
        input: { trigger, custom_instructions: hint ?? "" },
      });
      guide = [verdict?.guide, ...verdict?.contexts ?? []].filter((text) => text).join("\n") || undefined;
      return verdict?.stop ?? (verdict?.decision === "deny" ? verdict.reason : undefined);
    },
    guide: () => guide,
    async after(trigger, signal) {
      guide = undefined;
      await hooks.fire("PostCompact", { names: [trigger], signal, input: { trigger } });
      if (hooks.agent) return;
      const input = { source: "compact" };
      const verdict = await hooks.fire("SessionStart", { names: ["compact"], signal, input });
      for (const text of verdict?.contexts ?? []) {
        await hooks.record({
          type: "message.user",
          content: hookNote("SessionStart", text),
          origin: "context",
        });
      }
    },
  };
}
