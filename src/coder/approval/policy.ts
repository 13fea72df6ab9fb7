/**
 * Decides whether a call is allowed, needs a person's approval, or is denied.
 *
 * The last rule that matches decides, and if no rule matches, the mode decides. Two modes override rules. Plan mode
 * denies all calls whose effect is not `read` or `talk`, even if a rule allows them. Yolo mode allows calls for which a
 * rule asks, unless another rule may deny them. Built-in rules come first, then the rules of the settings, then the rules of the
 * session, which people add with "Always allow".
 *
 * The meaning of a rule's pattern depends on the tool. For the shell, the pattern is the first words of a command
 * (shell/command-pattern.ts). For tools with paths, it is a glob relative to the workspace. For `fetch_url`, it is a
 * host. For `task`, it is the name of a helper. Each part of a call, such as a command of a line or a file of a patch,
 * gets its own decision. The strictest decision counts: `deny`, `ask`, no rule, `allow`, in this order. So rules allow a
 * call only if they allow each of its parts, and the mode decides only if no rule asks about a part or denies it. A rule
 * with a pattern never allows a command line that cannot be parsed or that writes to files.
 */
import { realpathSync } from 'node:fs';
import type { JsonObject } from '../../base/index.ts';
import path from 'node:path';
import { FileError } from '../files/file-error.ts';
import { compileGlob, matchesName } from '../files/glob-pattern.ts';
import { isInside } from '../files/path-rules.ts';
import type { ApprovalMode, PolicyDecision, PolicyRule } from './rule.ts';
import { concerns, covers, parsePattern, type Pattern } from '../shell/command-pattern.ts';
import { parseCommandLine } from '../shell/parse.ts';
import type { SimpleCommand } from '../shell/simple-command.ts';
import type { Effect, Preview } from '../tools/tool.ts';

export const SHELL_TOOL = 'run_shell_command';
const READ_TOOL = 'read_file';
/** Tools that search a folder, by default the whole workspace. */
const FOLDER_TOOLS: ReadonlySet<string> = new Set(['list_directory', 'glob', 'search']);
export const FETCH_TOOL = 'fetch_url';
export const SEARCH_TOOL = 'web_search';
export const TASK_TOOL = 'task';
/** The name of the default helper, which has no definition file. */
export const DEFAULT_HELPER = 'helper';

export interface Policy {
  /**
   * Decides if no rule matches. `ask`: calls with the effects `read` and `talk` and commands that only read are
   * allowed. Other calls need approval. `auto-edit`: edits are allowed too. `yolo`: all calls are allowed, except calls
   * that a rule denies or may deny. `plan`: only calls with the effects `read` and `talk` are allowed. Other calls are
   * denied, even if a rule allows them.
   */
  readonly mode: ApprovalMode;
  /** The root folder of the workspace. */
  readonly root: string;
  /** The result of `rulesFrom`. */
  readonly rules: readonly PolicyRule[];
}

export interface Verdict {
  readonly decision: PolicyDecision;
  /** The reason in one line, for people. If the call is denied, the model gets the reason too. */
  readonly reason: string;
}

/** The tool that is called. */
export interface Subject {
  readonly name: string;
  readonly effect: Effect;
}

/**
 * The names of the built-in tools. A rule for an unknown tool is reported as an error, because it would have no effect.
 */
const TOOLS: ReadonlySet<string> = new Set([
  READ_TOOL,
  'write_file',
  'edit',
  'apply_patch',
  ...FOLDER_TOOLS,
  SHELL_TOOL,
  'shell_jobs',
  FETCH_TOOL,
  SEARCH_TOOL,
  'todo',
  'ask_user',
  'save_memory',
  TASK_TOOL,
  'skill',
]);

/**
 * Edits in these folders need approval even in auto-edit mode, unless a later rule allows them. They could change
 * Parley's own settings, or programs that run later.
 */
const BUILT_IN: readonly PolicyRule[] = ['write_file', 'edit', 'apply_patch'].flatMap((tool) =>
  ['**/.git/**', '**/.parley/**'].map((pattern) => ({ tool, pattern, decision: 'ask' as const })),
);

/**
 * Returns all rules in their order. `settings` are the rules of the user and, if the workspace is trusted, the rules of
 * the workspace.
 */
export function rulesFrom(
  settings: readonly PolicyRule[] = [],
  session: readonly PolicyRule[] = [],
): readonly PolicyRule[] {
  return [...BUILT_IN, ...settings, ...session];
}

