import type {
  SessionConfigOption,
  SessionConfigSelectGroup,
  SessionConfigSelectOption,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { Assembly } from "../../run/mod.ts";
import { allCommands, type CommandHost, loadModels } from "../../command/mod.ts";
import { type Event, message, totalCost, usageError } from "../../core/mod.ts";
import { loadTexts, type Locale, type Texts } from "../../i18n/mod.ts";
import { titleOf } from "../../session/mod.ts";

type OptionTexts = Texts["setting_commands"];

/** The modes of an editor: an approval mode, or a boundary within which nothing changes. */
const MODES = ["ask", "auto", "yolo", "full-access", "plan", "read-only"] as const;
export type ModeId = (typeof MODES)[number];

/** The modes of a session: one without a jail began so, and does not get one. */
function modeIds({ modes: { writing } }: Assembly): readonly ModeId[] {
  const other = writing === "danger-full-access" ? "yolo" : "full-access";
  return MODES.filter((id) => id !== other);
}

export function currentMode({ modes }: Assembly): ModeId {
  const { approval, collaboration, permission, writing } = modes;
  if (collaboration === "plan") return "plan";
  if (permission === "read-only") return "read-only";
  return approval === "yolo" && writing === "danger-full-access" ? "full-access" : approval;
}

export async function modeChoices(
  assembly: Assembly,
  locale: Locale,
): Promise<{ readonly id: ModeId; readonly name: string; readonly description: string }[]> {
  const { modes, options } = await loadTexts("setting_commands", locale);
  const about = { ...modes, "full-access": options.fullAccess };
  return modeIds(assembly).map((id) => ({ id, name: options.modes[id], description: about[id] }));
}

/** Switches the mode at once, also while a turn runs. Throws ReasonixError (usage) for one that is not listed. */
export async function changeMode(assembly: Assembly, id: unknown): Promise<void> {
  const known = modeIds(assembly);
  const mode = known.find((each) => each === id);
  if (mode === undefined) throw noValue("mode", id, known);
  const { modes } = assembly;
  if (mode === "plan") return await modes.setCollaboration(mode);
  if (modes.planWaits) {
    await assembly.open();
    await (await assembly.plans()).reject();
  }
  if (mode === "read-only") return await modes.setPermission(mode);
  if (modes.collaboration === "plan") await modes.setCollaboration("normal");
  await modes.setPermission(modes.writing);
  await modes.setApproval(mode === "full-access" ? "yolo" : mode);
}

/** The effort that the vendor chooses. */
const VENDORS = "default";

/** The options of a session, the most important first. */
export async function configOptions(assembly: Assembly, locale: Locale): Promise<SessionConfigOption[]> {
  const texts = await loadTexts("setting_commands", locale);
  const { options, vendorsOwn } = texts;
  const { model } = assembly.provider;
  const { offeredLevels } = await loadModels();
  const levels = model.reasoning?.thinks === false ? [] : offeredLevels(assembly);
  const modes = await modeChoices(assembly, locale);
  const efforts: SessionConfigOption[] = levels.length === 0 ? [] : [{
    type: "select",
    id: "effort",
    category: "thought_level",
    name: options.effort,
    currentValue: model.effort?.level ?? VENDORS,
    options: [
      { value: VENDORS, name: options.vendors, description: vendorsOwn },
      ...levels.map((level) => ({ value: level, name: level })),
    ],
  }];
  return [
    {
      type: "select",
      id: "mode",
      category: "mode",
      name: options.mode,
      currentValue: currentMode(assembly),
      options: modes.map(({ id, ...about }) => ({ value: id, ...about })),
    },
    {
      type: "select",
      id: "model",
      category: "model",
      name: options.model,
      currentValue: `${model.provider}/${model.id}`,
      options: await modelGroups(assembly, texts),
    },
    ...efforts,
  ];
}

/** The known models by provider, and the current one. */
async function modelGroups(
  { loaded, provider: { model } }: Assembly,
  texts: OptionTexts,
): Promise<SessionConfigSelectGroup[]> {
  const { modelValues } = await loadModels();
  const known = await modelValues(loaded, "", texts);
  const current = `${model.provider}/${model.id}`;
  const all = known.some(({ value }) => value === current) ? known : [...known, { value: current }];
  const groups = new Map<string, SessionConfigSelectOption[]>();
  for (const { value, detail } of all) {
    const provider = value.slice(0, value.indexOf("/"));
    const option = {
      value,
      name: value.slice(provider.length + 1),
      ...(detail ? { description: detail } : {}),
    };
    groups.set(provider, [...groups.get(provider) ?? [], option]);
  }
  return [...groups].map(([group, options]) => ({ group, name: group, options }));
}

type Settable = Pick<LiveSession, "commands" | "host" | "submissions">;

/**
 * Sets an option: the mode at once, what the session is assembled again for between two turns. Throws
 * ReasonixError (usage) that names the possible options or values.
 */
export async function setOption(
  { commands, host, submissions }: Settable,
  id: string,
  value: unknown,
): Promise<void> {
  const assembly = await host.current();
  if (id === "mode") return await changeMode(assembly, value);
  const options = await configOptions(assembly, commands.locale);
  const option = options.find((each) => each.id === id);
  if (option?.type !== "select") {
    throw usageError(
      message`Cannot set the option "${id}": there is no such option`,
      message`use one of ${options.map((each) => each.id)}`,
    );
  }
  const values = option.options.flatMap((each) => "group" in each ? each.options : each).map((each) =>
    each.value
  );
  if (typeof value !== "string" || !values.includes(value)) throw noValue(id, value, values);
  if (value === option.currentValue) return;
  const { continueWith } = await loadModels();
  await submissions.between(() =>
    continueWith(commands, id === "model" ? { model: value } : { effort: value === VENDORS ? "" : value })
  );
}

function noValue(id: string, value: unknown, values: readonly string[]): ReasonixError {
  return usageError(
    message`Cannot set ${id} to ${JSON.stringify(value) ?? "nothing"}: there is no such value`,
    message`use one of ${values}`,
  );
}

/** The commands that make sense in an editor, with what can follow each. */
async function commandUpdate(assembly: Assembly, locale: Locale): Promise<SessionUpdate> {
  const session = () => Promise.resolve(assembly);
  const commands = await allCommands({ locale, session, oneSession: true });
  return {
    sessionUpdate: "available_commands_update",
    availableCommands: commands.map(({ name, brief, argumentHint: hint }) => ({
      name,
      description: brief,
      ...(hint === undefined ? {} : { input: { hint } }),
    })),
  };
}

/** The share of the context that is used, and the cost; undefined where the window is not known. */
function usageUpdate(
  { controller, provider, window }: Assembly,
  used: number | undefined,
): SessionUpdate | undefined {
  const { state } = controller.recorder;
  const { lastUsage } = state;
  const tokens = used ?? (lastUsage && lastUsage.inputTokens + lastUsage.outputTokens);
  if (!window || tokens === undefined) return undefined;
  const cost = totalCost(state, provider.model.price?.currency);
  return { sessionUpdate: "usage_update", used: tokens, size: window, ...(cost ? { cost } : {}) };
}

function infoUpdate({ controller }: Assembly): SessionUpdate {
  const { title, turns, updated } = controller.recorder.state;
  const shown = title ?? titleOf(userText(turns[0]?.prompt ?? ""));
  return {
    sessionUpdate: "session_info_update",
    ...(shown === "" ? {} : { title: shown }),
    ...(updated === undefined ? {} : { updatedAt: updated }),
  };
}
