/**
 * The decision about one part of a call, such as a command of a line or a file of a patch, and how the decisions about
 * all parts are combined.
 *
 * Rules are built in or written by people. The last rule that matches decides. People add permissions with "Always
 * allow". A permission decides if no rule matches. It also answers a rule that asks, if this rule matches everything
 * that the permission allows. A permission never overrides a rule that denies. It also never overrides a rule that asks
 * about only a part of what the permission allows.
 */
import { matchesName } from '../files/glob-pattern.ts';
import type { PolicyDecision, PolicyRule } from './rule.ts';

export interface Verdict {
  readonly decision: PolicyDecision;
  /** The reason in one line, for people and for the model. */
  readonly reason: string;
}

/** The decision of the rules. */
export interface Ruled extends Verdict {
  /** True if the call needs approval because it is uncertain whether a rule denies it. */
  readonly mayBeDenied?: boolean;
}

/** The rules and permissions for the calls of one tool. */
export interface Applicable {
  /** The names of the tool: the name that the model sees, and the full name. */
  readonly names: readonly string[];
  /** The rules in their order. */
  readonly rules: readonly PolicyRule[];
  readonly grants: readonly PolicyRule[];
}

/**
 * Returns whether the pattern of a rule matches everything that the pattern of a permission matches. The result is used
 * only if both patterns match the same part of a call.
 */
type IsNarrower = (grant: string, rule: string) => boolean;

/**
 * Returns the decision about a part of a call, or undefined if the mode decides. `matches` returns whether a rule or a
 * permission matches this part.
 */
export function partVerdict(
  applicable: Applicable,
  matches: (rule: PolicyRule) => boolean,
  isNarrower: IsNarrower,
): Verdict | undefined {
  const rule = applicable.rules.findLast(matches) ?? applicable.grants.find(matches);
  return rule && said(answerTo(rule, applicable, matches, isNarrower) ?? rule);
}

/**
 * Returns the permission that answers a rule that asks. Returns undefined if the rule does not ask, or if no permission
 * answers it.
 */
export function answerTo(
  rule: PolicyRule,
  { names, grants }: Applicable,
  matches: (grant: PolicyRule) => boolean,
  isNarrower: IsNarrower,
): PolicyRule | undefined {
  if (rule.decision !== 'ask') return undefined;
  return grants.find((grant) => {
    const { tool, pattern } = grant;
    const sameTools =
      names.includes(tool) ||
      rule.tool === tool ||
      // A permission may be for the tools `a__*`. A rule for `a__?` matches the text `a__*`, but not
      // all of these tools.
      (!rule.tool.includes('?') && matchesName(rule.tool, tool));
    const samePattern =
      rule.pattern === undefined || (pattern !== undefined && isNarrower(pattern, rule.pattern));
    return sameTools && samePattern && matches(grant);
  });
}

/** Returns the decision of a rule. */
export function said(rule: PolicyRule): Verdict {
  const what = rule.pattern === undefined ? rule.tool : `${rule.tool} "${rule.pattern}"`;
  const verb = { allow: 'allows', ask: 'asks before', deny: 'denies' }[rule.decision];
  return { decision: rule.decision, reason: `a rule ${verb} ${what}` };
}

function severityOf(ruled: Ruled | undefined): number {
  if (ruled?.mayBeDenied) return 3;
  return { allow: 0, byMode: 1, ask: 2, deny: 4 }[ruled?.decision ?? 'byMode'];
}

/**
 * Returns the strictest decision. The order, from `allow` to the strictest: `allow`; undefined, if the mode decides;
 * `ask`; `ask` with `mayBeDenied`; `deny`.
 */
export function strictest(verdicts: readonly (Ruled | undefined)[]): Ruled | undefined {
  return verdicts.reduce(
    (worst, one) => (severityOf(one) > severityOf(worst) ? one : worst),
    verdicts[0],
  );
}
