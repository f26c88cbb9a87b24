/**
 * The messages of failures and notices, as codes with the words that vary in them. Models, logs and machines
 * get the English text next to them; people get the one of their language.
 */
export interface SayingWords {
  /** The location in a file that the next message is about. */
  readonly at: [location: string];

  readonly answered: [provider: string, host: string, kind: string, status: string, said: string];
  readonly notReached: [provider: string, host: string, said: string];
  readonly brokeOff: [provider: string, host: string, said: string];
  readonly noAddress: [provider: string, host: string];
  readonly silent: [provider: string, host: string, seconds: string, setting: string];
  readonly strangeReply: [provider: string, host: string, what: string];
  readonly declined: [provider: string, host: string, why: string];
  readonly askOtherwise: [];
  readonly gaveUp: [attempts: string];
  readonly gaveUpAt: [attempts: string, limit: string];
  readonly asksToWait: [seconds: string, limit: string];
  readonly fellBack: [failed: string, next: string];
  readonly answersAgain: [model: string];
  readonly passedOver: [model: string, why: string];
  readonly foreignParts: [sources: string, model: string];
  readonly noServerStart: [provider: string, what: string];
  readonly serverFailed: [provider: string, how: string, lines: string, log: string];
  readonly startsAgain: [];
  readonly serverListens: [provider: string, host: string];
  readonly modelLoads: [model: string, size: string, seconds: string];
  readonly modelLoaded: [model: string, seconds: string];
  readonly addCredit: [];
  readonly needsTools: [model: string];
  readonly alternate: [];
  readonly goesWithout: [field: string];
  readonly dayQuota: [];
  readonly noQuota: [];
  readonly redirected: [url: string];
  readonly nameKey: [];
  readonly checkKey: [name: string];
  readonly setKey: [name: string];
  readonly checkCommand: [];
  readonly keyRenewed: [provider: string, host: string, status: string];
  readonly keyCommand: [provider: string, command: string, what: string];
  readonly checkModel: [model: string];
  readonly checkSetting: [setting: string];
  readonly checkServer: [];
  readonly startServer: [label: string, command: string];
  readonly proxyRefuses: [host: string, setting: string];
  readonly checkNetwork: [proxy: "set" | "unset"];
  readonly proxyIsSet: [variable: string, host: string];
  readonly proxyLogin: [];
  readonly tooLong: [];
  readonly noCaFile: [file: string];
  readonly authority: [setting: string];
  readonly certificate: [other: "" | "SSL_CERT_FILE"];
  readonly providerCertificate: [];
  readonly clientCertificate: [];
  readonly noTls: [setting: string];
  readonly noHttp: [setting: string];

  readonly hookSays: [event: string, message: string];
  readonly hookFailed: [event: string, hook: string, why: string];
  readonly hookFailedClosed: [event: string, hook: string, why: string];
  readonly hookInputs: [count: string, counts: string, others: string];
  readonly hookRefusedPrompt: [why: string];
  readonly hookKeptGoing: [times: string];

  readonly noKey: [provider: string, name: string];
  readonly writeKey: [name: string, file: string];
  readonly writeOrExportKey: [name: string, file: string];
  readonly writeHiddenKey: [name: string, file: string];
  readonly noModelNamed: [provider: string];
  readonly addModel: [];
  readonly modelOfSeveral: [model: string, providers: string];
  readonly writeOneOf: [references: string];
  readonly unknownModel: [model: string, configured: string];
  readonly didYouMean: [word: string];
  readonly chooseModel: [];
  readonly untrustedProvider: [provider: string];
  readonly trustProvider: [];
  readonly untrusted: [items: string];
  readonly trustItems: [];

