/**
 * Loads and merges settings. The user's settings are in `settings.json` in the configuration folder. The workspace's
 * settings are in `.parley/settings.json`, and are used only if the user trusts the workspace.
 *
 * A field of the workspace's settings overrides the same field of the user's settings, with these exceptions. MCP
 * servers, limits and providers are merged by name. If the user and the workspace have a provider with the same name,
 * the user's provider is used. The workspace's policy rules and hooks come after the user's rules and hooks. The last
 * rule that matches a call decides. In a workspace, `notify` is ignored, and `webSearch` cannot be turned on if the user
 * has turned it off.
 */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { applyEdits, modify } from 'jsonc-parser';
import type * as z from 'zod';
import { isLocalServer } from '../../agent/providers/index.ts';
import { isObject, reasonOf, systemCode } from '../../base/index.ts';
import { writePrivateFile } from '../../base/files/index.ts';
import { JsoncError, parseJsonc, problemsIn, type Jsonc } from '../../base/jsonc/index.ts';
import { exclusively } from '../files/exclusive.ts';
import { FileError } from '../files/file-error.ts';
import { OWN_FOLDERS, workspaceOwnFolder } from '../files/own-files.ts';
import { isThere, readBounded } from '../files/read-bounded.ts';
import { problemOf, ruleProblem } from '../approval/policy.ts';
import type { PolicyRule } from '../approval/rule.ts';
import { Settings } from './schema.ts';

const MAX_FILE_BYTES = 1024 * 1024;
const HOOK_EVENTS = ['beforeTool', 'afterTool', 'afterTurn'] as const;
const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2 } };

/**
 * Thrown if a settings file is invalid or cannot be read. The message contains the file, and also the line and the
 * field if they are known.
 */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(
    file: string,
    problem: string,
    where: { readonly line?: number; readonly field?: string; readonly cause?: unknown } = {},
  ) {
    const place = where.line === undefined ? file : `${file}:${where.line}`;
    super(`${place}: ${where.field ? `${where.field}: ` : ''}${problem}`, { cause: where.cause });
  }
}

export interface LoadedSettings {
  readonly settings: Settings;
  /**
   * The number of rules in `settings.policy` that come from the user's settings. They precede the workspace's rules.
   */
  readonly userRules: number;
  /** The files that the settings came from. */
  readonly files: readonly string[];
  /** One line for each saved permission that is not valid and was ignored. */
  readonly ignored: readonly string[];
  /**
   * The first path that was ignored because the workspace is not trusted: the settings file, or the folder of commands,
   * helpers or skills. Undefined if nothing was ignored.
   */
  readonly untrusted?: string;
}

export function userSettingsFile(configFolder: string): string {
  return path.join(configFolder, 'settings.json');
}

export function workspaceSettingsFile(workspace: string): string {
  return path.join(workspace, '.parley', 'settings.json');
}

/** Reads and merges all settings. Throws a SettingsError if a file exists but is invalid or cannot be read. */
export async function loadSettings(options: {
  readonly configFolder: string;
  readonly workspace?: string;
  readonly trusted: boolean;
}): Promise<LoadedSettings> {
  const { configFolder, workspace, trusted } = options;
  const userFile = userSettingsFile(configFolder);
  const user = await readSettings(userFile);
  const files = user ? [userFile] : [];
  const settings = user?.settings ?? {};
  const { ignored = [] } = user ?? {};
  const found = { settings, userRules: settings.policy?.length ?? 0, files, ignored };
  if (workspace === undefined) return found;

  const file = workspaceSettingsFile(workspace);
  // These files of an untrusted workspace are not read, so they cannot cause an error.
  if (!trusted) {
    const own = [file, ...OWN_FOLDERS.map((folder) => workspaceOwnFolder(workspace, folder))];
    const there = await Promise.all(own.map(isThere));
    const untrusted = own.find((_, at) => there[at]);
    return { ...found, ...(untrusted !== undefined && { untrusted }) };
  }
  const real = workspaceSettingsFile(await realpath(workspace));
  const own = await readSettings(file, path.dirname(real));
  if (!own) return found;
  refuseKeys(file, own.settings);
  return {
    ...found,
    settings: mergeSettings(settings, own.settings),
    files: [...files, file],
    ignored: [...ignored, ...own.ignored],
  };
}

/**
 * Throws if the settings of a workspace have a provider with a key, or change a known local server such as `ollama`. A
 * repository must not choose where a key is sent, even if the user trusts the repository.
 */
function refuseKeys(file: string, { providers = {} }: Settings): void {
  for (const [name, { apiKeyVariable }] of Object.entries(providers)) {
    const problem = isLocalServer(name)
      ? 'a workspace cannot change this provider; use another name'
      : apiKeyVariable === undefined
        ? undefined
        : 'a workspace cannot use a key; move this provider to your own settings';
    if (problem !== undefined)
      throw new SettingsError(file, problem, { field: `providers.${name}` });
  }
}

