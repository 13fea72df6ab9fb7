/**
 * The permissions: rules that people add with "Always allow". The permissions of a session are in its state, so they
 * apply in every process that continues the session. Permissions for later sessions are only in the user's settings.
 */
import { createHash } from 'node:crypto';
import type { MutableState } from '../../agent/index.ts';
import { revealedLine } from './approvals.ts';
import { SHELL_TOOL } from './policy.ts';
import { PolicyRule } from './rule.ts';

/**
 * The key of a session's permissions in its state. In earlier versions, the key `coder.grants` contained the
 * permissions of the session and copies of saved ones. Its content is ignored, because some of the saved permissions
 * may have been removed from the settings.
 */
const KEY = 'coder.permissions';
/** Maximum number of permissions of a session. If there are more, the oldest are dropped. */
const MAX_GRANTS = 500;

/** Returns the rules of a session, oldest first. A rule that is not valid is left out. */
export function grantsIn(state: Pick<MutableState, 'get'>): readonly PolicyRule[] {
  const stored = state.get(KEY);
  if (!Array.isArray(stored)) return [];
  return stored.flatMap((each) => PolicyRule.safeParse(each).data ?? []);
}

export function addGrants(state: MutableState, rules: readonly PolicyRule[]): void {
  state.set(KEY, [...grantsIn(state), ...rules].slice(-MAX_GRANTS));
}

/** Removes the rules with this id from a session. Returns the removed rules. */
export function removeGrants(state: MutableState, id: string): readonly PolicyRule[] {
  const all = grantsIn(state);
  const { removed = [], kept = [] } = Object.groupBy(all, (rule) =>
    grantId(rule) === id ? 'removed' : 'kept',
  );
  if (removed.length > 0) state.set(KEY, kept);
  return removed;
}

/** Returns a short id of a rule. A rule of the session and the same rule in the settings have the same id. */
export function grantId({ tool, pattern, decision }: PolicyRule): string {
  const text = JSON.stringify([tool, pattern ?? null, decision]);
  return createHash('sha256').update(text).digest('hex').slice(0, 6);
}

/** Returns what a rule matches, as one line of text. */
export function grantText({ tool, pattern }: PolicyRule): string {
  if (pattern === undefined) return `${revealedLine(tool)}, every call`;
  if (tool !== SHELL_TOOL) return `${revealedLine(tool)} ${revealedLine(pattern)}`;
  const command = revealedLine(pattern.replace(/ \$$/, ''));
  return pattern.endsWith(' $') ? `${command}, exactly` : `${command}, with any further words`;
}
