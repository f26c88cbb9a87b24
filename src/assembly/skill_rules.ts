import type { SkillActivation } from "../context/mod.ts";
import type { Recorder } from "../control/mod.ts";
import type { PermissionGate } from "../permission/mod.ts";
import type { RuleText } from "../rule/mod.ts";

/** Lets the `allowed-tools` of a skill count from its activation to the end of that turn. */
export class SkillRules {
  readonly #recorder: Recorder;
  #gate: Pick<PermissionGate, "setTemporaryRules"> | undefined;
  #rules: readonly RuleText[] = [];

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
    recorder.subscribe((event) => {
      if (event.type === "turn.end") this.#apply([]);
    });
  }

  serve(gate: Pick<PermissionGate, "setTemporaryRules">): void {
    this.#gate = gate;
  }

  readonly activated = ({ skill, approved }: SkillActivation): void => {
    if (skill.allowedTools.length === 0) return;
    if (approved) {
      const rules = skill.allowedTools.map((text): RuleText => ({ text, origin: skill.file }));
      this.#apply([...this.#rules, ...rules]);
      return;
    }
    const text = `The allowed-tools of skill ${skill.name} do not count: it comes with the project and ` +
      "`reasonix trust` has not been said to it";
    void this.#recorder.record({ type: "notice", level: "warning", code: "skill", text });
  };

  #apply(rules: readonly RuleText[]): void {
    if (rules.length + this.#rules.length === 0) return;
    this.#rules = rules;
    this.#gate?.setTemporaryRules(rules);
  }
}