/** Returns an error message if the rule is invalid, or undefined if it is valid. */
export function problemOf({ tool, pattern }: PolicyRule): string | undefined {
  if (!/__|[*?]/.test(tool) && !TOOLS.has(tool)) {
    return `unknown tool "${tool}"; use one of ${[...TOOLS].join(', ')}, or a tool of an MCP server as "SERVER__TOOL"`;
  }
  if (pattern === undefined || tool === FETCH_TOOL || tool === TASK_TOOL) return undefined;
  if (tool === SHELL_TOOL) {
    if (parsePattern(pattern)) return undefined;
    return `"${pattern}" is not the start of a single command; use a pattern like "git status"`;
  }
  if (path.isAbsolute(pattern) || pattern.split('/').includes('..')) {
    return `"${pattern}" is not inside the workspace; use a pattern like "src/**"`;
  }
  try {
    compileGlob(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof FileError) return error.message;
    throw error;
  }
}

/**
 * Decides about a call. `files` are files that the call uses, in addition to the files in its arguments and its
 * preview. `readsOnly` is true if a command only reads files that `readFilter` accepts.
 */
export function decide(
  policy: Policy,
  tool: Subject,
  args: JsonObject,
  preview: Preview | undefined,
  files: readonly string[] = [],
  readsOnly = false,
): Verdict {
  const rules = policy.rules.filter(
    (rule) => countsIn(rule, policy.root) && isAbout(rule, tool.name, preview),
  );
  if (tool.name === SHELL_TOOL) {
    const ruled = shellVerdict(rules, commandOf(args));
    if (!ruled && readsOnly && asksForCommands(policy)) return READS_ONLY;
    return inMode(policy.mode, tool, ruled);
  }
  const targets = targetsOf(policy.root, tool, args, preview, files);
  return (
    denialOfReading(policy, tool, targets) ?? inMode(policy.mode, tool, verdict(rules, targets))
  );
}

/**
 * Returns a denial if the call edits a file for which a rule with a pattern denies `read_file`. The errors of such an
 * edit could quote the old content. This does not apply to `write_file`.
 */
function denialOfReading(
  policy: Policy,
  { name, effect }: Subject,
  targets: readonly Target[],
): Verdict | undefined {
  if (effect !== 'edit' || name === 'write_file') return undefined;
  const ruled = verdict(fileRules(policy, READ_TOOL), targets);
  return ruled?.decision === 'deny' ? ruled : undefined;
}

/** Returns the rules with a pattern that apply to the tool in this workspace. */
function fileRules({ rules, root }: Policy, tool: string): PolicyRule[] {
  return rules.filter(
    (rule) => rule.pattern !== undefined && countsIn(rule, root) && isAbout(rule, tool, undefined),
  );
}

/**
 * Returns a function that takes the real path of a file or folder. The function returns whether the result of a tool
 * may contain it. Returns undefined instead if the result may contain all files, or if the tool has another effect than
 * `read`. Only rules with a pattern apply: those for the tool and those for `read_file`. If a person has approved the call,
 * `approved` is true, and the result may contain files for which a rule asks.
 */
export function resultFilter(
  policy: Policy,
  tool: Subject,
  approved: boolean,
): ((file: string) => boolean) | undefined {
  const asks = policy.mode !== 'yolo' && !approved;
  const lists = [tool.name, READ_TOOL]
    .map((name) => fileRules(policy, name))
    .filter((rules) => rules.some(({ decision }) => decision !== 'allow'))
    .map((rules) =>
      rules
        .toReversed()
        .map(({ pattern, decision }) => ({ decision, fits: pathMatcher(pattern ?? '') })),
    );
  if (tool.effect !== 'read' || lists.length === 0) return undefined;
  const root = realPath(policy.root);
  return (file) => {
    const name = relative(root, file);
    return lists.every((rules) => {
      const rule = rules.find(({ fits, decision }) => (fits ? fits(name) : decision !== 'allow'));
      return rule?.decision === 'ask' ? !asks : rule?.decision !== 'deny';
    });
  };
}

/**
 * Returns a function that takes the real path of a file or folder. The function returns whether all tools that read
 * files may read it without approval. Returns undefined if they may read all files. If a rule without a pattern asks
 * about one of these tools or denies it, the function accepts no file.
 */
export function readFilter(policy: Policy): ((file: string) => boolean) | undefined {
  const readers = [READ_TOOL, ...FOLDER_TOOLS];
  const restricts = policy.rules.some(
    (rule) =>
      rule.pattern === undefined &&
      rule.decision !== 'allow' &&
      countsIn(rule, policy.root) &&
      readers.some((name) => isAbout(rule, name, undefined)),
  );
  if (restricts) return () => false;
  const filters = readers
    .map((name) => resultFilter(policy, { name, effect: 'read' }, false))
    .filter((filter) => filter !== undefined);
  return filters.length === 0 ? undefined : (file) => filters.every((shows) => shows(file));
}

