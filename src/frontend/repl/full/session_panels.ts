import type { Event } from "../../../core/mod.ts";
import type { Texts } from "../../../i18n/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
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
  { looks: { palette }, texts, changed, failed }: LayoutDeps,
  full: () => Texts["full"],
) {
  const [details, overlay] = await Promise.all([texts.area("details"), texts.area("overlay")]);
  const log = new SessionLog({ texts: () => texts.transcript, changed, failed });
  let assembly: Assembly | undefined;
  const deps: PanelDeps = {
    log,
    palette,
    changed,
    assembly: () => assembly,
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
  const side = new SideBar(deps);
  return {
    log: new LogPanel(deps),
    files: new FilesPanel(deps),
    side,
    marks: deps.marks,
    opened(opened: Assembly): void {
      if (opened.session.id !== assembly?.session.id) side.opened();
      assembly = opened;
      log.opened(opened);
    },
    event(event: Event): void {
      log.event(event);
      side.event(event);
    },
  };
}
