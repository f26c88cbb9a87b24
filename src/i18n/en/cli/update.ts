import type { Text } from "../../../core/mod.ts";
import type { Translate } from "../../translate.ts";

/** Texts of `reasonix update`. */
export const texts = (t: Translate) => ({
  latest: (version: string) => t`reasonix ${version} is the latest version`,
  available: (latest: string, version: string) =>
    t`reasonix ${latest} is available; this is ${version}. To update: reasonix update`,
  /** The line that the user can execute follows. */
  byManager: (manager: Text) => t`${manager} installed this program and updates it:`,
  byHand: t`This program is updated by hand:`,
  replace: (directory: string, address: string) =>
    t`To update, replace the files in ${directory} by those of the new release, or install it with ${address}`,
  downloading: (version: string, from: string) => t`Downloading reasonix ${version} from ${from}`,
  unsigned: t`The files of this server are not signed: their checksums only show that they arrived whole`,
  updated: (from: string, to: string) => t`Updated reasonix from ${from} to ${to}`,
  undo: t`To go back: reasonix update --rollback`,
  rolledBack: (version: string) => t`The command starts reasonix ${version} again`,
  before: t`of before`,
});
