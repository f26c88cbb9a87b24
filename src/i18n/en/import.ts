import type { Text } from "../../core/mod.ts";
import type { Translate } from "../translate.ts";

/** Texts of `reasonix config import`. */
export const texts = (t: Translate) => ({
  from: t`Import from`,
  nothingChosen: t`Nothing was chosen, and nothing was written`,
  found: t`Found`,
  ofThisProject: t`this project`,
  same: t`the same`,
  notTakenOver: (why: Text) => t`not taken over: ${why}`,
  /** Why a setting becomes what it becomes, and other warnings of the plan, which is made in English. */
  translated: (text: Text) => t`${text}`,
  error: t`error`,
  noSuchAgent: (name: string) => t`Cannot import from ${name}: no such agent is known`,
  agents: (names: string) => t`name one of ${names}, or none for all`,
  ownFile: (file: string) => t`Nothing to import: ${file} is this program's own file and is read as it is`,
  ownFileRemedy: t`\`reasonix doctor\` names what has no effect in it; --from names another file`,
  noneFound: t`Cannot import anything: no settings of another agent were found`,
  noneFoundRemedy: (places: string) => t`name a file with --from. These places were looked at:\n${places}`,
  notWritten: t`not written`,
  now: t`now`,
  noneYet: t`none yet`,
  afterImport: t`after the import`,
  writeThis: t`Write this?`,
  saveKeys: (count: number, file: string) =>
    count === 1
      ? t`Save this key in ${file}, readable only by you?`
      : t`Save these ${count} keys in ${file}, readable only by you?`,
  keys: t`Keys that stand in these files; none is copied into a configuration`,
  keySaved: t`you have saved one under this name`,
  keyInEnvironment: t`in your environment`,
  keyOfProject: t`export it, or put it into .env of the project`,
  keyToSave: (file: string, name: string) => t`put it into ${file} as ${name}=…, or add --keys`,
  saved: (names: string) => t`Saved ${names}`,
  wrote: (file: string) => t`Wrote ${file}`,
  nothingToWrite: t`Nothing to write`,
  allThere: t`Nothing to write: everything is already set`,
  noneWritten: t`No configuration was written`,
  waitsForTrust: t`What a project file starts or allows waits for \`reasonix trust\``,
  checkIt: t`Check it: reasonix doctor --online`,
  noPromptAvailable: t`Cannot ask whether to write this: there is no terminal`,
  noPromptRemedy: t`read the list, then add --yes; --dry-run only shows it`,
});
