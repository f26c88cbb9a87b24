/** Trust in repository content: the items that need it, the decisions of the user, texts for people. */
export {
  describeItem,
  entryItem,
  filesOf,
  type PermissionGrant,
  trustDetails,
  type TrustEntry,
  type TrustItem,
  trustLines,
  type TrustRecord,
  type TrustReport,
  TrustStore,
} from "./trust.ts";
