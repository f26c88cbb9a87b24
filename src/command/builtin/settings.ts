import { type Assembly, loadRuleRows } from "../../run/mod.ts";
import { confirmed, continueSession } from "../asking.ts";
import type { Choice, CommandBody, CommandHost } from "../command.ts";
import {
  chooseModel,
  effortLevelsOf,
  knownModels,
  modelValues,
  namedModel,
  offeredEfforts,
  type OfferedModel,
  saveOffered,
} from "../models.ts";
import { loadLists, rowsText } from "../../reports/mod.ts";
import {
  addConfigItem,
  addSavedRule,
  getConfigValue,
  listSettings,
  type LoadedConfig,
  parseConfigValue,
  removeSavedRule,
  savedRulesFile,
  setConfigValue,
  type Setting,
  sourceOf,
  userConfigFile,
} from "../../config/mod.ts";
import { clauses, formatLocation, ReasonixError, usageError } from "../../core/mod.ts";
import { loadTexts, loadTranslator, type Locale, LOCALES, type Texts } from "../../i18n/mod.ts";
import { isFault, readRule, type RuleList } from "../../rule/mod.ts";
import { openGoal } from "../../session/mod.ts";
import { defined } from "../../util/json.ts";

/** Adds or changes a provider, and continues the session with what is configured then. */
export const setupCommand: CommandBody = {
  async run(host) {
    const { setup: texts } = await loadTexts("setting_commands", host.locale);
    if (!host.setUp) throw usageError(texts.notHere, texts.notHereRemedy);
    if (!await host.setUp()) return;
    await continueSession(host);
    host.say(texts.done);
  },
};

export const modelCommand: CommandBody = {
  async run(host, argument, signal) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { loaded } = await host.session();
    const current = await currentModel(host);
    const known = knownModels(loaded);
    if (argument === "" && host.headless) {
      return host.say(known.map(({ name }) => `${name === current ? "*" : "-"} ${name}`).join("\n"));
    }
    const chosen = argument === "" ? await chooseModel(host, current, signal) : namedModel(argument, loaded);
    if (chosen === undefined) return;
    const { name, provider } = chosen;
    if (name === current) return host.say(texts.sameModel(name));
    const saves = provider !== undefined && await asksToSave(host, chosen, texts);
    if (saves === undefined) return;
    const file = provider && saves ? await saveOffered(host, provider) : undefined;
    await continueSession(host, { model: name, ...(provider ? { offered: provider } : {}) });
    host.say(texts.modelIs(name));
    if (file !== undefined) host.say(texts.modelSaved(name, file));
  },
  async complete(host) {
    const { loaded } = await host.session();
    const texts = await loadTexts("setting_commands", host.locale);
    return await modelValues(loaded, await currentModel(host), texts);
  },
};

async function asksToSave(
  host: CommandHost,
  { name }: OfferedModel,
  texts: Texts["setting_commands"],
): Promise<boolean | undefined> {
  if (host.headless) return false;
  return await host.choose(texts.useModel(name), [
    { label: texts.useHere, value: false },
    { label: texts.useAndSave, value: true },
  ]);
}

async function currentModel(host: CommandHost): Promise<string> {
  const { provider: { model } } = await host.session();
  return `${model.provider}/${model.id}`;
}

export const effortCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const session = await host.session();
    const { effort } = session;
    if (argument === "" && host.headless) return host.say(texts.effortIs(effort ?? texts.vendorsOwn));
    const levels = effortLevelsOf(session);
    const offered = offeredEfforts(session);
    const wanted = argument || await host.choose(
      texts.whichEffort,
      offered.map((value) => ({
        label: value,
        value,
        ...(value === effort ? { detail: texts.current } : {}),
      })),
      { current: Math.max(0, offered.indexOf(effort ?? "")) },
    );
    if (wanted === undefined) return;
    const level = levels.find((each) => each.toLowerCase() === wanted.toLowerCase());
    if (level === undefined) {
      throw usageError(texts.noLevel(wanted), texts.levels(levels.join(", ")));
    }
    await continueSession(host, { effort: level });
    host.say(texts.effortIs(level));
  },
  async complete(host) {
    const session = await host.session();
    const texts = await loadTexts("setting_commands", host.locale);
    return offeredEfforts(session).map((value) => ({
      value,
      ...(value === session.effort ? { detail: texts.current } : {}),
    }));
  },
};

const MODES = ["normal", "plan", "goal", "ask", "auto", "yolo", "read-only", "write"] as const;
type ModeName = (typeof MODES)[number];

