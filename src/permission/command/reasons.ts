import { message, type Text } from "../../core/mod.ts";

/** Sentences about the effects of destructive commands; `hit` is the target and its kind. */
const ACTIONS = {
  deletes: (hit: Text) => message`it deletes ${hit}`,
  deletesFound: (hit: Text) => message`it deletes what it finds in ${hit}`,
  deletesRemote: (_: Text, name: string, found: string) =>
    message`${name} deletes on another machine (${found})`,
  movesAway: (hit: Text) => message`it moves away ${hit}`,
  changesBelow: (hit: Text, name: string) => message`${name} -R changes ${hit}`,
  rsyncRemoves: (hit: Text) => message`rsync removes ${hit}`,
  rsyncDeletesOn: (_: Text, target: string) => message`rsync --delete removes files on ${target}`,
  rsyncDeletesIn: (hit: Text) => message`rsync --delete removes files in ${hit}`,
  overwritesDevice: (_: Text, name: string, device: string) =>
    message`${name} writes over the device ${device}`,
  redirectsToDevice: (_: Text, device: string) => message`it writes over the device ${device}`,
  rewritesRemote: (_: Text, name: string) => message`${name} rewrites or removes history of the remote`,
  cleans: (hit: Text) => message`git clean deletes ${hit}`,
  cleansAll: () => message`git clean deletes every untracked file of the repository`,
  changesDisk: (_: Text, name: string) => message`${name} changes or erases a disk`,
  erasesDisk: (_: Text, name: string) => message`${name} erases a disk`,
  overwritesDisk: (_: Text, name: string) => message`${name} writes over a disk`,
  erasesPool: (_: Text, name: string) => message`${name} erases data of a pool`,
  stopsComputer: (_: Text, name: string) => message`${name} stops the computer`,
  killsOfUser: (_: Text, name: string) => message`${name} kills processes of a whole user`,
  killsEverything: () => message`killall5 kills every process`,
  killsOwn: () => message`it kills every process of the user`,
  forkBomb: () => message`a function starts itself over and over (fork bomb)`,
  hidden: (_: Text, mention: string) => message`it may run ${mention} in a way that cannot be looked into`,
  unseen: () => message`it runs what the line does not show, and no jail holds it`,
  unreadable: (_: Text, mention: string) => message`the line cannot be parsed, but it mentions ${mention}`,
  configured: (_: Text, rule: string) => message`\`dangerous\` of the configuration names it (${rule})`,
  strictProgram: (_: Text, name: string) => message`strict mode confirms every ${name}`,
  strictOverwrite: (_: Text, path: string) =>
    message`strict mode confirms writing over an existing file (${path})`,
};

export type ActionCode = keyof typeof ACTIONS;

/** The effect of a destructive command, with the words that vary in its sentence. */
export type DestructiveAction = readonly [code: ActionCode, ...words: string[]];

/** Describes what a destructive command does to its target. */
export function describeAction([code, ...words]: DestructiveAction, hit: Text = ""): Text {
  const sentence: (hit: Text, ...words: string[]) => Text = ACTIONS[code];
  return sentence(hit, ...words);
}

const LOCATIONS = {
  root: [message`the root directory`, message`everything in the root directory`],
  home: [message`the home directory`, message`everything in the home directory`],
  workspace: [message`the workspace root`, message`everything in the workspace root`],
  holdsHome: [
    message`a directory that holds the home directory`,
    message`everything in a directory that holds the home directory`,
  ],
  holdsWorkspace: [
    message`a directory that holds the workspace`,
    message`everything in a directory that holds the workspace`,
  ],
  outside: [message`outside the workspace`, message`everything outside the workspace`],
} as const;

/** A directory that a destructive command may hit. */
export type KnownLocation = keyof typeof LOCATIONS;

export function locationText(location: KnownLocation, everything = false): Text {
  return LOCATIONS[location][everything ? 1 : 0];
}

export const SHELL_DECIDES = message`only the shell will know what this is`;
export const TOO_MANY_NAMES = message`more names than can be looked at`;
