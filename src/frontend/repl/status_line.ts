import type { Assembly } from "../../run/mod.ts";
import type { Usage } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { baseName } from "../../path/lexical.ts";
import { displayWidth, fitDisplay } from "../../util/display_width.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { cacheShare, grouped, moneyFigure, type Palette } from "../../view/mod.ts";

type Fact<K extends keyof Assembly["facts"]> = NonNullable<Assembly["facts"][K]>;

/** A part of the status line; the highest ranks are left out first. */
interface Part {
  readonly text: string;
  readonly color?: (text: string) => string;
  readonly rank: number;
}

export interface StatusOptions {
  readonly palette: Palette;
  readonly texts: () => Texts["chat"]["statusLine"];
  /** Reports whether a session is being opened while there is none. */
  readonly opening: () => boolean;
  /** The browsers at the web page of the chat; undefined: it is not open. */
  readonly browsers: () => readonly { readonly role: "owner" | "viewer" }[] | undefined;
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
  readonly #browsers: () => readonly { readonly role: "owner" | "viewer" }[] | undefined;
  #branch: string | undefined;
  #changed: () => void = () => {};

  constructor({ palette, texts, opening, browsers }: StatusOptions) {
    this.#palette = palette;
    this.#texts = texts;
    this.#opening = opening;
    this.#browsers = browsers;
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
    let parts = this.#parts(this.#assembly.facts).filter(({ text }) => text !== "");
    while (parts.length > 1 && widthOf(parts) > columns) {
      const least = Math.max(...parts.map(({ rank }) => rank));
      parts = parts.filter(({ rank }) => rank !== least);
    }
    return parts.map(({ text, color = dim }) => color(fitDisplay(text, columns))).join(dim(GAP));
  }

  #parts(
    { model, modes, directory, goal, context, spending, confined, servers }: Assembly["facts"],
  ): Part[] {
    const texts = this.#texts();
    const { warning } = this.#palette;
    const { approval, approvedPlan, permission } = modes;
    const branch = this.#branch === undefined ? "" : ` (${oneLine(this.#branch, 40)})`;
    return [
      { text: oneLine(model.id, 40), rank: 0 },
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
      ...(goal ? [this.#goal(goal)] : []),
      { text: this.#web(), rank: 2 },
      { text: oneLine(baseName(directory) || directory, 40) + branch, rank: 4 },
      ...(context ? [this.#context(context)] : []),
      { text: moneyFigure(spending) ?? "", rank: 3 },
      { text: this.#cache(spending.usage, texts), rank: 6 },
      {
        text: confined ? texts.jail.on : texts.jail.off,
        rank: 5,
        ...(confined ? {} : { color: warning }),
      },
      ...(servers.enabled > 0 ? [this.#servers(servers)] : []),
    ];
  }

  #web(): string {
    const browsers = this.#browsers();
    if (!browsers) return "";
    const viewers = browsers.filter(({ role }) => role === "viewer").length;
    const texts = this.#texts();
    return viewers > 0 ? texts.webViewers(browsers.length, viewers) : texts.web(browsers.length);
  }

  #cache(usage: Usage, texts: Texts["chat"]["statusLine"]): string {
    if (usage.inputTokens === 0) return "";
    const share = cacheShare(usage);
    return usage.scripted ? texts.cachedScripted(share) : texts.cached(share);
  }

  #goal({ state, turns }: Fact<"goal">): Part {
    const texts = this.#texts().goal;
    if (state === "active") return { text: texts.active(turns + 1), rank: 1 };
    return { text: texts[state], rank: 1, color: this.#palette.warning };
  }

  #servers({ ready, enabled, failed }: Fact<"servers">): Part {
    const text = this.#texts().mcp(ready, enabled, failed);
    return { text, rank: 7, ...(failed > 0 ? { color: this.#palette.warning } : {}) };
  }

  #context({ tokens, percent }: Fact<"context">): Part {
    const texts = this.#texts();
    if (percent === undefined) return { text: texts.tokens(grouped(tokens)), rank: 2 };
    const text = texts.context(`${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`);
    return { text, rank: 2, ...(percent > FULL_PERCENT ? { color: this.#palette.warning } : {}) };
  }
}

function widthOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { text }) => sum + displayWidth(text) + GAP.length, -GAP.length);
}
