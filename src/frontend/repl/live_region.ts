import type { Assembly } from "../../assembly/mod.ts";
import type { Usage } from "../../core/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import type { OverlayQueue } from "./overlay/dialogs.ts";
import { type Frame, hintRows, stack, type View } from "./screen/view.ts";
import type { Submissions } from "./submissions.ts";
import type { Transcript } from "./transcript/transcript.ts";
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
class StatusLine {
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

interface LiveRegionDeps {
  readonly palette: Palette;
  readonly texts: ChatTexts;
  readonly transcript: Transcript;
  readonly submissions: Submissions;
  readonly overlays: OverlayQueue;
  readonly composer: View;
  /** The first line of the chat, until the session is open and it is printed. */
  readonly header: (columns: number) => string | undefined;
  readonly leaving: () => boolean;
  readonly failed: (error: unknown) => void;
  readonly hopeless: () => void;
}

/** Maximum number of queued messages shown. */
const WAITING_LINES = 3;

/** On a screen with fewer rows an open overlay hides queued messages. */
const ROOMY = 16;

/** The live region: current activity, queued messages, the composer or an overlay, the status line. */
export class LiveRegion implements View {
  readonly status: StatusLine;
  readonly #deps: LiveRegionDeps;

  constructor(deps: LiveRegionDeps) {
    this.#deps = deps;
    this.status = new StatusLine(deps.palette, () => deps.texts.status, () => deps.submissions.opening);
  }

  /** When a part cannot be drawn, the composer or overlay is shown alone. */
  frame(columns: number, rows: number): Frame {
    try {
      return this.#whole(columns, rows);
    } catch (error) {
      this.#deps.failed(error);
    }
    try {
      return this.#plain(columns, rows);
    } catch {
      this.#deps.hopeless();
      return { lines: [] };
    }
  }

  #whole(columns: number, rows: number): Frame {
    const { palette, transcript, overlays, composer, header } = this.#deps;
    const hint = this.#hint();
    const status = { lines: [hint === "" ? this.status.line(columns) : palette.dim(hint)] };
    const { top } = overlays;
    const waiting = { lines: top && rows < ROOMY ? [] : this.#waiting() };
    const head = top || rows < ROOMY / 2 ? [] : [header(columns)].filter((line) => line !== undefined);
    const taken = waiting.lines.length + status.lines.length + head.length + 1;
    const space = Math.max(1, rows - taken);
    const bottom = overlays.aside ? this.#withDraft(columns, space) : (top ?? composer).frame(columns, space);
    const live = transcript.live(columns, Math.max(0, rows - bottom.lines.length - taken));
    return stack([{ lines: [...head, ...live, ""] }, waiting, bottom, status]);
  }

  #plain(columns: number, rows: number): Frame {
    const { overlays, composer } = this.#deps;
    return stack([{ lines: [""] }, (overlays.top ?? composer).frame(columns, Math.max(1, rows - 1))]);
  }

  /** An overlay that opened while the user was typing, and the composer below it. */
  #withDraft(columns: number, rows: number): Frame {
    const { palette, texts: { chat }, overlays, composer } = this.#deps;
    const draft = composer.frame(columns, Math.max(1, Math.floor(rows / 3)));
    const hint = hintRows([chat.asideAnswer, chat.asideWrite], columns).map(palette.warning);
    const left = Math.max(0, rows - draft.lines.length - hint.length);
    return stack([overlays.top?.frame(columns, left) ?? { lines: [] }, { lines: hint }, draft]);
  }

  /** A hint that replaces the status line. */
  #hint(): string {
    const { texts: { chat }, submissions, transcript, overlays, leaving } = this.#deps;
    if (leaving()) return chat.leaveHint;
    if (submissions.stopping) return chat.stopping;
    // A command with a question waits for the user.
    return submissions.busy && !transcript.busy && !overlays.top ? chat.working : "";
  }

  /** Steering and queued messages. */
  #waiting(): string[] {
    const { texts: { chat }, submissions: { waiting, steering }, palette } = this.#deps;
    const lines = [
      ...steering.map((text) => chat.steering(oneLine(text, 200))),
      ...waiting.map(({ text }) => chat.queued(oneLine(text, 200))),
    ];
    const more = lines.length > WAITING_LINES ? [`… +${lines.length - WAITING_LINES}`] : [];
    const hint = waiting.length > 0 ? [chat.queueHint] : [];
    return [...lines.slice(0, WAITING_LINES), ...more, ...hint].map((line) => palette.dim(line));
  }
}
