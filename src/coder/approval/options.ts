/**
 * The options for a call that needs approval, and the rules that each option adds.
 *
 * For the shell, "Always allow" applies to the exact commands of the line, and the rules match no other commands. It is
 * offered only if all of these conditions are met:
 *
 * - The line can be parsed, writes no files, and has at most MAX_COMMANDS commands.
 * - The commands assign no variables, and all their words are literal.
 * - Only its own words decide what each command does, not its input or a change of the folder (shell/permitted.ts).
 *
 * For a few commands, "Always allow" can also apply to the first words, as in `npm test`. The name of the option shows
 * these words.
 *
 * For other tools, "Always allow" can apply to a file, a host, a helper, the whole tool or an MCP server. It is not
 * offered for a host, an MCP tool or an MCP server if the name contains a wildcard (`*` or `?`), because the rule would
 * also match other names. An option is not offered if one of its rules would be invalid (`grantFrom`).
 */
import type { JsonObject } from '../../base/index.ts';
import type { ConfirmationOption } from '../../protocol/development-tool/index.ts';
import { isLiteralName, literalGlob } from '../files/glob-pattern.ts';
import {
  commandOf,
  FETCH_TOOL,
  helperIn,
  hostOf,
  relative,
  ruleProblem,
  SHELL_TOOL,
  TASK_TOOL,
  type Subject,
} from './policy.ts';
import type { PolicyRule } from './rule.ts';
import { exactCommand, exactPattern, prefixPattern } from '../shell/command-pattern.ts';
import { parseCommandLine } from '../shell/parse.ts';
import { describedCommands } from '../shell/permitted.ts';
import { readsOnlyInput } from '../shell/read-only-commands.ts';
import type { SimpleCommand } from '../shell/simple-command.ts';
import type { Preview } from '../tools/tool.ts';

/** Maximum number of commands in a command line for which "Always allow" is offered. */
const MAX_COMMANDS = 8;
/** Maximum number of rules of an option with prefixes. The name of the option lists all these rules. */
const MAX_PREFIXES = 3;

/** A call that needs approval. */
export interface CallToApprove {
  readonly tool: Subject;
  readonly args: JsonObject;
  readonly preview: Preview;
  /** The root folder of the workspace. */
  readonly root: string;
}

/** The rules of an option "Always allow". */
interface Grant {
  /** The part of the option's name that says what the rules allow. */
  readonly subject: string;
  readonly rules: readonly PolicyRule[];
}

export function optionsFor(call: CallToApprove): ConfirmationOption[] {
  const { preview } = call;
  const offered = Object.entries(grantsOf(call)).flatMap(([id, grant]) => {
    // For a tool of an MCP server, `proceed_always` and `proceed_always_tool` add the same rule, so only the second
    // option is offered.
    if (!grant || (id === 'proceed_always' && preview.kind === 'mcp')) return [];
    const duration = saves(id) ? ', also in later sessions' : ' in this session';
    return [{ id, name: `Always allow ${grant.subject}${duration}` }];
  });
  const isModifiable = preview.kind === 'edit' && preview.modifiable;
  return [
    { id: 'proceed_once', name: 'Allow once' },
    ...offered,
    ...(isModifiable ? [{ id: 'modify', name: 'Allow with other content' }] : []),
    { id: 'cancel', name: 'Reject' },
  ];
}

/** Returns whether the rules of the option are saved. Saved rules also apply in later sessions. */
export function saves(optionId: string): boolean {
  return optionId.endsWith('_and_save');
}

/**
 * Returns the rules that an option adds. The list is empty if the option adds no rules, or if one of its rules would be
 * invalid, for example because a command is too long for a pattern.
 */
export function grantFrom(optionId: string, call: CallToApprove): readonly PolicyRule[] {
  return grantsOf(call)[optionId]?.rules ?? [];
}

/**
 * Returns the rules of each option that adds rules. The value is undefined if there are no valid rules for this call.
 */
function grantsOf(call: CallToApprove): Readonly<Record<string, Grant | undefined>> {
  const narrow = valid(narrowGrant(call));
  const prefix = valid(prefixGrant(call));
  return {
    proceed_always: narrow,
    proceed_always_prefix: prefix,
    proceed_always_tool: valid(toolGrant(call)),
    proceed_always_server: valid(serverGrant(call)),
    proceed_always_and_save: narrow,
    proceed_always_prefix_and_save: prefix,
  };
}

function valid(grant: Grant | undefined): Grant | undefined {
  return grant?.rules.every((rule) => ruleProblem(rule) === undefined) ? grant : undefined;
}

