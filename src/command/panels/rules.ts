import { clauses } from "../../core/mod.ts";
import { loadRuleRows } from "../../assembly/mod.ts";
import { savedRulesFile, userConfigFile } from "../../config/mod.ts";
import { loadTexts, loadTranslator, type Texts } from "../../i18n/mod.ts";
import { isFault, readRule, type RuleList } from "../../rule/mod.ts";
import type { Choice, CommandHost } from "../command.ts";

/** A rule that the user wants. */
export interface NewRule {
  readonly list: RuleList;
  readonly rule: string;
  /** It is to count in this project alone. */
  readonly here: boolean;
}

/** What can be done with the rules of the user's own files. */
export interface RuleEdits {
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
export async function changeRules(host: CommandHost, edits: RuleEdits): Promise<void> {
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
    const remark = state === "waiting" ? texts.waiting : file === forProject ? texts.thisProject : undefined;
    return {
      label: `${list} ${rule}`,
      detail: remark === undefined ? origin : `${remark} · ${origin}`,
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
