/**
 * The options for a call that needs approval, and the rules that each option adds.
 *
 * For the shell, "Always allow" applies to the exact commands of the line. It is offered only if the commands assign no
 * variables and all their words are literal. A rule for an exact command cannot match other commands. "Always allow" is
 * not offered if something else decides what the commands do (shell/permitted.ts), if the line writes files, or if it
 * has more than MAX_COMMANDS commands. For a few commands, "Always allow" can also apply to the first words, as in `npm
 * test`. The name of the option shows these words. For other tools, "Always allow" can apply to a file, a host, a
 * helper, the whole tool or an MCP server. It is not offered for a host, an MCP tool or an MCP server if the name
 * contains a wildcard (`*` or `?`), because the rule would also match other names. An option is not offered if one of
 * its rules would be invalid (`grantFrom`).
 */
import { defined, type JsonObject } from '../../base/index.ts';
import type { ConfirmationOption, FileDiff } from '../../protocol/development-tool/index.ts';
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

type OptionId =
  | 'proceed_once'
  | 'proceed_always'
  | 'proceed_always_prefix'
  | 'proceed_always_tool'
  | 'proceed_always_server'
  | 'proceed_always_and_save'
  | 'proceed_always_prefix_and_save'
  | 'modify'
  | 'cancel';

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

export function optionsFor(call: CallToApprove): ConfirmationOption[] {
  const { preview, tool } = call;
  const subject = subjectOf(call);
  const narrow = subject !== undefined && `Always allow ${subject}`;
  const prefix = prefixesOf(call);
  const wide = tool.name !== SHELL_TOOL && `Always allow ${tool.name}`;
  const server = serverOf(preview);
  const all = server !== undefined && `Always allow all tools of ${server}`;
  const modify = preview.kind === 'edit' && preview.modifiable && 'Allow with other content';
  const names: Readonly<Record<OptionId, string | false | undefined>> = {
    proceed_once: 'Allow once',
    proceed_always: preview.kind !== 'mcp' && narrow && `${narrow} in this session`,
    proceed_always_prefix: prefix && `${prefix} in this session`,
    proceed_always_tool: wide && `${wide} in this session`,
    proceed_always_server: all && `${all} in this session`,
    proceed_always_and_save: narrow && `${narrow}, also in later sessions`,
    proceed_always_prefix_and_save: prefix && `${prefix}, also in later sessions`,
    modify,
    cancel: 'Reject',
  };
  return Object.entries(names).flatMap(([id, name]) =>
    name && (!addsRules(id) || grantFrom(id, call).length > 0) ? [{ id, name }] : [],
  );
}

/** Returns whether the option adds rules. */
function addsRules(optionId: string): boolean {
  return optionId.startsWith('proceed_always');
}

/**
 * Returns the MCP server of a call. Returns undefined for other calls, and if the server's name contains a wildcard.
 */
function serverOf(preview: Preview): string | undefined {
  return preview.kind === 'mcp' && isLiteralName(preview.server) ? preview.server : undefined;
}

/** Returns whether the rules of the option are also saved for later sessions. */
export function saves(optionId: string): boolean {
  return optionId.endsWith('_and_save');
}

/**
 * Returns the rules that an option adds to the session. Returns an empty list if one of them would be invalid, for
 * example because a command is too long for a pattern.
 */
export function grantFrom(optionId: string, call: CallToApprove): readonly PolicyRule[] {
  const rules = rulesOf(optionId, call);
  return rules.every((rule) => ruleProblem(rule) === undefined) ? rules : [];
}

function rulesOf(optionId: string, call: CallToApprove): readonly PolicyRule[] {
  const { tool, preview } = call;
  const server = serverOf(preview);
  switch (optionId) {
    case 'proceed_always':
    case 'proceed_always_and_save':
      return narrowRules(call) ?? [];
    case 'proceed_always_prefix':
    case 'proceed_always_prefix_and_save':
      return prefixRules(call) ?? [];
    case 'proceed_always_tool':
      if (tool.name === SHELL_TOOL || !isLiteralName(ruleName(tool))) return [];
      return [{ tool: ruleName(tool), decision: 'allow' }];
    case 'proceed_always_server':
      return server === undefined ? [] : [{ tool: `${server}__*`, decision: 'allow' }];
    default:
      return [];
  }
}