export const modeCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const session = await host.session();
    const { modes } = session;
    const now = [...new Set([modes.collaboration, modes.approval, permissionName(modes)])];
    if (argument === "" && host.headless) {
      return host.say(now.map((name) => `- \`${name}\`: ${texts.modes[name]}`).join("\n"));
    }
    const [first = "", objective = ""] = argument.split(/\s+(.*)/s);
    const wanted = first.toLowerCase() || await host.choose(
      texts.whichMode(now.join(", ")),
      MODES.map((name) => ({ label: name, detail: texts.modes[name], value: name })),
      { current: MODES.indexOf(modes.collaboration) },
    );
    if (wanted === undefined) return;
    const name = MODES.find((each) => each === wanted);
    if (name === undefined || (objective !== "" && name !== "goal")) {
      throw usageError(
        texts.noMode(name === undefined ? wanted : argument),
        texts.modesAre(MODES.join(", ")),
      );
    }
    if (name === "goal") return await beginGoal(host, session, objective);
    if (name === "yolo" && modes.approval !== "yolo" && !host.headless) {
      if (!await confirmed(host, texts.reallyYolo)) return;
    }
    if (name === "normal") await workNormally(session);
    else if (name === "plan") await modes.setCollaboration(name);
    else if (name === "ask" || name === "auto" || name === "yolo") await modes.setApproval(name);
    else await modes.setPermission(name === "write" ? modes.writing : name);
    host.say(host.headless ? `\`${name}\`: ${texts.modes[name]}` : texts.modes[name]);
  },
  async complete(host) {
    const { modes } = await loadTexts("setting_commands", host.locale);
    return MODES.map((value) => ({ value, detail: modes[value] }));
  },
};

async function beginGoal(host: CommandHost, session: Assembly, given: string): Promise<void> {
  const { objectiveOf } = await loadTexts("setting_commands", host.locale);
  const objective = given || (host.headless ? "" : await host.prompt(objectiveOf));
  if (objective === undefined) return;
  const { text } = await (await session.goals()).begin({ objective, checks: [] });
  host.send(text);
}

/** Leaves plan and goal: a plan that waits is dropped, and so is the goal. */
async function workNormally(session: Assembly): Promise<void> {
  const { modes } = session;
  if (modes.planWaits) {
    await session.open();
    await (await session.plans()).reject();
  }
  await modes.setCollaboration("normal");
  if (openGoal(session.session.state)) await (await session.goals()).clear();
}

function permissionName({ permission }: Assembly["modes"]): ModeName {
  return permission === "read-only" || permission === "plan" ? permission : "write";
}

const LISTS: readonly RuleList[] = ["allow", "ask", "deny"];
/** The beginning of most rules. */
const FORMS = ["Bash(", "Edit(", "Read(", "Mcp("];

export const permissionsCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    if (argument === "") {
      if (host.headless) {
        return host.say(await (await loadLists()).rulesText((await host.session()).loaded), "plain");
      }
      return await changeRules(host, {
        add: (added) => change(host, added),
        remove: (rule) => change(host, { rule }),
      });
    }
    const [, verb = "", rule = ""] = /^(\S+)\s*([\s\S]*)$/.exec(argument) ?? [];
    const list = LISTS.find((name) => name === verb);
    if (rule === "" || (list === undefined && verb !== "remove")) {
      throw usageError(texts.noRuleCommand(argument), texts.ruleCommands);
    }
    await change(host, list === undefined ? { rule } : { list, rule, here: false });
  },
  async complete(host) {
    const { which } = await loadTexts("setting_commands", host.locale);
    return [...LISTS, "remove" as const].map((value) => ({ value, detail: which[value] }));
  },
  async completeNext(host, { before: [verb, ...words] }) {
    const isNew = LISTS.some((list) => list === verb);
    if (isNew) return words.length > 0 ? [] : FORMS.map((value) => ({ value, open: true }));
    if (verb !== "remove") return [];
    // A rule may have blanks: what of it is written already is not offered again.
    const written = words.map((word) => `${word} `).join("");
    const { loaded: { config: { permissions } } } = await host.session();
    return LISTS.flatMap((list) => permissions[list].map((rule) => ({ list, rule })))
      .filter(({ rule }) => rule.startsWith(written))
      .map(({ list, rule }) => ({ value: rule.slice(written.length), detail: list }));
  },
};

