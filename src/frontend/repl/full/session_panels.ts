import type { Event } from "../../../core/mod.ts";
import { eventual } from "../../../util/lazy.ts";
import { loadDiffMarks } from "../../../view/mod.ts";
import { SessionLog } from "../../session/session_log.ts";
import { FilesPanel } from "./files.ts";
import type { PanelDeps } from "./list_panel.ts";
import { LogPanel } from "./log_panel.ts";
import type { LayoutDeps } from "../chat_layout.ts";
import { SideBar } from "./side_bar.ts";

export { palettePanel } from "./palette.ts";
export type SessionPanels = Awaited<ReturnType<typeof loadSessionPanels>>;

/** The panels about a session next to its conversation. */
export async function loadSessionPanels(
  { looks: { palette }, texts, full, live, changed, failed }: LayoutDeps,
) {
  const [details, overlay] = await Promise.all([texts.area("details"), texts.area("overlay")]);
  const log = new SessionLog({ texts: () => texts.transcript, changed, failed });
  const deps: PanelDeps = {
    log,
    palette,
    changed,
    assembly: () => live.assembly,
    marks: eventual(() => loadDiffMarks(palette), changed),
    problem: (error) => texts.problem(error),
    texts: () => ({
      details: details(),
      full: full(),
      overlay: overlay(),
      rows: texts.transcript,
      status: texts.status,
    }),
  };
  const lists = { log: new LogPanel(deps), files: new FilesPanel(deps) };
  return {
    ...lists,
    side: new SideBar(deps),
    marks: deps.marks,
    opened(): void {
      if (!live.assembly || !log.opened(live.assembly)) return;
      lists.log.restart();
      lists.files.restart();
    },
    event: (event: Event) => log.event(event),
  };
}
