import { loadTexts } from "../../../i18n/mod.ts";
import { listSessions, projectDir, type SessionInfo } from "../../../session/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { minuteOf } from "../../asking.ts";
import type { CommandBody, CommandHost } from "../../command.ts";
import { chooseSession } from "../../panels/sessions.ts";

export const command: CommandBody = {
  async run(host, wanted) {
    const id = wanted === "" ? await chooseSession(host) : await namedSession(host, wanted);
    if (id !== undefined) await host.reopen({ resume: id });
  },
  async complete(host) {
    return (await otherSessions(host)).map(({ id, title }) => ({
      value: id,
      detail: oneLine(title, 60),
      also: title,
    }));
  },
};

/** The session that a piece of its title names; anything else is for the opener to make out. */
async function namedSession(host: CommandHost, wanted: string): Promise<string | undefined> {
  const texts = await loadTexts("session_commands", host.locale);
  const found = (await otherSessions(host)).filter(({ title }) => matches(title, wanted));
  if (found.length < 2) return found[0]?.id ?? wanted;
  return await host.choose(
    texts.whichSession,
    found.map((info) => ({
      label: oneLine(info.title, 60) || texts.noTitle,
      detail: `${minuteOf(info.updated)}  ${info.id.slice(0, 8)}`,
      value: info.id,
    })),
    { filter: true },
  );
}

const MOST = 200;

/** Sessions of the directory, latest change first, without the open one. */
async function otherSessions(host: CommandHost): Promise<SessionInfo[]> {
  const { paths: { home, cwd }, session } = await host.session();
  return listSessions(projectDir(home, cwd), { limit: MOST }).filter(({ id }) => id !== session.id);
}

function matches(title: string, wanted: string): boolean {
  return title.toLowerCase().includes(wanted.toLowerCase());
}