/** Saves a rule in a list, or takes it out of all; continues with the rules that are then in force. */
async function change(host: CommandHost, changed: Partial<NewRule> & Pick<NewRule, "rule">): Promise<void> {
  const { list, rule, here = false } = changed;
  const texts = await loadTexts("setting_commands", host.locale);
  const file = list === undefined ? await remove(host, rule) : await add(host, { list, rule, here });
  if (!host.headless) await continueSession(host);
  host.say(list === undefined ? texts.ruleRemoved(rule, file) : texts.ruleAdded(list, rule, file));
}

/** Saves a rule in one of the user's own files, whose path is returned. */
async function add(host: CommandHost, { list, rule, here }: NewRule): Promise<string> {
  const read = readRule(rule);
  if (isFault(read)) {
    const { message, remedy } = read.texts;
    throw usageError(message, remedy);
  }
  const { paths } = await host.session();
  if (here) {
    await addSavedRule(paths, list, rule);
    return savedRulesFile(paths);
  }
  const file = userConfigFile(paths);
  await addConfigItem(file, `permissions.${list}`, rule);
  return file;
}

async function remove(host: CommandHost, rule: string): Promise<string> {
  const texts = await loadTexts("setting_commands", host.locale);
  const { loaded, paths } = await host.session();
  const list = LISTS.find((name) => loaded.config.permissions[name].includes(rule));
  const own = savedRulesFile(paths);
  const at = loaded.config.sandbox.network_hosts.indexOf(rule);
  if (list === undefined && at >= 0 && sourceOf(loaded, `sandbox.network_hosts[${at}]`).file === own) {
    await removeSavedRule(paths, rule);
    return own;
  }
  if (list === undefined) {
    throw usageError(texts.noRule(rule), texts.rulesListed);
  }
  const rules = loaded.config.permissions[list].map((text, index) => ({
    text,
    ...sourceOf(loaded, `permissions.${list}[${index}]`),
  }));
  const { file, source } = rules.find(({ text }) => text === rule) ?? {};
  if (file === own) {
    await removeSavedRule(paths, rule);
    return file;
  }
  if (file === undefined || file !== userConfigFile(paths)) {
    throw usageError(texts.notYours(rule, file ?? source ?? "?"), texts.changeThere);
  }
  const written = rules.filter((each) => each.file === file).map(({ text }) => text);
  await setConfigValue(file, `permissions.${list}`, written.filter((text) => text !== rule));
  return file;
}

export const settingsCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { loaded, paths } = await host.session();
    const file = userConfigFile(paths);
    const save = async (key: string, value: unknown) => {
      await setConfigValue(file, key, value);
      await host.settingSaved?.(key, value);
      if (!host.headless) await continueSession(host);
      host.say(texts.settingSaved(key, JSON.stringify(value), file));
    };
    if (!host.headless && (argument === "" || argument === "all")) {
      return await changeSettings(host, save, argument === "all");
    }
    if (argument === "" || argument === "all") {
      const changed = listSettings(loaded).filter(({ from }) =>
        argument === "all" || from.source !== "default"
      );
      const rows = rowsText(changed.map(({ key, value }) => [key, JSON.stringify(value)]));
      return host.say(`${rows}\n${texts.settingsHint}\n`, "plain");
    }
    const [, key = "", text = ""] = /^(\S+)\s*([\s\S]*)$/.exec(argument) ?? [];
    if (text === "") {
      return host.say(rowsText([[key, JSON.stringify(getConfigValue(loaded, key) ?? null)]]), "plain");
    }
    await save(key, parseConfigValue(key, text));
  },
  async complete(host) {
    const settings = listSettings((await host.session()).loaded);
    return [
      { value: "all" },
      ...settings.map(({ key, value }) => ({ value: key, detail: JSON.stringify(value) })),
    ];
  },
  async completeNext(host, { before: [key, ...more] }) {
    const setting = listSettings((await host.session()).loaded).find((each) => each.key === key);
    return more.length > 0 ? [] : (setting?.values ?? []).map((value) => ({ value: String(value) }));
  },
};

const KEY = "ui.theme";

