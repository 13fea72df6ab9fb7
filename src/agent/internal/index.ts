/**
 * Exports of the framework for other folders of this repository. They are not part of the package's public interface.
 */
export { deleteWithDelegated } from '../delegated.ts';
export { RunFailure } from '../errors.ts';
export { acceptedFile } from '../models/accepted-files.ts';
export { offlineEmbeddings, type EmbeddingModel } from '../models/embeddings.ts';
export { serverOf } from '../models/model-servers.ts';
export { resolveModel, usableModels } from '../models/resolve.ts';
export { offered, reachableServers } from '../models/model-list.ts';
export { mayTryAgain } from '../models/retry.ts';
export { scriptFromFile } from '../models/scripted.ts';
export { startTimeouts, type TimeoutOptions, type Timeouts } from '../models/timeouts.ts';
export { cutOff } from '../models/vendor-error.ts';
export { vendorEmbeddings, vendorModel } from '../models/vendor-model.ts';
export { VENDORS, addressOf, type Vendor, type VendorSettings } from '../models/vendors.ts';
export { compact, contextTokens } from '../run/compaction.ts';
export { conversationOf, eventBefore } from '../run/conversation.ts';
export { FinalText } from '../run/final-text.ts';
export { runScopeOf } from '../run/run-context.ts';
export { hasUnfinishedRun } from '../run/unfinished-run.ts';
export { generate } from '../spans.ts';
export { toolPrefix } from '../tools/mcp-names.ts';
export { loginToMcp, mcpAuthorization, type McpLogins } from '../tools/mcp-oauth.ts';
