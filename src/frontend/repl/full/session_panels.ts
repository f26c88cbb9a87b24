import { loadCopy } from "../../../command/mod.ts";
import type { Event } from "../../../core/mod.ts";
import { loadTexts, type Locale } from "../../../i18n/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import { type DiffMarks, loadDiffMarks } from "../../../view/mod.ts";
import { FilesPanel } from "./files.ts";
import type { LayoutDeps } from "./panel_view.ts";
import type { PanelDeps, PanelTexts } from "./list_panel.ts";
import { LogPanel } from "./log_panel.ts";
import { openPalette } from "./palette.ts";
import { SessionLog } from "../../session/session_log.ts";
import { SideBar } from "./side_bar.ts";

type Areas = Omit<PanelTexts, "rows">;

/** The panels about a session next to its conversation, with their texts. */
export class SessionPanels {
  readonly log: LogPanel;
  readonly files: FilesPanel;
  readonly sideBar: SideBar;
  readonly #deps: LayoutDeps;
  readonly #entries: SessionLog;
  #areas: Areas;
  #locale: Locale;
  #assembly: Assembly | undefined;
  #marks: { readonly loaded?: DiffMarks | undefined } | undefined;

  private constructor(deps: LayoutDeps, areas: Areas) {
    const { looks, changed, failed, texts } = deps;
    [this.#deps, this.#areas, this.#locale] = [deps, areas, texts.locale];
    const { palette } = looks;
    const panel: PanelDeps = { palette, changed, texts: () => this.texts, marks: () => this.diffMarks() };
    const assembly = () => this.#assembly;
    const log = this.#entries = new SessionLog({ texts: () => texts.transcript, changed, failed });
    const maxLines = () => this.#assembly?.loaded.config.tui.max_diff_lines || Infinity;
    this.log = new LogPanel(panel, log);
    this.files = new FilesPanel(panel, { log, assembly, maxLines, problem: (error) => texts.problem(error) });
    this.sideBar = new SideBar(panel, { log, assembly, status: () => texts.status });
  }

  static async load(deps: LayoutDeps): Promise<SessionPanels> {
    return new SessionPanels(deps, await loadAreas(deps.texts.locale));
  }

  /** The texts in the language of the user, once they are loaded. */
  get texts(): PanelTexts {
    const { texts: { locale, transcript }, changed, failed } = this.#deps;
    if (locale !== this.#locale) {
      this.#locale = locale;
      void loadAreas(locale).then((areas) => this.#areas = areas).then(changed).catch(failed);
    }
    return { ...this.#areas, rows: transcript };
  }

  opened(assembly: Assembly): void {
    if (assembly.session.id !== this.#assembly?.session.id) this.sideBar.opened();
    this.#assembly = assembly;
    this.#entries.opened(assembly);
  }

  event(event: Event): void {
    this.#entries.event(event);
    this.sideBar.event(event);
  }

  /** Copies a text as /copy does; `report` gets the line that says how. */
  async copy(text: string, report: (line: string) => void): Promise<void> {
    const { commands, changed } = this.#deps;
    const { copyAndSay } = await loadCopy();
    await copyAndSay({
      locale: this.#locale,
      session: () => commands.session(),
      control: (sequence) => commands.control?.(sequence),
      say: report,
    }, text);
    changed();
  }

  /** `drafts` is called when a text was put into the draft. */
  async openPalette(drafts: () => void): Promise<void> {
    const { dialogs: { overlays }, looks: { palette }, changed, commands, live, paths, composer, submit } =
      this.#deps;
    overlays.called();
    await openPalette({
      style: { palette, changed, texts: this.texts.overlay },
      texts: this.texts.full,
      commands,
      session: () => live.host.ifOpen(),
      cwd: paths.cwd,
      show: (panel) => overlays.show(panel, undefined, true),
      submit(line) {
        // The next keys are for what the command asks.
        overlays.called();
        submit(line);
      },
      type(event) {
        composer.input(event);
        drafts();
        changed();
      },
    });
  }

  /** The marks of diffs, once they are loaded. */
  diffMarks(): DiffMarks | undefined {
    if (this.#marks) return this.#marks.loaded;
    this.#marks = {};
    void loadDiffMarks(this.#deps.looks.palette).then((loaded) => this.#marks = { loaded })
      .then(this.#deps.changed, () => {});
    return undefined;
  }
}

async function loadAreas(locale: Locale): Promise<Areas> {
  const [details, full, overlay] = await Promise.all([
    loadTexts("details", locale),
    loadTexts("full", locale),
    loadTexts("overlay", locale),
  ]);
  return { details, full, overlay };
}
