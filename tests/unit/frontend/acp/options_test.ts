import { configOptions, SessionFacts } from "../../../../src/frontend/acp/options.ts";
import { modeState } from "../../../../src/frontend/acp/modes.ts";
import { changeSetting, sessionSettings } from "../../../../src/frontend/session/settings.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { LOCALES } from "../../../../src/i18n/mod.ts";
import { say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { CommandFixture, type CommandFixtureOptions } from "../../../support/command_fixture.ts";
