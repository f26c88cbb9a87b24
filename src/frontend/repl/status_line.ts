import type { Assembly } from "../../run/mod.ts";
import type { Usage } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { baseName } from "../../path/lexical.ts";
import { displayWidth, fitDisplay } from "../../util/display_width.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { cacheShare, grouped, moneyFigure, type Palette } from "../../view/mod.ts";

type Fact<K extends keyof Assembly["facts"]> = NonNullable<Assembly["facts"][K]>;

type StatusTexts = Texts["chat"]["statusLine"];

interface Figure {
  readonly text: string;
  readonly color?: (text: string) => string;
}

/** A part of the status line; the highest ranks are left out first. */
interface Part extends Figure {
  readonly rank: number;
}

export interface StatusOptions {
  readonly palette: Palette;
  readonly texts: () => StatusTexts;
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
  readonly #texts: () => StatusTexts;
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

  #parts(facts: Assembly["facts"]): Part[] {
    const { directory } = facts;
    const branch = this.#branch === undefined ? "" : ` (${oneLine(this.#branch, 40)})`;
    const figures = figuresOf(facts, this.#texts(), this.#palette);
    return [
      { ...figures.model, rank: 0 },
      { ...figures.approval, rank: 1 },
      { ...figures.permission, rank: 1 },
      { ...figures.plan, rank: 1 },
      { ...figures.goal, rank: 1 },
      { text: this.#web(), rank: 2 },
      { text: oneLine(baseName(directory) || directory, 40) + branch, rank: 4 },
      { ...figures.context, rank: 2 },
      { ...figures.cost, rank: 3 },
      { ...figures.cache, rank: 6 },
      { ...figures.jail, rank: 5 },
      { ...figures.servers, rank: 7 },
    ];
  }

  #web(): string {
    const browsers = this.#browsers();
    if (!browsers) return "";
    const viewers = browsers.filter(({ role }) => role === "viewer").length;
    const texts = this.#texts();
    return viewers > 0 ? texts.webViewers(browsers.length, viewers) : texts.web(browsers.length);
  }
}

/** Figures of a session as texts, empty where there is nothing to say. */
export function figuresOf(
  { model, modes: { approval, approvedPlan, permission }, goal, context, spending, confined, servers }:
    Assembly["facts"],
  texts: StatusTexts,
  { warning }: Palette,
) {
  const figure = (text: string, warns = false): Figure => warns ? { text, color: warning } : { text };
  return {
    model: figure(oneLine(model.id, 40)),
    approval: figure(permission === "plan" ? "" : texts.modes[approval], approval === "yolo"),
    permission: figure(
      permission === "workspace-write"
        ? ""
        : permission === "plan" && approval !== "ask"
        ? texts.planThen(texts.modes[approval])
        : texts.permissions[permission],
      permission === "danger-full-access",
    ),
    plan: figure(approvedPlan ? texts.planApproved : ""),
    goal: !goal
      ? figure("")
      : goal.state === "active"
      ? figure(texts.goal.active(goal.turns + 1))
      : figure(texts.goal[goal.state], true),
    context: context
      ? figure(contextText(context, texts), (context.percent ?? 0) > FULL_PERCENT)
      : figure(""),
    cost: figure(moneyFigure(spending) ?? ""),
    cache: figure(cacheText(spending.usage, texts)),
    jail: figure(confined ? texts.jail.on : texts.jail.off, !confined),
    servers: servers.enabled > 0
      ? figure(texts.mcp(servers.ready, servers.enabled, servers.failed), servers.failed > 0)
      : figure(""),
  };
}

function contextText({ tokens, percent }: Fact<"context">, texts: StatusTexts): string {
  if (percent === undefined) return texts.tokens(grouped(tokens));
  return texts.context(`${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`);
}

function cacheText(usage: Usage, texts: StatusTexts): string {
  if (usage.inputTokens === 0) return "";
  const share = cacheShare(usage);
  return usage.scripted ? texts.cachedScripted(share) : texts.cached(share);
}

function widthOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { text }) => sum + displayWidth(text) + GAP.length, -GAP.length);
}