  readonly configErrors: [count: string, lines: string];
  readonly correctPlaces: [];
  readonly badToml: [reason: string, at: string];
  readonly correctLine: [];
  readonly unreadableConfig: [reason: string];
  readonly readableConfig: [];
  readonly lacksKey: [table: string, key: string];
  readonly addLine: [line: string];
  readonly wrongValue: [found: string, key: string, expected: Expected, detail: string];
  readonly writeLike: [line: string];
  readonly putInBrackets: [line: string];
  readonly removeQuotes: [line: string];
  readonly unknownKey: [key: string];
  readonly removeKey: [];
  readonly showKeys: [];
  readonly replacedDirectory: [file: string];
  readonly allowAnew: [];
  readonly unusablePath: [variable: string, path: string];
  readonly outsideProjects: [];
  readonly writeAbsolute: [];
  readonly noAgentAddress: [];
  readonly noAgentModel: [];
  readonly setVariable: [name: string];
  readonly noCommandRule: [rule: string, key: string];
  readonly usedTwice: [name: string, list: string];
  readonly renameEntry: [];
  readonly noSuchEffort: [word: string, levels: string];
  readonly nameEfforts: [line: string];
  readonly noSuchFacts: [provider: string, vendor: string];

  readonly emptyRule: [];
  readonly brokenRule: [rule: string];
  readonly emptyParentheses: [rule: string];
  readonly wideRule: [rule: string];
  readonly writeSeveralRules: [name: string];
  readonly wideRules: [];
  readonly writeFewerRules: [];
  readonly noRuleTool: [name: string];
  readonly writeRule: [];
  readonly writeParentheses: [];
  readonly writeNameAlone: [name: string];
  readonly useRuleNames: [];
  readonly badKey: [key: string];
  readonly writeDots: [];
  readonly notSaved: [file: string, reason: string];
  readonly makeRoom: [];
  readonly fileExists: [file: string];
  readonly fileUnwritable: [file: string, reason: string];
  readonly chooseName: [];
  readonly chooseDirectory: [];
  readonly editorEnded: [editor: string, code: string];
  readonly editorFailed: [editor: string, reason: string];
  readonly setEditor: [];
  readonly draftStays: [];
  readonly noFact: [name: string];
  readonly twoFacts: [name: string];
  readonly listFacts: [];
  readonly giveScope: [];
  readonly noServer: [name: string, configured: string];
  readonly serverUnusable: [name: string, why: string];
  readonly lookAtLog: [file: string, name: string];
  readonly noSignIn: [name: string, why: string];
  readonly signInFailed: [name: string, why: string];

  readonly noSession: [name: string];
  readonly listSessions: [];
  readonly noSessionFile: [file: string];
  readonly giveSession: [];
  readonly severalSessions: [name: string, count: string, shown: string];
  readonly giveWholeId: [];
  readonly noSessionHere: [directory: string];
  readonly beginOne: [];
  readonly busy: [session: string, pid: string, since: string];
  readonly endOrCopy: [];
  readonly noSuchTurn: [turn: string];
  readonly chooseTurn: [turns: string];
  readonly noTurnYet: [];
  readonly nothingToRedo: [];
  readonly redoTakesBack: [];
  readonly turnRuns: [];
  readonly waitOrStop: [];
  readonly beganWith: [mode: string, initial: string];
  readonly leaveForMode: [mode: string];
  readonly inputTooLong: [model: string, tokens: string, window: string];
  readonly shortenInput: [];
  readonly largeInput: [tokens: string, limit: string];
  readonly shortenOrRaise: [];

  readonly emptyTwice: [];
  readonly stepLimit: [steps: string];
  readonly timeLimit: [seconds: string];
  readonly costLimit: [limit: string];
  readonly costUnknown: [limit: string];
  readonly filtered: [];
  readonly cutAtLimit: [];
  readonly textCall: [tool: string, provider: string];