/** The decision about a command that only reads. */
export const READS_ONLY: Verdict = {
  decision: 'allow',
  reason: 'the command only reads files of the workspace',
};

/** Returns whether commands need approval in this mode, unless they only read or a rule allows them. */
export function asksForCommands({ mode }: Policy): boolean {
  return mode === 'ask' || mode === 'auto-edit';
}

/** Combines the mode with the decision of the rules. */
function inMode(mode: ApprovalMode, { name, effect }: Subject, ruled: Ruled | undefined): Verdict {
  if (ruled?.decision === 'deny') return ruled;
  const harmless = effect === 'read' || effect === 'talk';
  if (mode === 'plan' && !harmless) {
    const reason = `plan mode does not change or run anything, so ${name} is not available; describe what you would do instead`;
    return { decision: 'deny', reason };
  }
  if (mode === 'yolo' && ruled?.mayBeDenied !== true) {
    return { decision: 'allow', reason: 'everything is allowed in yolo mode' };
  }
  if (ruled) return ruled;
  if (harmless) return { decision: 'allow', reason: 'the call changes nothing' };
  if (mode === 'auto-edit' && effect === 'edit') {
    return { decision: 'allow', reason: 'edits are allowed in auto-edit mode' };
  }
  return { decision: 'ask', reason: `${name} needs approval in ${mode} mode` };
}

/** The decision of the rules. */
interface Ruled extends Verdict {
  /** True if the call needs approval because it is uncertain whether a rule denies it. */
  readonly mayBeDenied?: boolean;
}

/**
 * Returns whether the rule applies in this workspace. A saved rule applies only in the workspace where it was added,
 * because `./build.sh` is a different program in another workspace.
 */
function countsIn({ workspace }: PolicyRule, root: string): boolean {
  return workspace === undefined || workspace === root;
}

function isAbout(rule: PolicyRule, name: string, preview: Preview | undefined): boolean {
  // A rule that allows `a__*` matches the tools of the server `a`, but not the tools of a server with the name `a__b`.
  const server = /^([^*?]+)__\*$/.exec(rule.tool)?.[1];
  if (rule.decision === 'allow' && server !== undefined && preview?.kind === 'mcp') {
    return preview.server === server;
  }
  return matchesName(rule.tool, name);
}

function said(rule: PolicyRule): Verdict {
  const what = rule.pattern === undefined ? rule.tool : `${rule.tool} "${rule.pattern}"`;
  const verb = { allow: 'allows', ask: 'asks before', deny: 'denies' }[rule.decision];
  return { decision: rule.decision, reason: `a rule ${verb} ${what}` };
}

function severityOf(ruled: Ruled | undefined): number {
  if (ruled?.mayBeDenied) return 3;
  return { allow: 0, byMode: 1, ask: 2, deny: 4 }[ruled?.decision ?? 'byMode'];
}

/**
 * Returns the strictest decision. An undefined decision means that the mode decides. It is stricter than `allow`, and
 * less strict than `ask`.
 */
function strictest(verdicts: readonly (Ruled | undefined)[]): Ruled | undefined {
  return verdicts.reduce(
    (worst, one) => (severityOf(one) > severityOf(worst) ? one : worst),
    verdicts[0],
  );
}

// Rules for the shell

interface ShellRule {
  readonly rule: PolicyRule;
  /** The parsed pattern, or undefined if the rule has no pattern or an invalid pattern. */
  readonly pattern: Pattern | undefined;
}

function shellVerdict(rules: readonly PolicyRule[], text: string): Ruled | undefined {
  const { commands, writes, problem } = parseCommandLine(text);
  const latestFirst = rules.toReversed().map((rule) => {
    return { rule, pattern: rule.pattern === undefined ? undefined : parsePattern(rule.pattern) };
  });
  const each = commands.map((command) => commandVerdict(latestFirst, command));
  const worst = strictest(each);
  if (worst?.decision === 'deny') return worst;
  if (problem === undefined && writes.length === 0 && commands.length > 0) return worst;
  // A rule without a pattern applies to every command line, even to a line that cannot be parsed.
  const whole = rules.findLastIndex((rule) => rule.pattern === undefined);
  const later = rules.slice(whole + 1);
  const denies = later.some((rule) => rule.decision === 'deny');
  if (problem !== undefined && later.some((rule) => rule.decision !== 'allow')) {
    return { decision: 'ask', reason: problem, mayBeDenied: denies };
  }
  if (whole >= 0)
    return strictest([said(rules[whole]!), ...each.filter((one) => one !== undefined)]);
  if (worst?.decision !== 'allow') return worst;
  return { decision: 'ask', reason: problem ?? `the command writes ${writes.join(', ')}` };
}

