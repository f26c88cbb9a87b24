import type { Texts } from "../../../i18n/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import { nameUnseen } from "../../../util/exact_text.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { checklistLine, grouped, lineFigures } from "../../../view/mod.ts";
import { sessionTitle } from "../../session/facts.ts";
import { safeLine } from "../screen/line.ts";
import { dealRows, type Frame, type View } from "../screen/view.ts";
import { figuresOf } from "../status_line.ts";
import type { PanelDeps } from "./list_panel.ts";
import { isChanged } from "../../session/session_log.ts";

type State = keyof Texts["turn_view"]["serverStates"];

const MAX_FILES = 100;
/** Rows that each part has before others get more, the first part first. */
const FEW = 4;

/** The state of a session; where there is little height, without its last parts. */
export class SideBar implements View {
  readonly #deps: PanelDeps;

  constructor(deps: PanelDeps) {
    this.#deps = deps;
  }

  frame(columns: number, rows: number): Frame {
    const { palette: { dim }, texts } = this.#deps;
    const assembly = this.#deps.assembly();
    const parts = assembly ? this.#parts(assembly, columns) : [[dim(texts().status.opening)]];
    const grants = [FEW, Infinity].flatMap((most) =>
      parts.map(({ length }, part) => [`${part}`, Math.min(most, length)] as const)
    );
    const given = dealRows(rows, grants);
    const lines = parts.flatMap((part, at) => this.#cut(part, given[`${at}`] ?? 0));
    return { lines: lines.map((line) => safeLine(line, columns)) };
  }

  /** The last line says how many are left out. */
  #cut(lines: readonly string[], rows: number): readonly string[] {
    const { palette, texts } = this.#deps;
    if (lines.length <= rows || rows < 2) return lines.slice(0, rows);
    return [...lines.slice(0, rows - 1), palette.dim(texts().full.moreOf(lines.length - rows + 1))];
  }

  /** The lines of each part, from top to bottom. */
  #parts(assembly: Assembly, columns: number): readonly (readonly string[])[] {
    const { log, palette, texts } = this.#deps;
    const { accent, bold, dim } = palette;
    const { full: { bar }, details, status } = texts();
    const { facts, servers, session: { state } } = assembly;
    const { model, spending: { usage }, context, todos, languageServers } = facts;
    const figures = figuresOf(facts, status, palette);
    const line = (...names: readonly (keyof typeof figures)[]) => {
      const shown = names.map((name) => figures[name]).filter(({ text }) => text !== "");
      return shown.length === 0
        ? []
        : [shown.map(({ text, color = String }) => color(text)).join(dim(" · "))];
    };
    const name = oneLine(`${model.provider}/${model.id}`, 100);
    const { color = accent } = figures.context;
    const { inputTokens, outputTokens, reasoningTokens } = usage;
    const agents = [...state.agents.values()].map(({ agent }) => oneLine(agent, 40));
    const done = todos.filter(({ status }) => status === "completed").length;
    const files = log.files.filter(isChanged);
    return [
      [bold(oneLine(sessionTitle(state), 200) || bar.untitled)],
      [dim([name, ...model.effort ? [bar.effort(model.effort)] : []].join(" · "))],
      [...new Set(agents)].map(accent),
      line("approval", "permission", "plan", "goal"),
      context?.percent === undefined ? line("context") : [
        `${color(gauge(context.percent, Math.max(4, columns - 16)))} ${line("context")}`,
        dim(bar.used(grouped(context.tokens), grouped(context.window ?? 0))),
      ],
      inputTokens + outputTokens === 0
        ? []
        : [dim(bar.tokens(grouped(inputTokens), grouped(outputTokens), grouped(reasoningTokens)))],
      line("cost", "cache"),
      line("jail"),
      headed(bold(details.servers), (servers?.status ?? []).map((server) => this.#server(server))),
      headed(bold(details.languageServers), languageServers.map((server) => this.#server(server))),
      headed(bold(bar.todo(done, todos.length)), todos.map((item) => this.#todo(item))),
      headed(
        bold(bar.files(files.length)),
        files.slice(0, MAX_FILES).map((file) => `${nameUnseen(file.path)} ${dim(lineFigures(file))}`),
      ),
    ];
  }

  #todo(item: Assembly["facts"]["todos"][number]): string {
    const { accent, dim } = this.#deps.palette;
    const color = { pending: String, in_progress: accent, completed: dim }[item.status];
    return color(oneLine(checklistLine(item), 200));
  }

  #server({ name, state }: { readonly name: string; readonly state: State }): string {
    const { bad, dim, good, warning } = this.#deps.palette;
    const colors = { ready: good, provider: good, starting: warning, "needs-auth": warning, failed: bad };
    const { [state]: color = dim }: Partial<Record<State, typeof dim>> = colors;
    return `${color("●")} ${oneLine(name, 60)} ${dim(this.#deps.texts().rows.serverStates[state])}`;
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
