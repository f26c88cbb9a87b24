/** Session modes, for clients that take no config options; version 2 of the protocol has none. */
import type { SessionModeState, SessionUpdate } from "@agentclientprotocol/sdk";
import type { SessionSetting } from "../session/settings.ts";

export function modeState([mode]: readonly SessionSetting[]): SessionModeState {
  const { current = "", choices = [] } = mode ?? {};
  return {
    currentModeId: current,
    availableModes: choices.map(({ value, ...about }) => ({ id: value, ...about })),
  };
}

export function modeUpdate([mode]: readonly SessionSetting[]): SessionUpdate {
  return { sessionUpdate: "current_mode_update", currentModeId: mode?.current ?? "" };
}