export const themeCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { loaded, paths } = await host.session();
    const { themes, current } = themesOf(loaded);
    if (argument === "" && host.headless) {
      return host.say(themes.map((name) => `${name === current ? "*" : "-"} ${name}`).join("\n"));
    }
    const theme = argument || await host.choose(
      texts.whichTheme,
      themes.map((name) => ({
        label: name,
        value: name,
        ...(name === current ? { detail: texts.current } : {}),
      })),
      // The panel itself shows what each looks like.
      {
        current: Math.max(0, themes.indexOf(current)),
        onMove: (name) => void host.settingSaved?.(KEY, name),
      },
    );
    if (theme === undefined) return await host.settingSaved?.(KEY, current);
    if (!themes.includes(theme)) {
      throw usageError(texts.noTheme(theme), texts.themesAre(themes.join(", ")));
    }
    await setConfigValue(userConfigFile(paths), KEY, theme);
    await host.settingSaved?.(KEY, theme);
    host.say(texts.themeIs(theme));
  },
  async complete(host) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { themes, current } = themesOf((await host.session()).loaded);
    return themes.map((value) => ({ value, ...(value === current ? { detail: texts.current } : {}) }));
  },
};

function themesOf(loaded: LoadedConfig) {
  const setting = listSettings(loaded).find(({ key }) => key === KEY);
  return { themes: setting?.values?.map(String) ?? [], current: String(setting?.value) };
}

const NAMES: Readonly<Record<Locale, string>> = { "en": "English", "zh-CN": "简体中文" };

export const langCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    if (argument === "" && host.headless) {
      return host.say(LOCALES.map((each) => `- ${each}: ${NAMES[each]}`).join("\n"));
    }
    const wanted = argument || await host.choose(
      texts.whichLanguage,
      LOCALES.map((value) => ({ label: NAMES[value], detail: value, value })),
      { current: LOCALES.indexOf(host.locale) },
    );
    if (wanted === undefined) return;
    const locale = LOCALES.find((each) => [each, NAMES[each]].some((name) => isSame(name, wanted)));
    if (locale === undefined) {
      throw usageError(texts.noLanguage(wanted), texts.languagesAre(LOCALES.join(", ")));
    }
    const { paths } = await host.session();
    const { env } = paths;
    await setConfigValue(userConfigFile(paths), "language", locale);
    await host.settingSaved?.("language", locale);
    const inNew = await loadTexts("setting_commands", locale);
    const stronger = ["REASONIX_LANG", "AGENT_LANG"].find((name) => (env(name) ?? "") !== "");
    host.say(stronger === undefined ? inNew.languageIs(NAMES[locale]) : inNew.languageLater(stronger));
  },
  complete: () => LOCALES.map((value) => ({ value, detail: NAMES[value] })),
};

/** Takes `zh` for `zh-CN`, in any case of letters. */
function isSame(name: string, wanted: string): boolean {
  const [a, b] = [name.toLowerCase(), wanted.toLowerCase().replace("_", "-")];
  return a === b || a.split("-")[0] === b;
}

interface NewRule {
  readonly list: RuleList;
  readonly rule: string;
  /** It is to count in this project alone. */
  readonly here: boolean;
}

interface RuleEdits {
  add(rule: NewRule): Promise<void>;
  remove(rule: string): Promise<void>;
}

type RuleTexts = Texts["overlay"]["rules"];
type Picked = "add" | {
  readonly rule: string;
  readonly where: "session" | "own" | "elsewhere";
  readonly place: string;
};

/** Lets the user look at the permission rules, add some and take some away, until they leave. */
async function changeRules(host: CommandHost, edits: RuleEdits): Promise<void> {
  const texts = (await loadTexts("overlay", host.locale)).rules;
  while (true) {
    const picked = await host.choose(texts.title, await ruleChoices(host, texts), {
      filter: true,
      current: 0,
    });
    if (picked === undefined) return;
    if (picked === "add") await addRule(host, edits, texts);
    else if (picked.where === "elsewhere") await host.show(picked.rule, texts.elsewhere(picked.place));
    else if (await host.confirm(texts.remove(picked.rule))) {
      if (picked.where === "own") await edits.remove(picked.rule);
      else (await host.session()).modes.revokeForSession(picked.rule);
    }
  }
}

async function ruleChoices(host: CommandHost, texts: RuleTexts): Promise<Choice<Picked>[]> {
  const { loaded, modes, paths } = await host.session();
  const { ruleRows } = await loadRuleRows();
  const session = modes.sessionRules.map((rule): Choice<Picked> => ({
    label: `allow ${rule}`,
    detail: texts.thisSession,
    value: { rule, where: "session", place: "" },
  }));
  const forProject = savedRulesFile(paths);
  const own = [forProject, userConfigFile(paths)];
  const rows = ruleRows(loaded).map(({ list, rule, origin, state, file = "" }): Choice<Picked> => {
    const note = state === "waiting" ? texts.waiting : file === forProject ? texts.thisProject : undefined;
    return {
      label: `${list} ${rule}`,
      detail: note === undefined ? origin : `${note} · ${origin}`,
      value: { rule, where: own.includes(file) ? "own" : "elsewhere", place: origin },
    };
  });
  return [{ label: texts.add, value: "add" }, ...session, ...rows];
}

