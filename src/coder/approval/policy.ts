/**
 * Decides whether a call is allowed, needs a person's approval, or is denied.
 *
 * The last rule that matches decides. If no rule matches, the mode decides. Two modes override rules. In plan mode,
 * only calls with the effects `read` and `talk` are allowed, even if a rule allows other calls. In yolo mode, all calls
 * are allowed, with two exceptions. A call that a rule denies is denied. A call needs approval if it is uncertain
 * whether a rule denies it. Built-in rules come first, then the rules of the settings. The permissions that people add
 * with "Always allow" are weaker than rules (verdict.ts).
 *
 * The meaning of a rule's pattern depends on the tool. For the shell, the pattern is the first words of a command
 * (shell/command-pattern.ts). For tools with paths, it is a glob relative to the workspace. For `fetch_url`, it is a
 * host. For `task`, it is the name of a helper. Each part of a call, such as a command of a line or a file of a patch,
 * gets its own decision. The strictest decision counts: `deny` is the strictest, then `ask`, then no rule, then
 * `allow`. So rules allow a call if they allow each of its parts. If a part has no rule, and no rule asks about or
 * denies another part, the mode decides. A rule with a pattern never allows a command line that cannot be parsed, or
 * whose redirections write files or read files outside the workspace.
 */
import { realpathSync } from 'node:fs';
import { trimEndOf, wordIssue, type JsonObject } from '../../base/index.ts';
import path from 'node:path';
import { FileError } from '../files/file-error.ts';
import { compileGlob, isLiteralName, isLiteralPath, matchesName } from '../files/glob-pattern.ts';
import { comparable, isInside } from '../files/path-rules.ts';
import { parsePattern } from '../shell/command-pattern.ts';
import type { Effect, Preview } from '../tools/tool.ts';
import { hostPattern } from './host-pattern.ts';
import { PolicyRule, type ApprovalMode } from './rule.ts';
import { shellVerdict } from './shell-verdict.ts';
import {
  answerTo,
  partVerdict,
  strictest,
  type Applicable,
  type Ruled,
  type Verdict,
} from './verdict.ts';

export type { Verdict };

export const SHELL_TOOL = 'run_shell_command';
const READ_TOOL = 'read_file';
/** Tools that list or search a folder, by default the root of the workspace. */
const FOLDER_TOOLS: ReadonlySet<string> = new Set(['list_directory', 'glob', 'search']);
export const FETCH_TOOL = 'fetch_url';
export const SEARCH_TOOL = 'web_search';
export const TASK_TOOL = 'task';
/** The name of the default helper, which has no definition file. */
export const DEFAULT_HELPER = 'helper';

export interface Policy {
  /**
   * Decides if no rule matches. The modes `yolo` and `plan` also override rules. `ask`: calls with the effects `read`
   * and `talk` and commands that only read are allowed. Other calls need approval. `auto-edit`: edits are allowed too.
   * `yolo`: all calls are allowed, except calls that a rule denies, and calls for which it is uncertain whether a rule
   * denies them. `plan`: only calls with the effects `read` and `talk` are allowed. Other calls are denied, even if a
   * rule allows them.
   */
  readonly mode: ApprovalMode;
  /** The root folder of the workspace. */
  readonly root: string;
  /** The built-in rules and the rules that people have written, in their order. */
  readonly rules: readonly PolicyRule[];
  /** The permissions that people have added with "Always allow", in any order. */
  readonly grants: readonly PolicyRule[];
}

