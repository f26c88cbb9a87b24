/** Telemetry that is on, next to the same runs without it. */
import { OtlpReceiver } from "../support/otlp_receiver.ts";
import { firstRequest, firstSize, wall } from "./figures.ts";
import { exportingTo } from "./programs.ts";
import type { Row } from "./report.ts";
import type { Bench } from "./runner.ts";
import { scenarioRows } from "./scenario.ts";

export async function telemetryRows(bench: Bench): Promise<Row[]> {
  await using receiver = new OtlpReceiver();
  const rows = await scenarioRows(bench, {
    name: "telemetry",
    runs: 31,
    model: { script: "hello" },
    setup: exportingTo(receiver.url),
    floor: (program) => program,
    figures: [
      {
        name: "process start → first request, telemetry on (floor: off)",
        unit: "ms",
        target: (floor) => floor + 3,
        of: firstRequest,
      },
      {
        name: "first request, telemetry on (floor: off)",
        unit: "KB",
        target: (floor) => floor,
        of: firstSize,
      },
      { name: "one question, whole run, telemetry on (floor: off)", unit: "ms", of: wall },
    ],
  });
  if (receiver.spans.length === 0) throw new Error("No span arrived: telemetry was not on");
  return rows;
}
