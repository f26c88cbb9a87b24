import type { Event } from "../../../core/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import { nameUnseen } from "../../../util/exact_text.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { checklistLine, grouped, lineFigures } from "../../../view/mod.ts";
import type { ChatTexts } from "../chat_texts.ts";
import { sessionTitle } from "../../session/facts.ts";
import { safeLine } from "../screen/line.ts";
import { dealRows, type Frame, type View } from "../screen/view.ts";
import { figuresOf } from "../status_line.ts";
import type { PanelDeps } from "./list_panel.ts";
import { isChanged, type SessionLog } from "../../session/session_log.ts";

interface SideBarOptions {
  readonly log: SessionLog;
  readonly assembly: () => Assembly | undefined;
  readonly status: () => ChatTexts["status"];
}

type Part = "title" | "model" | "agents" | "modes" | "context" | "tokens" | "cost" | "jail" | List;
type List = "servers" | "todo" | "files";

const MAX_FILES = 100;
/** Rows of lists that come before the less important parts. */
const [FEW, SOME] = [4, 7];

/** The state of a session; where there is little height, without its least important parts. */
export class SideBar implements View {
  readonly #deps: PanelDeps;
  readonly #options: SideBarOptions;
  /** Agents at work, by identifier. */
  readonly #agents = new Map<string, string>();

  constructor(deps: PanelDeps, options: SideBarOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  opened(): void {
    this.#agents.clear();
  }

  event(event: Event): void {
    if (event.type === "subagent.end") this.#agents.delete(event.id);
    else if (event.type === "subagent.start" || event.type === "subagent.progress") {
      this.#agents.set(event.id, oneLine(event.agent, 40));
    }
  }

  frame(columns: number, rows: number): Frame {
    const assembly = this.#options.assembly();
    if (!assembly) {
      return { lines: [safeLine(this.#deps.palette.dim(this.#options.status().opening), columns)] };
    }
    const parts = this.#parts(assembly, columns);
    const of = (part: Part, upTo = Infinity) => [part, Math.min(upTo, parts[part].length)] as const;
    const given = dealRows<Part>(rows, [
      of("title"),
      of("context"),
      of("model"),
      of("modes"),
      of("todo", FEW),
      of("cost"),
      of("tokens"),
      of("jail"),
      of("servers", FEW),
      of("files", FEW),
      of("agents"),
      of("todo", SOME),
      of("files", SOME),
      of("servers"),
      of("todo"),
      of("files"),
    ]);
    const lines = (Object.keys(parts) as Part[]).flatMap((part) => this.#cut(parts[part], given[part]));
    return { lines: lines.map((line) => safeLine(line, columns)) };
  }

  /** The last line says how many are left out. */
  #cut(lines: readonly string[], rows: number): readonly string[] {
    const { palette, texts } = this.#deps;
    if (lines.length <= rows || rows < 2) return lines.slice(0, rows);
    return [...lines.slice(0, rows - 1), palette.dim(texts().full.moreOf(lines.length - rows + 1))];
  }

  /** The lines of each part, from top to bottom. */
  #parts(assembly: Assembly, columns: number): Record<Part, readonly string[]> {
    const { palette: { accent, bold, dim }, texts } = this.#deps;
    const { bar } = texts().full;
    const { facts, session: { state } } = assembly;
    const { model, spending: { usage }, context, todos } = facts;
    const figures = figuresOf(facts, this.#options.status(), this.#deps.palette);
    const joined = (...names: readonly (keyof typeof figures)[]) =>
      names.map((name) => figures[name]).filter(({ text }) => text !== "")
        .map(({ text, color = String }) => color(text));
    const line = (parts: readonly string[]) => parts.length === 0 ? [] : [parts.join(dim(" · "))];
    const effort = model.effort ? [bar.effort(model.effort)] : [];
    const done = todos.filter(({ status }) => status === "completed").length;
    const { color = accent } = figures.context;
    const { inputTokens, outputTokens, reasoningTokens } = usage;
    const files = this.#options.log.files.filter(isChanged);
    return {
      title: [bold(oneLine(sessionTitle(state), 200) || bar.untitled)],
      model: line([oneLine(`${model.provider}/${model.id}`, 100), ...effort].map(dim)),
      agents: line([...new Set(this.#agents.values())].map(accent)),
      modes: line(joined("approval", "permission", "plan", "goal")),
      context: context?.percent === undefined ? line(joined("context")) : [
        `${color(gauge(context.percent, Math.max(4, columns - 16)))} ${joined("context")}`,
        dim(bar.used(grouped(context.tokens), grouped(context.window ?? 0))),
      ],
      tokens: inputTokens + outputTokens === 0
        ? []
        : [dim(bar.tokens(grouped(inputTokens), grouped(outputTokens), grouped(reasoningTokens)))],
      cost: line(joined("cost", "cache")),
      jail: line(joined("jail")),
      servers: this.#servers(assembly),
      todo: headed(bold(bar.todo(done, todos.length)), todos.map((item) => this.#todo(item))),
      files: headed(
        bold(bar.files(files.length)),
        files.slice(0, MAX_FILES).map((file) => `${nameUnseen(file.path)} ${dim(lineFigures(file))}`),
      ),
    };
  }

  #todo(item: Assembly["facts"]["todos"][number]): string {
    const { accent, dim } = this.#deps.palette;
    const color = { pending: String, in_progress: accent, completed: dim }[item.status];
    return color(oneLine(checklistLine(item), 200));
  }

  /** MCP servers, then language servers. */
  #servers({ servers, facts: { languageServers } }: Assembly): readonly string[] {
    const { palette: { bad, bold, dim, good, warning }, texts } = this.#deps;
    const { states, servers: mcp, languageServers: language } = texts().details;
    const colors: Readonly<Record<string, (text: string) => string>> = {
      ready: good,
      provider: good,
      starting: warning,
      failed: bad,
      "needs-auth": warning,
    };
    const row = ({ name, state }: { readonly name: string; readonly state: keyof typeof states }) => {
      const color = colors[state] ?? dim;
      return `${color("●")} ${oneLine(name, 60)} ${dim(states[state])}`;
    };
    return [
      ...headed(bold(mcp), (servers?.status ?? []).map(row)),
      ...headed(bold(language), languageServers.map(row)),
    ];
  }
}

/** Lines below a heading; without lines there is none. */
function headed(heading: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [heading, ...lines];
}

/** A bar of some cells; anything used fills at least one. */
function gauge(percent: number, cells: number): string {
  const full = Math.min(cells, Math.ceil(percent / 100 * cells));
  return "█".repeat(full) + "░".repeat(cells - full);
}
