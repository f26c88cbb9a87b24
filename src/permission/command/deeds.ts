import type { Deed, DeedCode, HitLocation, KnownLocation } from "../../core/mod.ts";

const DEEDS: Readonly<Record<DeedCode, (...words: string[]) => string>> = {
  deletes: () => "it deletes",
  deletesFound: () => "it deletes what it finds in",
  deletesRemote: (name, found) => `${name} deletes on another machine (${found})`,
  movesAway: () => "it moves away",
  changesBelow: (name) => `${name} -R changes`,
  rsyncRemoves: () => "rsync removes",
  rsyncDeletesOn: (target) => `rsync --delete removes files on ${target}`,
  rsyncDeletesIn: () => "rsync --delete removes files in",
  overwritesDevice: (name, device) => `${name} writes over the device ${device}`,
  rewritesRemote: (name) => `${name} rewrites or removes history of the remote`,
  cleans: () => "git clean deletes",
  cleansAll: () => "git clean deletes every untracked file of the repository",
  changesDisk: (name) => `${name} changes or erases a disk`,
  erasesDisk: (name) => `${name} erases a disk`,
  overwritesDisk: (name) => `${name} writes over a disk`,
  erasesPool: (name) => `${name} erases data of a pool`,
  stopsComputer: (name) => `${name} stops the computer`,
  killsOfUser: (name) => `${name} kills processes of a whole user`,
  killsEverything: () => "killall5 kills every process",
  killsOwn: () => "it kills every process of the user",
  forkBomb: () => "a function starts itself over and over (fork bomb)",
  hidden: (mention) => `it may run ${mention} in a way that cannot be looked into`,
  unseen: () => "it runs what the line does not show, and no jail holds it",
  unreadable: (mention) => `the line cannot be parsed, but it mentions ${mention}`,
  configured: (rule) => `\`dangerous\` of the configuration names it (${rule})`,
  strictProgram: (name) => `strict mode confirms every ${name}`,
  strictOverwrite: (path) => `strict mode confirms writing over an existing file (${path})`,
};

/** What a command does, in English; continued by a path where something is hit. */
export function deedText([code, ...words]: Deed): string {
  return DEEDS[code](...words);
}

const LOCATIONS: Readonly<Record<KnownLocation, string>> = {
  root: "the root directory",
  home: "the home directory",
  workspace: "the workspace root",
  holdsHome: "a directory that holds the home directory",
  holdsWorkspace: "a directory that holds the workspace",
  outside: "outside the workspace",
};

/** What is hit, in English. */
export function locationText(location: HitLocation): string {
  if (location === "unknown") return "only the shell will know what this is";
  if (location === "manyNames") return "more names than can be looked at";
  if (location === "everything:outside") return "everything outside the workspace";
  const known = location.replace(/^everything:/, "") as KnownLocation;
  return known === location ? LOCATIONS[known] : `everything in ${LOCATIONS[known]}`;
}
