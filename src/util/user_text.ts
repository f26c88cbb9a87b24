const BLOCK_END = /<\/(?:file|dir|stdin|resource|goal|plan)>\n\n/g;

/** The text of the user, without the attachments, goal and plan before it in the message. */
export function userText(message: string): string {
  const end = [...message.matchAll(BLOCK_END)].at(-1);
  return end ? message.slice(end.index + end[0].length) : message;
}

const BLOCK_BEGIN =
  /^<(file|dir|stdin|resource|goal|plan)(?: (?:path|ref|by)="([^"]*)")?(?: lines="([^"]*)")?[^>\n]*>/;

/** The names of the attachments before the user's text, in order. */
export function attachments(message: string): string[] {
  const names: string[] = [];
  for (let rest = message;;) {
    const [tag, kind, name = "standard input", lines] = BLOCK_BEGIN.exec(rest) ?? [];
    const close = `</${kind}>\n\n`;
    const end = rest.indexOf(close);
    if (tag === undefined || end < 0) return names;
    // What the harness says of a goal is nothing that the user has attached.
    if (kind === "plan") names.push(`plan of ${name}`);
    else if (kind !== "goal") names.push(lines === undefined ? name : `${name}:${lines}`);
    rest = rest.slice(end + close.length);
  }
}