  readonly shortened: [method: string, before: string, after: string];
  readonly waits: [problem: string];
  readonly because: [problem: string];
  readonly originalsStay: [];
  readonly notArchived: [problem: string];
  readonly serverWindow: [tokens: string, source: string];
  readonly heldBack: [names: string];
  readonly languageServerGone: [server: string, why: string];
  readonly refusedHost: [address: string, reason: string];
  readonly deniedByJail: [what: "file" | "network" | "readOnly" | "mode" | "setup", lines: string];
  readonly madeFiles: [kind: "protected" | "denied", names: string];
  readonly changedAll: [paths: string];
  readonly noCheckpoint: [root: string, problem: string];
  readonly tornLine: [session: string, bytes: string];
  readonly onDiskAgain: [session: string];
  readonly notWritten: [file: string, problem: string];
  readonly damagedLines: [count: string, file: string, lines: string];
  readonly ruleUnsaved: [rule: string, problem: string];
  readonly skillRules: [skill: string];
  readonly noImages: [model: string];
  readonly imageLeftOut: [number: string, reason: string];
  readonly imageDescribed: [number: string, model: string, tokens: string, cost: string];
  readonly imageUndescribed: [number: string, model: string, reason: string];
  readonly serversStart: [names: string, seconds: string];
  readonly serversLate: [names: string, seconds: string];
  readonly elsewhere: [began: string, cwd: string];
  readonly unknownTool: [name: string];
  readonly turnOf: [turn: string, most: string];
  readonly turnsUsedUp: [most: string];
  readonly unknownParameter: [parameter: string, alias: string];
  readonly notForPlanMode: [name: string];
  readonly autoPlan: [];
  readonly plannerPlan: [model: string, plan: string];
  readonly plannerFailed: [model: string, why: string];
  readonly plannerRests: [model: string, why: string];
  readonly planUnsaved: [directory: string, why: string];
  readonly verified: [commands: string];
  readonly notVerified: [];
  readonly verifyFailed: [command: string, how: string, round: string, most: string];
  readonly verifyGaveUp: [command: string, how: string];
  readonly verifyUntrusted: [command: string];
  readonly verifyChanged: [command: string, file: string];
  readonly verifyRefused: [command: string, why: string];
  readonly verifyMissing: [command: string];
  readonly verifyUnrun: [command: string, why: string];
  readonly verifyNothing: [];
  readonly verifyConfigure: [];
  readonly noCount: [provider: string, kind: string];
  readonly withoutExact: [];
  readonly notSent: [settings: string, model: string];
  readonly effortFell: [model: string, wanted: string, level: string];
  readonly toolless: [model: string];
  readonly serverDenied: [server: string, rule: string];
  readonly serverElsewhere: [name: string];
  readonly noTransport: [];
  readonly remoteUnavailable: [server: string, model: string];
  readonly remoteUnasked: [server: string, model: string, rule: string];
  readonly remoteHeaders: [server: string, headers: string];
  readonly remoteCalled: [server: string, tool: string, args: string, output: string];
  readonly remoteFailed: [server: string, tool: string, args: string, output: string];
  readonly textCallsOld: [key: string];
  readonly usePseudo: [];

  readonly goalComplete: [turns: string];
  readonly goalBlocked: [why: string];
  readonly goalTurns: [turns: string];
  readonly goalCost: [cost: string];
  readonly goalTime: [seconds: string];
  readonly goalIdle: [turns: string];
  readonly goalTurnLimit: [detail: string];
  readonly goalPaused: [];
  readonly goalFailed: [detail: string];
  readonly goalCleared: [];
  readonly goalGoesOn: [];
  readonly goalNext: [turn: string];
  readonly goalWaits: [turn: string, seconds: string];
  readonly goalCheck: [command: string];
  readonly goalResearch: [directory: string];
  readonly goalUpgraded: [directory: string];
  readonly goalReport: [file: string];
}

export type Expected =
  | "one of"
  | "text"
  | "some text"
  | "true or false"
  | "array"
  | "array of tables"
  | "table"
  | "whole number"
  | "number";

export type Saying = {
  [C in keyof SayingWords]: readonly [code: C, ...words: SayingWords[C]];
}[keyof SayingWords];

/** Several in a row: what happened, then what to do about it. */
export type Sayings = readonly Saying[];

/** The same in an event, which may come from another version. */
export type WrittenSayings = readonly (readonly string[])[];

/** A piece of an English sentence, and what it says. */
export interface Phrase {
  readonly text: string;
  readonly said: Saying;
}