/** Merges the user's settings (`under`) and the workspace's settings (`over`) by the rules at the top of this file. */
export function mergeSettings(under: Settings, over: Settings): Settings {
  // A repository must not choose where notifications are sent.
  const { notify: _, ...allowed } = over;
  const merged: Settings = { ...under, ...allowed };
  if (under.policy && over.policy) merged.policy = [...under.policy, ...over.policy];
  if (over.mcpServers) merged.mcpServers = { ...under.mcpServers, ...over.mcpServers };
  if (under.hooks && over.hooks) {
    // The workspace's hooks run after the user's hooks and cannot replace them.
    merged.hooks = { ...under.hooks };
    for (const event of HOOK_EVENTS) {
      const added = over.hooks[event];
      if (added) merged.hooks[event] = [...(under.hooks[event] ?? []), ...added];
    }
  }
  // The user's providers may have keys, so a workspace cannot replace them.
  if (over.providers) merged.providers = { ...over.providers, ...under.providers };
  if (under.webSearch === false) merged.webSearch = false;
  if (under.limits && over.limits) merged.limits = { ...under.limits, ...over.limits };
  return merged;
}

/** Reads a settings file. Returns undefined if it does not exist. `within` is described at `readText`. */
async function readSettings(file: string, within?: string): Promise<ParsedSettings | undefined> {
  const text = await readText(file, within);
  return text === undefined ? undefined : parseSettings(file, text);
}

interface ParsedSettings {
  readonly settings: Settings;
  /** For each rule in `settings.policy`, its index in the policy of the file. */
  readonly places: readonly number[];
  /** One line for each ignored permission. */
  readonly ignored: readonly string[];
}

/** A permission that applies nowhere. It replaces an invalid permission, so that the other rules keep their indexes. */
const NO_PERMISSION: PolicyRule = { tool: '*', decision: 'allow', workspace: '' };

/**
 * Parses the text of a settings file. `file` is used in error messages. An invalid permission is ignored and does not
 * stop the program, because an earlier version may have saved it for "Always allow". Any other invalid rule is an
 * error, because it may be meant to deny something.
 */
export function parseSettings(file: string, text: string): ParsedSettings {
  const json = parsed(file, text);
  const { value } = json;
  const ignored: string[] = [];
  const places: number[] = [];
  const validOr = (rule: unknown, at: number): unknown => {
    const problem = isPermission(rule) ? ruleProblem(rule) : undefined;
    if (problem === undefined) {
      places.push(at);
      return rule;
    }
    const line = json.lineOf(['policy', at]);
    ignored.push(`${file}:${line}: policy.${at}: this permission is ignored: ${problem}`);
    return NO_PERMISSION;
  };
  const given =
    isObject(value) && Array.isArray(value['policy'])
      ? { ...value, policy: value['policy'].map(validOr) }
      : value;
  const settings = checked(file, { ...json, value: given }, Checked);
  const { policy } = settings;
  if (!policy) return { settings, places, ignored };
  const kept = policy.filter((_, at) => places.includes(at));
  return { settings: { ...settings, policy: kept }, places, ignored };
}

/** Returns whether the rule of a settings file has the form of a permission. */
function isPermission(rule: unknown): boolean {
  return isObject(rule) && rule['decision'] === 'allow' && typeof rule['workspace'] === 'string';
}

/**
 * The schema of the settings. It also refuses policy rules and hooks that name an unknown tool, and policy rules with
 * an invalid pattern, because such rules and hooks would have no effect.
 */
const Checked = Settings.check(({ value: { policy = [], hooks }, issues }) => {
  for (const event of ['beforeTool', 'afterTool'] as const) {
    for (const [at, { tool = '*' }] of (hooks?.[event] ?? []).entries()) {
      const message = problemOf({ tool, decision: 'ask' });
      if (message !== undefined) {
        issues.push({ code: 'custom', input: tool, path: ['hooks', event, at, 'tool'], message });
      }
    }
  }
  for (const [at, rule] of policy.entries()) {
    const message = problemOf(rule);
    if (message !== undefined) {
      issues.push({ code: 'custom', input: rule, path: ['policy', at], message });
    }
  }
});

/**
 * Parses JSON with comments and checks it with the schema. An error message contains the line and the field if they are
 * known.
 */
export function readWith<T>(file: string, text: string, schema: z.ZodType<T>): T {
  return checked(file, parsed(file, text), schema);
}

function checked<T>(file: string, json: Jsonc, schema: z.ZodType<T>): T {
  const result = schema.safeParse(json.value);
  if (result.success) return result.data;
  const { problem, line, field } = problemsIn(json, result.error)[0]!;
  throw new SettingsError(file, problem, { line, field });
}

