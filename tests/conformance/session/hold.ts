/**
 * Appends blocks of events to one session, opening it again for each block and trying again while another
 * process has it.
 */
import { SessionBusyError, SessionLog } from "../../../src/session/mod.ts";

const [path = "", name = "", blocks = "1", size = "1"] = Deno.args;
for (let block = 0; block < Number(blocks);) {
  let log: SessionLog;
  try {
    log = SessionLog.open(path);
  } catch (error) {
    if (!(error instanceof SessionBusyError)) throw error;
    continue;
  }
  for (let i = 0; i < Number(size); i++) {
    log.append({ type: "message.user", origin: "user", content: `${name} ${block} ${i}` });
  }
  log.close();
  block += 1;
}
