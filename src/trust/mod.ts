/** Trust in repository content: the items that need it, the decisions of the user, texts for people. */
export { entryItem, filesOf, type PermissionGrant, type TrustEntry, type TrustItem } from "./item.ts";
export { type TrustRecord, type TrustReport, TrustStore } from "./store.ts";
export { describeItem, trustDetails, trustLines } from "./trust_text.ts";
