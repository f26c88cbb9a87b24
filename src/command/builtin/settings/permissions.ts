import { loadRuleRows } from "../../../assembly/mod.ts";
import {
  addConfigItem,
  addSavedRule,
  removeSavedRule,
  savedRulesFile,
  setConfigValue,
  sourceOf,
  userConfigFile,
} from "../../../config/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { isFault, readRule, type RuleList } from "../../../rule/mod.ts";
import type { CommandBody, CommandHost } from "../../command.ts";
import { goOn } from "../../going_on.ts";
import { changeRules, type NewRule } from "../../panels/rules.ts";

const LISTS: readonly RuleList[] = ["allow", "ask", "deny"];
/** How most rules begin. */
const FORMS = ["Bash(", "Edit(", "Read(", "Mcp("];

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    if (argument === "") {
      if (host.headless) return host.say(await listText(host), "plain");
      return await changeRules(host, {
        add: (added) => change(host, added),
        remove: (rule) => change(host, { rule }),
      });
    }
    const [, verb = "", rule = ""] = /^(\S+)\s*([\s\S]*)$/.exec(argument) ?? [];
    const list = LISTS.find((name) => name === verb);
    if (rule === "" || (list === undefined && verb !== "remove")) {
      throw new ReasonixError(texts.noRuleCommand(argument), {
        exit: "usage",
        remedy: texts.ruleCommands,
      });
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

/** Saves a rule in a list, or takes it out of all; goes on with what is then in force. */
async function change(host: CommandHost, changed: Partial<NewRule> & Pick<NewRule, "rule">): Promise<void> {
  const { list, rule, here = false } = changed;
  const texts = await loadTexts("setting_commands", host.locale);
  const file = list === undefined ? await remove(host, rule) : await add(host, { list, rule, here });
  if (!host.headless) await goOn(host);
  host.say(list === undefined ? texts.ruleRemoved(rule, file) : texts.ruleAdded(list, rule, file));
}

async function listText(host: CommandHost): Promise<string> {
  const { loaded } = await host.session();
  const { ruleLine, ruleRows } = await loadRuleRows();
  const lines = [`mode ${loaded.config.permissions.mode}`, ...ruleRows(loaded).map(ruleLine)];
  return lines.map((line) => `${line}\n`).join("");
}

/** Saves a rule in one of the user's own files, whose path is returned. */
async function add(host: CommandHost, { list, rule, here }: NewRule): Promise<string> {
  const read = readRule(rule);
  if (isFault(read)) {
    throw new ReasonixError(read.texts.message, {
      exit: "usage",
      ...(read.texts.remedy ? { remedy: read.texts.remedy } : {}),
    });
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

/** Takes a rule out of the user's own file that it stands in. One that stands elsewhere is left to him. */
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
    throw new ReasonixError(texts.noRule(rule), { exit: "usage", remedy: texts.rulesListed });
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
    throw new ReasonixError(texts.notYours(rule, file ?? source ?? "?"), {
      exit: "usage",
      remedy: texts.changeThere,
    });
  }
  const written = rules.filter((each) => each.file === file).map(({ text }) => text);
  await setConfigValue(file, `permissions.${list}`, written.filter((text) => text !== rule));
  return file;
}
