/** Finds the changes that a person should be told about: a call waits for an answer, or a turn has ended. */
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import { isTerminal, requestId } from '../../protocol/schema-free/index.ts';
import { waitingCalls, type SessionState } from './state.ts';

export type Attention =
  | { readonly kind: 'needs-you'; readonly call: ToolCall }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed' };

/** Returns what a person should be told when the state changes from `before` to `after`. Ignores canceled turns. */
export function attentionSince(before: SessionState, after: SessionState): Attention[] {
  // Calls and turns from before this client joined the session are not reported.
  if (!before.place || before === after) return [];
  const found: Attention[] = [];
  if (before.log.open !== after.log.open) {
    const known = new Set(waitingCalls(before).map(({ call }) => requestId(call)));
    for (const { call } of waitingCalls(after)) {
      if (!known.has(requestId(call))) found.push({ kind: 'needs-you', call });
    }
  }
  if (before.turn !== after.turn && !isTerminal(before.turn) && isTerminal(after.turn)) {
    // If another prompt is queued, a completed turn is not reported, because the agent continues with this prompt.
    if (after.turn === 'completed' && after.queued.length === 0) found.push({ kind: 'done' });
    if (after.turn === 'failed' || after.turn === 'rejected') found.push({ kind: 'failed' });
  }
  return found;
}