/** Returns the grant with the narrowest rules that allow this call, or undefined if no rule can describe the call. */
function narrowGrant({ tool, args, preview, root }: CallToApprove): Grant | undefined {
  if (tool.name === SHELL_TOOL) {
    const rules = shellRules(args, root, exactPattern);
    return rules && { subject: rules.length === 1 ? 'this command' : 'these commands', rules };
  }
  const allow = (pattern: string): PolicyRule => ({
    tool: ruleName(tool),
    decision: 'allow',
    pattern,
  });
  if (preview.kind === 'edit') {
    const files = preview.diffs.map(({ file_path }) => relative(root, file_path));
    if (files.length === 0) return undefined;
    return { subject: files.join(', '), rules: files.map((file) => allow(literalGlob(file))) };
  }
  if (tool.name === FETCH_TOOL) {
    const host = hostOf(args);
    // A URL may have the host `*` or `*.com`. A rule with this host would also match other hosts.
    if (host === undefined || !isLiteralName(host)) return undefined;
    return { subject: host, rules: [allow(host)] };
  }
  if (tool.name === TASK_TOOL) {
    // The names of helpers contain no characters that are special in a pattern.
    const helper = helperIn(args);
    return { subject: `the helper ${helper}`, rules: [allow(helper)] };
  }
  return preview.kind === 'mcp' ? toolGrant({ tool }, preview.tool) : undefined;
}

/**
 * Returns the grant for all calls of a tool. Returns undefined for the shell, and if the tool's name contains a
 * wildcard. `subject` is the text for the tool in the name of the option.
 */
function toolGrant(
  { tool }: Pick<CallToApprove, 'tool'>,
  subject: string = tool.name,
): Grant | undefined {
  const name = ruleName(tool);
  if (tool.name === SHELL_TOOL || !isLiteralName(name)) return undefined;
  return { subject, rules: [{ tool: name, decision: 'allow' }] };
}

/**
 * Returns the grant for all tools of the MCP server. Returns undefined if the call is not a call of an MCP tool, or if
 * the server's name contains a wildcard.
 */
function serverGrant({ preview }: CallToApprove): Grant | undefined {
  if (preview.kind !== 'mcp' || !isLiteralName(preview.server)) return undefined;
  const { server } = preview;
  return {
    subject: `all tools of ${server}`,
    rules: [{ tool: `${server}__*`, decision: 'allow' }],
  };
}

/**
 * Returns the name of a tool in rules. By default, this is the name that the model sees. That name may be shortened. If
 * it then contains no `__`, a rule with it would be invalid, so the full name is used. There is one exception: a full
 * name that two tools can have is not used. For example, `a__b__c` may be a tool of the server `a` or of the server
 * `a__b`.
 */
function ruleName({ name, fullName = name }: Subject): string {
  const isUnique = fullName.indexOf('__') === fullName.lastIndexOf('__');
  return name.includes('__') || !isUnique ? name : fullName;
}

/**
 * Returns the grant for the commands of the line with any further words. The rule for a filter of standard input, such
 * as `tail -5`, matches only this exact command. The subject of the grant shows which rules are exact. Returns
 * undefined if a command has no rule, if there are more than MAX_PREFIXES rules, or if all rules are exact.
 */
function prefixGrant({ tool, args, root }: CallToApprove): Grant | undefined {
  if (tool.name !== SHELL_TOOL) return undefined;
  const rules = shellRules(
    args,
    root,
    (command) =>
      prefixPattern(command, root) ?? (readsOnlyInput(command) ? exactPattern(command) : undefined),
  );
  if (!rules || rules.length > MAX_PREFIXES) return undefined;
  const exact = rules.map(({ pattern = '' }) => exactCommand(pattern));
  if (!exact.includes(undefined)) return undefined;
  const parts = rules.map(({ pattern }, at) =>
    exact[at] === undefined ? `"${pattern}" with any further words` : `"${exact[at]}"`,
  );
  return { subject: parts.join(' and '), rules };
}

/**
 * Returns the rules with the pattern of each command of the line. Returns undefined if a command has no pattern or
 * cannot be described by a rule. Also returns undefined if the line is empty, has too many commands, writes files or
 * cannot be parsed.
 */
function shellRules(
  args: JsonObject,
  root: string,
  patternOf: (command: SimpleCommand) => string | undefined,
): PolicyRule[] | undefined {
  const line = parseCommandLine(commandOf(args));
  const { commands, writes, problem } = line;
  if (problem !== undefined || writes.length > 0) return undefined;
  if (commands.length === 0 || commands.length > MAX_COMMANDS) return undefined;
  if (describedCommands(line, root).length < commands.length) return undefined;
  const patterns = commands.map(patternOf);
  if (!patterns.every((pattern) => pattern !== undefined)) return undefined;
  return [...new Set(patterns)].map((pattern) => ({
    tool: SHELL_TOOL,
    pattern,
    decision: 'allow',
  }));
}
