import type { Assembly } from "../../run/mod.ts";
import { type CommandHost, loadModels } from "../../command/mod.ts";
import { message, usageError } from "../../core/mod.ts";
import type { Submissions } from "./submissions.ts";
import { loadTexts, type Locale } from "../../i18n/mod.ts";

interface SettingChoice {
  readonly value: string;
  readonly name: string;
  readonly description?: string;
  /** The heading that it is under, such as the provider of a model. */
  readonly group?: string;
}

/** A choice that people change while a session runs. */
export interface SessionSetting {
  readonly id: "mode" | "approval" | "collaboration" | "model" | "effort";
  readonly name: string;
  readonly current: string;
  readonly choices: readonly SettingChoice[];
}

/** Approval and way of working as one choice (`mode`), or as two (`approval`, `collaboration`). */
export type ModeChoices = "one" | "two";

/** The modes, the model and, where the model has levels, the effort of a session. */
export async function sessionSettings(
  assembly: Assembly,
  locale: Locale,
  modes: ModeChoices = "one",
): Promise<SessionSetting[]> {
  const texts = await loadTexts("setting_commands", locale);
  const { settings, vendorsOwn } = texts;
  const { loaded, provider: { model } } = assembly;
  const { modelValues, offeredEfforts } = await loadModels();
  const current = `${model.provider}/${model.id}`;
  const known = await modelValues(loaded, "", texts);
  const models = known.some(({ value }) => value === current) ? known : [...known, { value: current }];
  const about = { ...texts.modes, "full-access": settings.fullAccess };
  const modeSetting = (id: "mode" | "approval" | "collaboration", now: AnyMode, all: readonly AnyMode[]) => ({
    id,
    name: settings[id],
    current: now,
    choices: all.map((value) => ({ value, name: settings.modes[value], description: about[value] })),
  });
  const levels = model.reasoning?.thinks === false ? [] : offeredEfforts(assembly);
  const [approvals, { collaboration }] = [approvalsOf(assembly), assembly.modes];
  return [
    ...(modes === "one" ? [modeSetting("mode", currentMode(assembly), modesOf(assembly))] : [
      modeSetting("approval", currentApproval(assembly), approvals),
      modeSetting("collaboration", collaboration, WAYS),
    ]),
    {
      id: "model",
      name: settings.model,
      current,
      choices: models.map(({ value, detail: description }) => {
        const [, group = "", name = ""] = /^([^/]*)\/(.*)$/s.exec(value) ?? [];
        return { value, name, group, ...(description === undefined ? {} : { description }) };
      }),
    },
    ...(levels.length === 0 ? [] : [
      {
        id: "effort",
        name: settings.effort,
        current: (model.effort ? model.effort.level : assembly.effort) || VENDORS,
        choices: [
          { value: VENDORS, name: settings.vendors, description: vendorsOwn },
          ...levels.map((value) => ({ value, name: value })),
        ],
      } as const,
    ]),
  ];
}

/** The effort that the vendor chooses. */
const VENDORS = "default";

/** An approval mode, or a boundary within which nothing changes. */
const MODES = ["ask", "auto", "yolo", "full-access", "plan", "read-only"] as const;
type Mode = (typeof MODES)[number];
/** Ways of working. */
const WAYS = ["normal", "plan", "goal"] as const;
type AnyMode = Mode | (typeof WAYS)[number];

/** The modes of a session; only one that began without a jail can be without one. */
function modesOf({ modes: { writing } }: Assembly): readonly Mode[] {
  const other = writing === "danger-full-access" ? "yolo" : "full-access";
  return MODES.filter((mode) => mode !== other);
}

function currentMode(assembly: Assembly): Mode {
  return assembly.modes.collaboration === "plan" ? "plan" : currentApproval(assembly);
}

/** The modes that are no way of working; nothing changes in plan mode anyway. */
function approvalsOf(assembly: Assembly): readonly Mode[] {
  const { collaboration } = assembly.modes;
  return modesOf(assembly)
    .filter((mode) => mode !== "plan" && !(mode === "read-only" && collaboration === "plan"));
}

function currentApproval({ modes: { approval, permission, writing } }: Assembly): Mode {
  if (permission === "read-only") return "read-only";
  return approval === "yolo" && writing === "danger-full-access" ? "full-access" : approval;
}

/**
 * Changes a setting: the mode at once; the session is assembled again for the others, after the turn that
 * runs. Throws ReasonixError (usage) that names the possible settings or values.
 */
export async function changeSetting(
  live: { commandsOf(): CommandHost; readonly submissions: Pick<Submissions, "between"> },
  id: string,
  value: unknown,
  modes: ModeChoices = "one",
): Promise<void> {
  const commands = live.commandsOf();
  const assembly = await commands.session();
  const all = await sessionSettings(assembly, commands.locale, modes);
  const setting = all.find((each) => each.id === id);
  if (!setting) {
    throw usageError(
      message`Cannot change "${id}": there is no such setting`,
      message`use one of ${all.map((each) => each.id)}`,
    );
  }
  const values = setting.choices.map((each) => each.value);
  const chosen = values.find((each) => each === value);
  if (chosen === undefined) {
    throw usageError(
      message`Cannot set ${id} to ${JSON.stringify(value) ?? "nothing"}: there is no such value`,
      message`use one of ${values}`,
    );
  }
  if (chosen === setting.current) return;
  if (setting.id === "mode") return await changeMode(assembly, chosen as Mode);
  if (setting.id === "approval") return await changeApproval(assembly, chosen as Exclude<Mode, "plan">);
  if (setting.id === "collaboration") {
    // Leaves a goal or a plan that waits, and asks for the goal.
    const command = (await commands.commands()).find(({ name }) => name === "mode");
    return await command?.run(commands, chosen);
  }
  const { continueWith } = await loadModels();
  const changed = setting.id === "model" ? { model: chosen } : { effort: chosen === VENDORS ? "" : chosen };
  await live.submissions.between(() => continueWith(commands, changed));
}

async function changeMode(assembly: Assembly, mode: Mode): Promise<void> {
  const { modes } = assembly;
  if (mode === "plan") return await modes.setCollaboration(mode);
  if (modes.planWaits) {
    await assembly.open();
    await (await assembly.plans()).reject();
  }
  if (modes.collaboration === "plan" && mode !== "read-only") await modes.setCollaboration("normal");
  await changeApproval(assembly, mode);
}

async function changeApproval({ modes }: Assembly, mode: Exclude<Mode, "plan">): Promise<void> {
  if (mode === "read-only") return await modes.setPermission(mode);
  if (modes.collaboration !== "plan") await modes.setPermission(modes.writing);
  await modes.setApproval(mode === "full-access" ? "yolo" : mode);
}