/**
 * Adds a rule at the end of the user's policy. The rest of the file, including comments, stays as it is. Does nothing
 * if the rule is already the last rule. Throws a SettingsError if the rule is invalid.
 */
export async function saveRule(configFolder: string, rule: PolicyRule): Promise<void> {
  const file = userSettingsFile(configFolder);
  const problem = ruleProblem(rule);
  if (problem !== undefined) throw new SettingsError(file, `the rule cannot be saved: ${problem}`);
  await exclusively(file, async () => {
    const text = await readEditable(file);
    const isEmpty = text.trim() === '';
    const { policy } = isEmpty ? {} : parseSettings(file, text).settings;
    if (policy && JSON.stringify(policy.at(-1)) === JSON.stringify(rule)) return;
    const changed = isEmpty
      ? `${JSON.stringify({ policy: [rule] }, null, 2)}\n`
      : applyEdits(
          text,
          policy
            ? modify(text, ['policy', -1], rule, { ...FORMAT, isArrayInsertion: true })
            : modify(text, ['policy'], [rule], FORMAT),
        );
    parseSettings(file, changed);
    writePrivateFile(file, changed);
  });
}

/**
 * Returns the text of a file, or an empty text if the file does not exist. Removes a byte order mark, because the
 * editing functions do not accept it.
 */
async function readEditable(file: string): Promise<string> {
  return (await readText(file))?.replace(/^\ufeff/, '') ?? '';
}

/** Returns the rules in the user's settings. */
export async function userRules(configFolder: string): Promise<readonly PolicyRule[]> {
  return (await readSettings(userSettingsFile(configFolder)))?.settings.policy ?? [];
}

/**
 * Removes the rules for which `matches` returns true from the user's policy, and returns them. The rest of the file,
 * including comments, stays as it is. In rare cases, the comments inside the policy are lost (see `withRules`).
 */
export async function removeRules(
  configFolder: string,
  matches: (rule: PolicyRule) => boolean,
): Promise<readonly PolicyRule[]> {
  // If there is nothing to remove, no lock file is created.
  if (!(await userRules(configFolder)).some(matches)) return [];
  const file = userSettingsFile(configFolder);
  return exclusively(file, async () => {
    const text = await readEditable(file);
    if (text.trim() === '') return [];
    const { settings, places } = parseSettings(file, text);
    const { policy = [] } = settings;
    const removed = policy.filter(matches);
    if (removed.length === 0) return [];
    const left = policy.filter((rule) => !matches(rule));
    const gone = places.filter((_, at) => matches(policy[at]!));
    writePrivateFile(file, withRules(file, text, left, gone));
    return removed;
  });
}

/**
 * Returns the text of a settings file without the rules at the indexes `gone` of the policy. `left` are the other valid
 * rules. Invalid permissions stay in the file.
 */
function withRules(
  file: string,
  text: string,
  left: readonly PolicyRule[],
  gone: readonly number[],
): string {
  let changed = text;
  // Rules are removed from the last to the first, so that the places of the other rules stay the same.
  for (const at of gone.toReversed()) {
    changed = applyEdits(changed, modify(changed, ['policy', at], undefined, FORMAT));
  }
  try {
    const result = parseSettings(file, changed).settings.policy ?? [];
    if (JSON.stringify(result) === JSON.stringify(left)) return changed;
  } catch {
    // jsonc-parser removes the last element of an array incorrectly if `]` follows the element directly. In this case,
    // the whole list is replaced below.
  }
  const { value } = parsed(file, text);
  const written: unknown = isObject(value) ? value['policy'] : undefined;
  const kept = Array.isArray(written) ? written.filter((_, at) => !gone.includes(at)) : left;
  return applyEdits(text, modify(text, ['policy'], kept, FORMAT));
}

function parsed(file: string, text: string) {
  try {
    return parseJsonc(text);
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new SettingsError(file, error.message, { line: error.line, cause: error });
  }
}

/**
 * Returns the text of a file, or undefined if the file does not exist. Throws a SettingsError if the file cannot be
 * read or is too large. If `within` is given, symbolic links must not lead out of this folder.
 */
export async function readText(file: string, within?: string): Promise<string | undefined> {
  try {
    const read = await readBounded(file, MAX_FILE_BYTES, { within });
    if (read.size > MAX_FILE_BYTES) {
      throw new SettingsError(file, `the file is larger than ${MAX_FILE_BYTES} bytes`);
    }
    return read.bytes.toString('utf8');
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (error instanceof SettingsError) throw error;
    const reason = error instanceof FileError ? error.message : (code ?? reasonOf(error));
    throw new SettingsError(file, `cannot be read (${reason})`, { cause: error });
  }
}
