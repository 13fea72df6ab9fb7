/** The decision of the rules about a command line. */
import { concerns, covers, parsePattern, type Pattern } from '../shell/command-pattern.ts';
import { parseCommandLine } from '../shell/parse.ts';
import { describedCommands, leavesRoot } from '../shell/permitted.ts';
import type { SimpleCommand } from '../shell/simple-command.ts';
import { staysInside } from '../shell/workspace-path.ts';
import type { PolicyRule } from './rule.ts';
import { partVerdict, said, strictest, type Applicable, type Ruled } from './verdict.ts';

/**
 * Returns the decision about a command line, or undefined if the mode decides. `root` is the root folder of the
 * workspace.
 */
export function shellVerdict(
  applicable: Applicable,
  text: string,
  root: string,
): Ruled | undefined {
  const { rules, grants } = applicable;
  const line = parseCommandLine(text);
  const { commands, writes, reads, problem } = line;
  const described = describedCommands(line, root);
  const patterns = new Map(
    [...rules, ...grants].map((rule) => [
      rule,
      rule.pattern === undefined ? undefined : parsePattern(rule.pattern),
    ]),
  );
  const each = commands.map((command) => {
    const usable = described.includes(command) ? applicable : withoutPatterns(applicable);
    return commandVerdict(usable, patterns, command, root);
  });
  const worst = strictest(each);
  if (worst?.decision === 'deny') return worst;
  // If a command may run in another folder, the path of a redirection may lead to a file outside the workspace.
  const isMoved = leavesRoot(line, root);
  const outside = reads.filter((file) => isMoved || !staysInside(file, root));
  const redirects = writes.length > 0 || outside.length > 0;
  if (problem === undefined && !redirects && commands.length > 0) return worst;
  // A rule without a pattern applies to every command line, even to a line that cannot be parsed.
  const whole = partVerdict(applicable, isWhole, isNarrower);
  const later = rules.slice(rules.findLastIndex(isWhole) + 1);
  const parsed: (Ruled | undefined)[] = [whole, ...each];
  if (problem !== undefined && later.some((rule) => rule.decision !== 'allow')) {
    const mayBeDenied = later.some((rule) => rule.decision === 'deny');
    parsed.push({ decision: 'ask', reason: problem, mayBeDenied });
  } else if (!whole) {
    if (worst?.decision !== 'allow') return worst;
    const effect =
      writes.length > 0 ? `writes ${writes.join(', ')}` : `reads ${outside.join(', ')}`;
    return { decision: 'ask', reason: problem ?? `the command ${effect}` };
  }
  return strictest(parsed.filter((one) => one !== undefined));
}

function isWhole({ pattern }: PolicyRule): boolean {
  return pattern === undefined;
}

/** Removes the permissions that have a pattern. Permissions for all command lines remain. */
function withoutPatterns(applicable: Applicable): Applicable {
  return { ...applicable, grants: applicable.grants.filter(isWhole) };
}

/**
 * Returns the decision about a command, which is the strictest of these: the decision of the last rule (or else of a
 * permission) that certainly matches, and `ask` for each later rule that asks or denies and that may match.
 */
function commandVerdict(
  applicable: Applicable,
  patterns: ReadonlyMap<PolicyRule, Pattern | undefined>,
  command: SimpleCommand,
  root: string,
): Ruled | undefined {
  const matching = (rule: PolicyRule): 'yes' | 'maybe' | 'no' => {
    if (rule.pattern === undefined) return 'yes';
    const pattern = patterns.get(rule);
    if (rule.decision === 'allow') return pattern && covers(pattern, command, root) ? 'yes' : 'no';
    return pattern ? concerns(pattern, command) : 'maybe';
  };
  const verdicts: (Ruled | undefined)[] = [];
  for (const rule of applicable.rules.toReversed()) {
    const match = matching(rule);
    if (match === 'yes') break;
    if (match === 'no') continue;
    const reason = `the command may match this rule: ${said(rule).reason}`;
    verdicts.push({ decision: 'ask', reason, mayBeDenied: rule.decision === 'deny' });
  }
  const certain = partVerdict(applicable, (rule) => matching(rule) === 'yes', isNarrower);
  return strictest([...verdicts, certain]);
}

/** Returns whether every command that the pattern `grant` covers matches the pattern `rule`. */
function isNarrower(grant: string, rule: string): boolean {
  const narrow = parsePattern(grant);
  const wide = parsePattern(rule);
  if (!narrow || !wide || (wide.exact && !narrow.exact)) return false;
  return concerns(wide, { words: narrow.words, assigns: false }) === 'yes';
}