/** Returns the narrowest rules that allow this call, or undefined if no rule can describe it. */
function narrowRules({ tool, args, preview, root }: CallToApprove): PolicyRule[] | undefined {
  const allow = (pattern?: string): PolicyRule => ({
    tool: ruleName(tool),
    decision: 'allow',
    ...defined({ pattern }),
  });
  if (tool.name === SHELL_TOOL) return shellRules(args, root, exactPattern);
  if (preview.kind === 'edit') {
    const files = filesOf(preview.diffs, root);
    return files.length === 0 ? undefined : files.map((file) => allow(literalGlob(file)));
  }
  if (tool.name === FETCH_TOOL) {
    const host = hostOf(args);
    // A URL may have the host `*` or `*.com`.
    return host !== undefined && isLiteralName(host) ? [allow(host)] : undefined;
  }
  // The names of helpers contain no characters that are special in a pattern.
  if (tool.name === TASK_TOOL) return [allow(helperIn(args))];
  return preview.kind === 'mcp' && isLiteralName(ruleName(tool)) ? [allow()] : undefined;
}

/**
 * Returns the name of a tool in rules. The model may see a shortened name. If this name has lost its `__`, a rule with
 * it would be invalid, so the full name is used. The full name is not used if two tools can have it: `a__b__c` may be a
 * tool of the server `a` or of the server `a__b`.
 */
function ruleName({ name, fullName = name }: Subject): string {
  const isUnique = fullName.indexOf('__') === fullName.lastIndexOf('__');
  return name.includes('__') || !isUnique ? name : fullName;
}

/**
 * Returns the rules that allow the commands of the line with any further words, or undefined if this is not offered. A
 * filter of standard input, such as `tail -5`, is allowed only exactly as it is.
 */
function prefixRules({ tool, args, root }: CallToApprove): PolicyRule[] | undefined {
  if (tool.name !== SHELL_TOOL) return undefined;
  const rules = shellRules(
    args,
    root,
    (command) =>
      prefixPattern(command, root) ?? (readsOnlyInput(command) ? exactPattern(command) : undefined),
  );
  if (!rules || rules.length > MAX_PREFIXES) return undefined;
  const hasPrefix = rules.some(({ pattern = '' }) => exactCommand(pattern) === undefined);
  return hasPrefix ? rules : undefined;
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

/**
 * Returns the first part of the names of the options with prefixes. This part says what their rules match. Returns
 * undefined if these options are not offered.
 */
function prefixesOf(call: CallToApprove): string | undefined {
  const rules = prefixRules(call);
  if (!rules) return undefined;
  const parts = rules.map(({ pattern = '' }) => {
    const exact = exactCommand(pattern);
    return exact === undefined ? `"${pattern}" with any further words` : `"${exact}"`;
  });
  return `Always allow ${parts.join(' and ')}`;
}

function filesOf(diffs: readonly FileDiff[], root: string): string[] {
  return diffs.map(({ file_path }) => relative(root, file_path));
}

/** Describes what the narrowest rules would allow. Returns undefined if no rule can describe the call. */
function subjectOf(call: CallToApprove): string | undefined {
  const rules = narrowRules(call);
  if (!rules) return undefined;
  if (call.tool.name === SHELL_TOOL) return rules.length === 1 ? 'this command' : 'these commands';
  if (call.preview.kind === 'mcp') return call.preview.tool;
  if (call.preview.kind === 'edit') return filesOf(call.preview.diffs, call.root).join(', ');
  if (call.tool.name === TASK_TOOL) return `the helper ${helperIn(call.args)}`;
  return rules.map((rule) => rule.pattern).join(', ');
}