/** The tool that is called. */
export interface Subject {
  readonly name: string;
  /** For a tool of an MCP server: `SERVER__TOOL`, with the names as the settings and the server write them. */
  readonly fullName?: string;
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
 * Edits in these folders need approval even in auto-edit mode. A later rule can allow them. Such edits could change
 * Parley's own settings, or programs that run later.
 */
const BUILT_IN: readonly PolicyRule[] = ['write_file', 'edit', 'apply_patch'].flatMap((tool) =>
  ['**/.git/**', '**/.parley/**'].map((pattern) => ({ tool, pattern, decision: 'ask' as const })),
);

/**
 * Returns the rules and the permissions of a policy. `settings` are the rules of the user and, if the workspace is
 * trusted, the rules of the workspace. `session` are the permissions of the session. A rule of the settings that allows
 * something in one workspace is a permission too, because "Always allow" saves such rules.
 */
export function rulesFrom(
  settings: readonly PolicyRule[] = [],
  session: readonly PolicyRule[] = [],
): Pick<Policy, 'rules' | 'grants'> {
  const isGrant = ({ decision, workspace }: PolicyRule): boolean =>
    decision === 'allow' && workspace !== undefined;
  return {
    rules: [...BUILT_IN, ...settings.filter((rule) => !isGrant(rule))],
    grants: [...settings.filter(isGrant), ...session],
  };
}

/** Returns an error message if the value is not a valid rule, or undefined if it is one. */
export function ruleProblem(value: unknown): string | undefined {
  const { data, error } = PolicyRule.safeParse(value);
  return data ? problemOf(data) : error?.issues.map(wordIssue).join('; ');
}

/** Returns an error message if the rule has no effect, or undefined if it is valid. */
export function problemOf({ tool, pattern }: PolicyRule): string | undefined {
  if (!/__|[*?]/.test(tool) && !TOOLS.has(tool)) {
    return `unknown tool "${tool}"; use one of ${[...TOOLS].join(', ')}, or a tool of an MCP server as "SERVER__TOOL"`;
  }
  if (pattern === undefined || tool === TASK_TOOL) return undefined;
  if (tool === FETCH_TOOL) {
    if (hostPattern(pattern) !== undefined) return undefined;
    return `"${pattern}" is not a host; use a pattern like "example.com" or "*.example.com", without scheme, port and path`;
  }
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
  const applicable = applicableTo(policy, tool, preview);
  if (tool.name === SHELL_TOOL) {
    const ruled = shellVerdict(applicable, commandOf(args), policy.root);
    if (!ruled && readsOnly && asksForCommands(policy)) return READS_ONLY;
    return inMode(policy.mode, tool, ruled);
  }
  const targets = targetsOf(policy.root, tool, args, preview, files);
  const own = verdict(applicable, targets);
  const reading = readingVerdict(policy, tool, targets);
  return inMode(policy.mode, tool, reading ? strictest([reading, own]) : own);
}

/**
 * Returns whether a call that edits `files` needs approval, because a rule requires approval to read one of these
 * files. The model must not see an error of such a call before a person agrees.
 */
export function asksToRead(
  policy: Policy,
  tool: Subject,
  args: JsonObject,
  files: readonly string[],
): boolean {
  const targets = targetsOf(policy.root, tool, args, undefined, files);
  return policy.mode !== 'yolo' && readingVerdict(policy, tool, targets)?.decision === 'ask';
}

/**
 * Returns the decision of the rules for `read_file` about a call that edits files, if this decision is `deny` or `ask`.
 * These rules apply because an error of the edit could quote the old content. They do not apply to `write_file`.
 */
function readingVerdict(
  policy: Policy,
  tool: Subject,
  targets: readonly Target[],
): Ruled | undefined {
  if (tool.effect !== 'edit' || tool.name === 'write_file') return undefined;
  const ruled = verdict(readingRules(policy, tool), targets);
  return ruled?.decision === 'allow' ? undefined : ruled;
}

/** Returns the rules and permissions that apply to the tool in this workspace. */
function applicableTo(
  { rules, grants, root }: Policy,
  { name, fullName = name }: Pick<Subject, 'name' | 'fullName'>,
  preview?: Preview,
): Applicable {
  const names = [name, fullName];
  const applies = (rule: PolicyRule): boolean =>
    countsIn(rule, root) && isAbout(rule, names, preview);
  return { names, rules: rules.filter(applies), grants: grants.filter(applies) };
}

/**
 * Returns the rules that decide which files a call of this tool may show to the model. These are the rules for
 * `read_file`. Some of them, such as a rule for `*`, apply to both `read_file` and this tool. If such a rule asks, a
 * permission for this tool can answer it.
 */
function readingRules(policy: Policy, tool: Subject): Applicable {
  const reading = applicableTo(policy, { name: READ_TOOL });
  return { ...reading, grants: [...reading.grants, ...applicableTo(policy, tool).grants] };
}

/**
 * Returns a filter for the files and folders that the result of a tool may contain. The filter takes a real path. The
 * rules for the tool and the rules for `read_file` apply. Returns undefined if the result may contain all files, or if
 * the tool's effect is not `read`. `answered` determines which rules with the decision `ask` count as `allow`:
 *
 * - `none`: no rule.
 * - `tool`: the rules that apply to the tool, because a person has approved the call. Rules that apply only to
 *   `read_file` still ask, because the person was not asked about these files.
 * - `all`: all rules that ask, because a person who may approve calls has named the file or folder.
 */
export function resultFilter(
  policy: Policy,
  tool: Subject,
  answered: 'none' | 'tool' | 'all',
): ((file: string) => boolean) | undefined {
  if (tool.effect !== 'read') return undefined;
  const asks = policy.mode !== 'yolo';
  const own = applicableTo(policy, tool);
  const isAnswered = (rule: PolicyRule): boolean =>
    answered === 'all' || (answered === 'tool' && own.rules.includes(rule));
  const withAnswers = (applicable: Applicable): Applicable => ({
    ...applicable,
    rules: applicable.rules.map((rule) =>
      rule.decision === 'ask' && isAnswered(rule) ? { ...rule, decision: 'allow' } : rule,
    ),
  });
  const lists = [withAnswers(own), withAnswers(readingRules(policy, tool))].filter((applicable) =>
    applicable.rules.some(
      (rule) =>
        rule.decision === 'deny' ||
        (asks && rule.decision === 'ask' && !answerTo(rule, applicable, isWhole, () => false)),
    ),
  );
  if (lists.length === 0) return undefined;
  const root = realPath(policy.root);
  const kind = { ...FILES, matcher: remembered(FILES.matcher) };
  return (file) =>
    lists.every((applicable) => {
      const ruled = verdict(applicable, [{ kind, names: [relative(root, file)] }]);
      return ruled?.decision === 'ask' ? !asks : ruled?.decision !== 'deny';
    });
}

/**
 * Returns a filter for the files that the model may get without approval, according to the rules for `read_file`. The
 * filter takes a real path. Returns undefined if the rules allow all files.
 */
export function fileFilter(policy: Policy): ((file: string) => boolean) | undefined {
  return resultFilter(policy, { name: READ_TOOL, effect: 'read' }, 'none');
}

/**
 * Returns a filter for the files and folders that each of the tools `read_file`, `list_directory`, `glob` and `search`
 * may read without approval. The filter takes a real path. Returns undefined if these tools may read all files.
 */
export function readFilter(policy: Policy): ((file: string) => boolean) | undefined {
  const filters = [READ_TOOL, ...FOLDER_TOOLS]
    .map((name) => resultFilter(policy, { name, effect: 'read' }, 'none'))
    .filter((filter) => filter !== undefined);
  return filters.length === 0 ? undefined : (file) => filters.every((shows) => shows(file));
}

/** The decision about a command that only reads. */
export const READS_ONLY: Verdict = {
  decision: 'allow',
  reason: 'the command only reads files of the workspace',
};

/** Returns whether this mode requires approval for commands that do more than read and that no rule allows. */
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

/**
 * Returns whether the rule applies in this workspace. A saved rule applies only in the workspace where it was added,
 * because `./build.sh` is a different program in another workspace.
 */
function countsIn({ workspace }: PolicyRule, root: string): boolean {
  return workspace === undefined || workspace === root;
}

function isAbout(
  rule: PolicyRule,
  names: readonly string[],
  preview: Preview | undefined,
): boolean {
  // A rule that allows `a__*` matches the tools of the server `a`, but not the tools of a server with the name `a__b`.
  const server = /^([^*?]+)__\*$/.exec(rule.tool)?.[1];
  if (rule.decision === 'allow' && server !== undefined && preview?.kind === 'mcp') {
    return preview.server === server;
  }
  return names.some((name) => matchesName(rule.tool, name));
}

// Rules for paths, hosts and other calls

/** How patterns match the names of one kind of target. */
interface TargetKind {
  /** Compiles a pattern. Returns undefined if the pattern is invalid. */
  readonly matcher: (pattern: string) => ((name: string) => boolean) | undefined;
  /** Returns whether the pattern matches only one name. */
  readonly isLiteral: (pattern: string) => boolean;
}

/** A file, host or helper that a call uses, with every name that a pattern may match. */
interface Target {
  readonly kind: TargetKind;
  readonly names: readonly string[];
}

const FILES: TargetKind = { matcher: pathMatcher, isLiteral: isLiteralPath };
const HELPERS: TargetKind = { matcher: nameMatcher, isLiteral: isLiteralName };
const HOSTS: TargetKind = {
  matcher: (pattern) => nameMatcher(hostPattern(pattern) ?? pattern),
  isLiteral: isLiteralName,
};

function verdict(applicable: Applicable, targets: readonly Target[]): Verdict | undefined {
  if (targets.length === 0) {
    // The call has no file or host that a pattern could match. To be safe, a rule with a pattern never allows such a
    // call. If such a rule asks or denies, it counts as matching.
    const matches = (rule: PolicyRule): boolean => isWhole(rule) || rule.decision !== 'allow';
    return partVerdict(applicable, matches, () => false);
  }
  return strictest(
    targets.map((target) =>
      partVerdict(
        applicable,
        (rule) => matchesTarget(rule, target),
        (grant, rule) => grant === rule || target.kind.isLiteral(grant),
      ),
    ),
  );
}

function isWhole({ pattern }: PolicyRule): boolean {
  return pattern === undefined;
}

function matchesTarget(rule: PolicyRule, { names, kind }: Target): boolean {
  if (rule.pattern === undefined) return true;
  const fits = kind.matcher(rule.pattern);
  if (!fits) return rule.decision !== 'allow';
  if (rule.decision === 'allow') return names.every(fits);
  return names.some((name) => fits(name) || (BUILT_IN.includes(rule) && fits(comparable(name))));
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
    return host === undefined ? [] : [{ kind: HOSTS, names: [host] }];
  }
  if (tool.name === TASK_TOOL) return [{ kind: HELPERS, names: [helperIn(args)] }];
  const paths = preview?.kind === 'edit' ? preview.diffs.map((diff) => diff.file_path) : [];
  if (typeof args['path'] === 'string') paths.push(args['path']);
  else if (FOLDER_TOOLS.has(tool.name)) paths.push('.');
  paths.push(...files);
  return paths.map((file) => ({ kind: FILES, names: namesOf(root, file) }));
}

/** Returns the command line of a shell call. */
export function commandOf({ command }: JsonObject): string {
  return typeof command === 'string' ? command : '';
}

/** Returns the host of a `fetch_url` call, or undefined if its URL is not valid or has no host. */
export function hostOf({ url }: JsonObject): string | undefined {
  if (typeof url !== 'string') return undefined;
  return trimEndOf(URL.parse(url)?.hostname.toLowerCase() ?? '', '.') || undefined;
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

/** Returns the function with a cache, because one result may contain many files. */
function remembered<T>(make: (pattern: string) => T): (pattern: string) => T {
  const made = new Map<string, T>();
  return (pattern) => {
    const known = made.get(pattern);
    if (known !== undefined) return known;
    const value = make(pattern);
    made.set(pattern, value);
    return value;
  };
}

/**
 * Returns the path as it was given and, if it differs, the path with symbolic links resolved. Both are relative to the
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
