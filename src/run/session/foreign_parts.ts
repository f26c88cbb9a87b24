import type { Recorder } from "../../control/mod.ts";
import { foreignSources, type Provider } from "../../provider/mod.ts";

/** Says whose signed or encrypted parts of earlier replies a model does not get. */
export async function tellForeign(recorder: Recorder, { model }: Provider): Promise<void> {
  const sources = foreignSources(recorder.messages, model).join(", ");
  if (sources === "") return;
  const own = `${model.provider}/${model.id}`;
  const text = `Signed reasoning of ${sources} is left out of requests: ${own} cannot take it`;
  const said = [["foreignParts", sources, own]] as const;
  await recorder.record({ type: "notice", level: "info", code: "model", text, said });
}
