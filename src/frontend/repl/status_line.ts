import type { Assembly } from "../../run/mod.ts";
import type { Usage } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { baseName } from "../../path/lexical.ts";
import { displayWidth, fitDisplay } from "../../util/display_width.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { cacheShare, grouped, moneyFigure, type Palette } from "../../view/mod.ts";

/** A part of the status line; the highest ranks are left out first. */
interface Part {
  readonly text: string;
  readonly color?: (text: string) => string;
  readonly rank: number;
}

const GAP = " · ";
/** A fuller context is shown as a warning. */
const FULL_PERCENT = 80;

/** The status of the session in one line, without its least important parts where it is narrow. */
export class StatusLine {
  readonly #palette: Palette;
  readonly #texts: () => Texts["chat"]["statusLine"];
  #assembly: Assembly | undefined;
  readonly #opening: () => boolean;
  #branch: string | undefined;
  #changed: () => void = () => {};

  /** `opening` reports whether a session is being opened while there is none. */
  constructor(palette: Palette, texts: () => Texts["chat"]["statusLine"], opening: () => boolean) {
    this.#palette = palette;
    this.#texts = texts;
    this.#opening = opening;
  }

  /** Shows a session; `changed` is called when the branch is known. */
  show(assembly: Assembly, changed: () => void): void {
    this.#assembly = assembly;
    this.#changed = changed;
    this.#branch = undefined;
    this.refresh();
  }

  /** Reads the Git branch again. */
  refresh(): void {
    const assembly = this.#assembly;
    if (!assembly) return;
    void import("../../context/mod.ts").then(({ gitBranch }) => {
      if (assembly !== this.#assembly) return;
      this.#branch = gitBranch(assembly.cwd);
      this.#changed();
    }).catch(() => {});
  }

  line(columns: number): string {
    const { dim } = this.#palette;
    const { opening, closed } = this.#texts();
    if (!this.#assembly) return dim(fitDisplay(this.#opening() ? opening : closed, columns));
    let parts = this.#parts(this.#assembly).filter(({ text }) => text !== "");
    while (parts.length > 1 && widthOf(parts) > columns) {
      const least = Math.max(...parts.map(({ rank }) => rank));
      parts = parts.filter(({ rank }) => rank !== least);
    }
    return parts.map(({ text, color = dim }) => color(fitDisplay(text, columns))).join(dim(GAP));
  }

  #parts(assembly: Assembly): Part[] {
    const texts = this.#texts();
    const { warning } = this.#palette;
    const { state } = assembly.controller.recorder;
    const { approval, approvedPlan, permission } = assembly.modes;
    const directory = baseName(assembly.cwd) || assembly.cwd;
    const branch = this.#branch === undefined ? "" : ` (${oneLine(this.#branch, 40)})`;
    return [
      { text: oneLine(assembly.provider.model.id, 40), rank: 0 },
      {
        text: permission === "plan" ? "" : texts.modes[approval],
        rank: 1,
        ...(approval === "yolo" ? { color: warning } : {}),
      },
      {
        text: permission === "workspace-write"
          ? ""
          : permission === "plan" && approval !== "ask"
          ? texts.planThen(texts.modes[approval])
          : texts.permissions[permission],
        rank: 1,
        ...(permission === "danger-full-access" ? { color: warning } : {}),
      },
      { text: approvedPlan ? texts.planApproved : "", rank: 1 },
      ...this.#goal(state.goal, texts),
      { text: oneLine(directory, 40) + branch, rank: 4 },
      ...this.#context(assembly),
      { text: moneyFigure(state) ?? "", rank: 3 },
      { text: this.#cache(state.usage, texts), rank: 6 },
      {
        text: assembly.confined ? texts.jail.on : texts.jail.off,
        rank: 5,
        ...(assembly.confined ? {} : { color: warning }),
      },
      ...this.#servers(assembly),
    ];
  }

  #cache(usage: Usage, texts: Texts["chat"]["statusLine"]): string {
    if (usage.inputTokens === 0) return "";
    const share = cacheShare(usage);
    return usage.scripted ? texts.cachedScripted(share) : texts.cached(share);
  }

  #goal(goal: Assembly["session"]["state"]["goal"], texts: Texts["chat"]["statusLine"]): Part[] {
    if (!goal || goal.state === "complete" || goal.state === "cleared") return [];
    if (goal.state === "active") return [{ text: texts.goal.active(goal.turns + 1), rank: 1 }];
    return [{ text: texts.goal[goal.state], rank: 1, color: this.#palette.warning }];
  }

  #servers({ servers }: Assembly): Part[] {
    const states = servers?.status.map(({ state }) => state).filter((state) => state !== "disabled") ?? [];
    if (states.length === 0) return [];
    const ready = states.filter((state) => state === "ready" || state === "provider").length;
    const failed = states.filter((state) => state === "failed" || state === "needs-auth").length;
    const text = this.#texts().mcp(ready, states.length, failed);
    return [{ text, rank: 7, ...(failed > 0 ? { color: this.#palette.warning } : {}) }];
  }

  #context({ controller: { recorder: { state } }, window }: Assembly): Part[] {
    if (!state.lastUsage) return [];
    const texts = this.#texts();
    const tokens = state.lastUsage.inputTokens + state.lastUsage.outputTokens;
    if (!window) return [{ text: texts.tokens(grouped(tokens)), rank: 2 }];
    const percent = 100 * tokens / window;
    const text = texts.context(`${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`);
    return [{ text, rank: 2, ...(percent > FULL_PERCENT ? { color: this.#palette.warning } : {}) }];
  }
}

function widthOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { text }) => sum + displayWidth(text) + GAP.length, -GAP.length);
}