function commandVerdict(
  latestFirst: readonly ShellRule[],
  command: SimpleCommand,
): Ruled | undefined {
  for (const { rule, pattern } of latestFirst) {
    if (rule.pattern === undefined) return said(rule);
    if (rule.decision === 'allow') {
      if (pattern && covers(pattern, command)) return said(rule);
      continue;
    }
    const concern = pattern ? concerns(pattern, command) : 'maybe';
    if (concern === 'yes') return said(rule);
    if (concern === 'maybe') {
      const reason = `the command may match this rule: ${said(rule).reason}`;
      return { decision: 'ask', reason, mayBeDenied: rule.decision === 'deny' };
    }
  }
  return undefined;
}

// Rules for paths, hosts and other calls

/** A file, host or helper that a call uses, with every name that a pattern may match. */
interface Target {
  readonly names: readonly string[];
  /** Compiles a pattern. Returns undefined if the pattern is invalid. */
  readonly matcher: (pattern: string) => ((name: string) => boolean) | undefined;
}

function verdict(rules: readonly PolicyRule[], targets: readonly Target[]): Verdict | undefined {
  if (targets.length === 0) {
    // The call has no file or host that a pattern could match. To be safe, a rule with a pattern never allows such a
    // call, but asks or denies as if it matched.
    const rule = rules.findLast((one) => one.pattern === undefined || one.decision !== 'allow');
    return rule && said(rule);
  }
  return strictest(
    targets.map(({ names, matcher }) => {
      const rule = rules.findLast(({ pattern, decision }) => {
        if (pattern === undefined) return true;
        const fits = matcher(pattern);
        if (!fits) return decision !== 'allow';
        return decision === 'allow' ? names.every(fits) : names.some(fits);
      });
      return rule && said(rule);
    }),
  );
}

function targetsOf(
  root: string,
  tool: Subject,
  args: JsonObject,
  preview: Preview | undefined,
  files: readonly string[],
): Target[] {
  if (tool.name === FETCH_TOOL) {
    const host = hostOf(args);
    const matcher = (pattern: string) => nameMatcher(pattern.toLowerCase());
    return host === undefined ? [] : [{ names: [host], matcher }];
  }
  if (tool.name === TASK_TOOL) return [{ names: [helperIn(args)], matcher: nameMatcher }];
  const paths = preview?.kind === 'edit' ? preview.diffs.map((diff) => diff.file_path) : [];
  if (typeof args['path'] === 'string') paths.push(args['path']);
  else if (FOLDER_TOOLS.has(tool.name)) paths.push('.');
  paths.push(...files);
  return paths.map((file) => ({ names: namesOf(root, file), matcher: pathMatcher }));
}

/** Returns the command line of a shell call. */
export function commandOf({ command }: JsonObject): string {
  return typeof command === 'string' ? command : '';
}

/** Returns the host of a `fetch_url` call, or undefined if its URL is not valid or has no host. */
export function hostOf({ url }: JsonObject): string | undefined {
  if (typeof url !== 'string') return undefined;
  return URL.parse(url)?.hostname.toLowerCase().replace(/\.$/, '') || undefined;
}

/** Returns the name of the helper in a `task` call. A call without a name starts the default helper. */
export function helperIn({ helper }: JsonObject): string {
  return typeof helper === 'string' ? helper : DEFAULT_HELPER;
}

function nameMatcher(pattern: string): (name: string) => boolean {
  return (name) => matchesName(pattern, name);
}

function pathMatcher(pattern: string): ((file: string) => boolean) | undefined {
  try {
    return compileGlob(pattern, { anchored: true });
  } catch (error) {
    if (error instanceof FileError) return undefined;
    throw error;
  }
}

/**
 * Returns the path as it was given, and the path with symbolic links resolved if it differs. Both are relative to the
 * workspace, or absolute if they are outside it.
 */
function namesOf(root: string, file: string): string[] {
  const written = path.resolve(root, file);
  return [...new Set([relative(root, written), relative(realPath(root), realPath(written))])];
}

/** Returns the path relative to the root if it is inside the root, or else the absolute path. */
export function relative(root: string, file: string): string {
  const shown = isInside(root, file) ? path.relative(root, file) || '.' : file;
  return shown.replaceAll(path.sep, '/');
}

/** Returns the path with symbolic links resolved. Parts of the path that do not exist stay as they are. */
function realPath(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(realPath(parent), path.basename(file));
  }
}
