import { clausesOf, type LocalizedMessage, message, type Text } from "../../core/mod.ts";

export const goalTexts = {
  complete: (turns: number) =>
    turns === 1 ? message`Goal reached after 1 turn` : message`Goal reached after ${turns} turns`,
  blocked: (why: Text) => open(message`Goal blocked, needs you: ${why}`),
  turns: (turns: number) => open(message`Goal not reached: limit of ${turns} turns`),
  cost: (cost: number) => open(message`Goal not reached: cost limit of ${cost}`),
  time: (seconds: number) => open(message`Goal not reached: time limit of ${seconds} s`),
  idle: (turns: number) => open(message`Goal not reached: ${turns} turns in a row had no effect`),
  turnLimit: (detail: Text) => open(message`Goal not reached: ${detail}`),
  paused: () => open(message`Goal paused`),
  failed: (detail: Text) => open(message`Goal paused: ${detail}`),
  cleared: () => message`Goal cleared`,
  next: (turn: number) => message`Goal not reached yet: turn ${turn} begins`,
  waits: (turn: number, seconds: number) => message`No progress; turn ${turn} begins in ${seconds} s`,
  check: (command: string) => message`Check failed: ${command}`,
  research: (directory: string) => message`Research record: ${directory}`,
  upgraded: (directory: string) =>
    message`Handled as long research (--simple turns that off); research record: ${directory}`,
  report: (file: string) => message`Research report: ${file}`,
};

/** A goal that was not reached can be resumed. */
function open(what: LocalizedMessage): LocalizedMessage {
  return clausesOf([what, message`continue with /goal resume or reasonix run -c`]);
}
