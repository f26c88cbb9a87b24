export { BUILTIN_AGENTS, RESEARCH_TOOLS } from "./builtin.ts";
export { agentTrustItem, discoverAgents } from "./discover.ts";
