/** The state of one session as the page shows it. */
import { type Signal, signal } from "@preact/signals";
import type { Event } from "../src/core/event.ts";
import type { StreamData } from "./stream.ts";

export interface SessionView {
  readonly rows: readonly Event[];
}

/** The durable events before one, oldest first; the newest ones without it. */
export type LoadEvents = (
  before?: number,
) => Promise<{ readonly events: readonly Event[]; readonly first: boolean }>;

export class SessionModel {
  readonly view: Signal<SessionView> = signal({ rows: [] });
  readonly #load: LoadEvents;

  constructor({ load }: { readonly texts: () => unknown; readonly load: LoadEvents }) {
    this.#load = load;
  }

  get seq(): number {
    return this.view.value.rows.at(-1)?.seq ?? 0;
  }

  async older(): Promise<void> {
    const { events } = await this.#load(this.view.value.rows[0]?.seq);
    this.view.value = { rows: [...events, ...this.view.value.rows] };
  }

  event(event: Event): void {
    if (event.seq > 0) this.view.value = { rows: [...this.view.value.rows, event] };
  }

  snapshot(_data: Partial<StreamData>): void {}

  other(_name: string, _data: Partial<StreamData>): void {}

  reset(): void {
    this.view.value = { rows: [] };
  }
}