async function addRule(host: CommandHost, edits: RuleEdits, texts: RuleTexts): Promise<void> {
  const list = await host.choose<RuleList | "session" | "project">(texts.which, [
    { label: texts.allowSession, value: "session" },
    { label: texts.allowProject, value: "project" },
    { label: texts.allow, value: "allow" },
    { label: texts.ask, value: "ask" },
    { label: texts.deny, value: "deny" },
  ]);
  if (list === undefined) return;
  const translator = await loadTranslator(host.locale);
  let [written, problem] = ["", texts.example];
  while (true) {
    const rule = await host.prompt(`${texts.write}\n${problem}`, written);
    if (rule === undefined || rule === "") return;
    const read = readRule(rule);
    if (!isFault(read)) {
      if (list === "session") (await host.session()).modes.allowForSession(rule);
      else if (list === "project") await edits.add({ list: "allow", rule, here: true });
      else await edits.add({ list, rule, here: false });
      return;
    }
    [written, problem] = [rule, translator.text(clauses(read.texts))];
  }
}

/** Lets the user change settings until they leave: those that people change, or `all`. */
async function changeSettings(
  host: CommandHost,
  save: (key: string, value: unknown) => Promise<void>,
  all: boolean,
): Promise<void> {
  const texts = (await loadTexts("overlay", host.locale)).settings;
  let last = "";
  while (true) {
    const settings = listSettings((await host.session()).loaded).filter(({ idle }) => !idle);
    const shown = all ? settings : USUAL.flatMap((name) => settings.filter(({ key }) => key === name));
    const entries: Choice<Setting | "all">[] = shown.map((setting) => ({
      label: setting.key,
      detail: all ? placedValue(setting, texts) : explained(setting, texts),
      value: setting,
    }));
    const more = { label: texts.all, detail: texts.allCount(settings.length), value: "all" } as const;
    const chosen = await host.choose(texts.title, all ? entries : [...entries, more], {
      filter: true,
      current: Math.max(0, shown.findIndex(({ key }) => key === last)),
    });
    if (chosen === "all") return await changeSettings(host, save, true);
    if (!chosen) return;
    last = chosen.key;
    const value = await newValue(host, chosen, texts);
    if (value === undefined) continue;
    await save(chosen.key, value);
  }
}

/** Common settings, the most common first. */
const USUAL = [
  "default_model",
  "permissions.mode",
  "sandbox.bash",
  "sandbox.network",
  "agent.auto_plan",
  "agent.max_cost",
  "tools.bash_timeout_seconds",
  "compaction.auto",
  "ui.theme",
  "language",
] as const;

function explained({ key, value }: Setting, { usual }: Texts["overlay"]["settings"]): string {
  const name = USUAL.find((each) => each === key);
  return `${JSON.stringify(value)} · ${name === undefined ? "" : usual[name]}`;
}

function placedValue({ value, from }: Setting, texts: Texts["overlay"]["settings"]): string {
  return `${JSON.stringify(value)} · ${from.source === "default" ? texts.unset : placeOf(from)}`;
}

function placeOf({ source, file, line, column }: Setting["from"]): string {
  if (file === undefined) return source;
  return formatLocation({
    file,
    ...defined({ line, column }),
  });
}

/** One of the values that are possible, or what the user writes; undefined when they left. */
async function newValue(
  host: CommandHost,
  { key, value, values = key === "language" ? ["", ...LOCALES] : undefined }: Setting,
  texts: Texts["overlay"]["settings"],
): Promise<unknown> {
  const title = texts.change(key, JSON.stringify(value));
  if (values) {
    const entries = values.map((each) => ({
      label: each === "" ? texts.automatic : String(each),
      value: each,
    }));
    return await host.choose<unknown>(title, entries, { current: Math.max(0, values.indexOf(value)) });
  }
  let [text, problem] = [typeof value === "string" ? value : JSON.stringify(value), ""];
  while (true) {
    const given = await host.prompt(problem === "" ? title : `${title}\n${problem}`, text);
    if (given === undefined) return undefined;
    try {
      return parseConfigValue(key, given);
    } catch (error) {
      if (!(error instanceof ReasonixError)) throw error;
      text = given;
      problem = error.message;
    }
  }
}
