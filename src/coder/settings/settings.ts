/**
 * The settings in force: the user's (`settings.json` in the configuration folder), then the workspace's
 * (`.parley/settings.json`), which count only when the user has trusted the workspace.
 *
 * What the workspace says wins, field by field; MCP servers and limits are merged by name. Its policy rules come
 * behind the user's, and of those that match a call the last one decides.
 */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import type * as z from 'zod';
import { JsoncError, parseJsonc, problemsIn, systemCode } from '../../base/index.ts';
import { inTurn } from '../files/queue.ts';
import { isThere, readBounded } from '../files/read-bounded.ts';
import { problemOf } from '../approval/policy.ts';
import { writePrivate } from '../files/config-folder.ts';
import type { PolicyRule } from '../approval/rule.ts';
import { Settings } from './schema.ts';

const MAX_FILE_BYTES = 1024 * 1024;

/** A file of settings that cannot be used. The message names the file, the line and the field. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly file: string;
  readonly line: number | undefined;
  readonly field: string | undefined;

  constructor(
    file: string,
    problem: string,
    where: { readonly line?: number; readonly field?: string; readonly cause?: unknown } = {},
  ) {
    const place = where.line === undefined ? file : `${file}:${where.line}`;
    super(`${place}: ${where.field ? `${where.field}: ` : ''}${problem}`, { cause: where.cause });
    this.file = file;
    this.line = where.line;
    this.field = where.field;
  }
}

export interface LoadedSettings {
  readonly settings: Settings;
  /** The files that they came from. */
  readonly files: readonly string[];
  /** The workspace has settings or commands, here, and they do not count: it is not trusted. */
  readonly untrusted?: string;
}

export function userSettingsFile(configFolder: string): string {
  return path.join(configFolder, 'settings.json');
}

export function workspaceSettingsFile(workspace: string): string {
  return path.join(workspace, '.parley', 'settings.json');
}

export function workspaceCommandsFolder(workspace: string): string {
  return path.join(workspace, '.parley', 'commands');
}

/** Reads and merges. Throws a SettingsError for a file that is there and wrong. */
export async function loadSettings(options: {
  readonly configFolder: string;
  readonly workspace?: string;
  readonly trusted: boolean;
}): Promise<LoadedSettings> {
  const { configFolder, workspace, trusted } = options;
  const userFile = userSettingsFile(configFolder);
  const user = await readText(userFile);
  const files = user === undefined ? [] : [userFile];
  const settings = user === undefined ? {} : parseSettings(userFile, user);
  if (workspace === undefined) return { settings, files };

  const file = workspaceSettingsFile(workspace);
  // Nothing of an untrusted workspace is read, so nothing in it can stop us.
  if (!trusted) {
    const own = [file, workspaceCommandsFolder(workspace)];
    const there = await Promise.all(own.map(isThere));
    const untrusted = own.find((_, at) => there[at]);
    return { settings, files, ...(untrusted !== undefined && { untrusted }) };
  }
  const text = await readText(file, await realpath(workspace));
  if (text === undefined) return { settings, files };
  return {
    settings: mergeSettings(settings, parseSettings(file, text)),
    files: [...files, file],
  };
}

/** `over` wins. */
export function mergeSettings(under: Settings, over: Settings): Settings {
  const merged: Settings = { ...under, ...over };
  if (under.policy && over.policy) merged.policy = [...under.policy, ...over.policy];
  if (under.mcpServers && over.mcpServers) {
    merged.mcpServers = { ...under.mcpServers, ...over.mcpServers };
  }
  if (under.limits && over.limits) merged.limits = { ...under.limits, ...over.limits };
  return merged;
}

/** Reads a text with a schema; `file` is for the messages. */
export function parseSettings(file: string, text: string): Settings {
  return readWith(file, text, Checked);
}

/** With rules that mean something: one that does not would be a hole that nobody sees. */
const Checked = Settings.check(({ value: { policy = [] }, issues }) => {
  for (const [at, rule] of policy.entries()) {
    const message = problemOf(rule);
    if (message !== undefined) {
      issues.push({ code: 'custom', input: rule, path: ['policy', at], message });
    }
  }
});

/** Reads JSON with comments; what is wrong is named with its line and field. */
export function readWith<T>(file: string, text: string, schema: z.ZodType<T>): T {
  const json = parsed(file, text);
  const result = schema.safeParse(json.value);
  if (result.success) return result.data;
  const { problem, line, field } = problemsIn(json, result.error)[0]!;
  throw new SettingsError(file, problem, { line, field });
}

/**
 * Adds a rule to the user's settings, behind all others. The rest of the file stays as it is, comments included. A rule
 * that is the last one already is not added again.
 */
export async function saveRule(configFolder: string, rule: PolicyRule): Promise<void> {
  const file = userSettingsFile(configFolder);
  await inTurn([file], () => addRule(file, rule));
}

async function addRule(file: string, rule: PolicyRule): Promise<void> {
  const text = await readText(file);
  if (text === undefined || text.trim() === '') {
    await writePrivate(file, `${JSON.stringify({ policy: [rule] }, null, 2)}\n`);
    return;
  }
  const { policy } = parseSettings(file, text);
  if (policy && JSON.stringify(policy.at(-1)) === JSON.stringify(rule)) return;
  const changed = policy
    ? appended(file, text, ['policy'], JSON.stringify(rule), '    ')
    : appended(file, text, [], `"policy": [\n    ${JSON.stringify(rule)}\n  ]`, '  ');
  parseSettings(file, changed);
  await writePrivate(file, changed);
}

/** The text with one more member at the end of the object or list at `at`. */
function appended(
  file: string,
  text: string,
  at: readonly string[],
  member: string,
  indent: string,
): string {
  const json = parsed(file, text);
  const { start, end } = json.spanOf(at);
  const last = lastMember(json.value, at);
  const place = last === undefined ? start + 1 : json.spanOf(last).end;
  // Blanks and comments, and perhaps a comma. Comments stay beside what they are about.
  const rest = text.slice(place, end - 1);
  const hasComma = rest.replaceAll(/\/\/[^\n]*|\/\*[^]*?\*\//g, '').includes(',');
  const head = `${text.slice(0, place)}${last === undefined || hasComma ? '' : ','}${rest.trimEnd()}`;
  return `${head}\n${indent}${member}\n${indent.slice(2)}${text.slice(end - 1)}`;
}

function lastMember(value: unknown, at: readonly string[]): readonly PropertyKey[] | undefined {
  let holder: unknown = value;
  for (const key of at) holder = (holder as Record<string, unknown>)[key];
  const key = Array.isArray(holder) ? holder.length - 1 : Object.keys(holder as object).at(-1);
  return key === undefined || key === -1 ? undefined : [...at, key];
}

function parsed(file: string, text: string) {
  try {
    return parseJsonc(text);
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new SettingsError(file, error.message, { line: error.line, cause: error });
  }
}

/** Undefined when there is no such file. With `within`, links must not lead out of that folder. */
export async function readText(file: string, within?: string): Promise<string | undefined> {
  try {
    const read = await readBounded(file, MAX_FILE_BYTES, {
      ...(within !== undefined && { within }),
    });
    if (read.size > MAX_FILE_BYTES) {
      throw new SettingsError(file, `the file is larger than ${MAX_FILE_BYTES} bytes`);
    }
    return read.bytes.toString('utf8');
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (error instanceof SettingsError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingsError(file, `cannot be read (${code ?? reason})`, { cause: error });
  }
}
