/**
 * The environment in which git only reads. A repository can make git run programs in several ways. Environment
 * variables prevent most of these ways: hooks, the file system monitor, pagers, signature checks, fetching missing
 * objects. Variables cannot prevent filters, external diffs, textconv, and programs in the configuration of submodules.
 * Therefore the configuration is read first. If the repository has a setting that is not in HARMLESS, the command needs
 * approval.
 */
import { execFile } from 'node:child_process';
import { lstatSync, readdirSync } from 'node:fs';
import { devNull } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 5000;
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;

/** Settings that take precedence over the settings of the repository and the user. */
const SETTINGS: Readonly<Record<string, string>> = {
  'core.fsmonitor': 'false',
  'core.hooksPath': devNull,
  'core.pager': 'cat',
  'core.untrackedCache': 'false',
  'log.showSignature': 'false',
  'log.diffMerges': 'separate',
  'format.pretty': 'medium',
  'branch.sort': 'refname',
  'diff.autoRefreshIndex': 'false',
  'diff.ignoreSubmodules': 'all',
  'diff.submodule': 'short',
  'status.submoduleSummary': 'false',
  'submodule.recurse': 'false',
  'column.ui': 'never',
};

/**
 * Harmless settings of a repository. With the environment below, they cannot make a git command that only reads run a
 * program or read other files. Git prints the name of a setting in lower case, except for the middle part of the name.
 */
const HARMLESS: readonly RegExp[] = [
  /^core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|longpaths|quotepath|abbrev|compression|hookspath|fsmonitor|pager|editor|sshcommand|untrackedcache|commentchar|sparsecheckout|sparsecheckoutcone|commitgraph|preloadindex)$/,
  /^extensions\.(?:worktreeconfig|objectformat|refstorage|preciousobjects|relativeworktrees)$/,
  /^(?:advice|alias|color|commit|credential|fetch|gc|gui|http|https|init|lfs|maintenance|pager|pull|push|rebase|rerere|tag|user)\./,
  /^merge\.[^.]*$/,
  /^branch\..*\.[^.]+$/s,
  /^remote\..*\.(?:url|pushurl|fetch|push|mirror|prune|prunetags|tagopt|skipfetchall|gh-resolved)$/s,
  /^submodule\..*\.(?:url|active|branch)$/s,
  /^diff\.(?:algorithm|colormoved|colormovedws|context|interhunkcontext|mnemonicprefix|noprefix|renames|renamelimit|wserrorhighlight|tool|guitool)$/,
  /^log\.(?:date|decorate|abbrevcommit|follow)$/,
  /^status\.(?:short|branch|showstash|showuntrackedfiles|aheadbehind|relativepaths|renames)$/,
];
/** Settings of the user and the system that would make git run a program for a file of the repository. */
const RUNS_PROGRAM = /^diff\.(?:external$|.*\.(?:command|textconv)$)/s;
const FILTER = /^(filter\..*)\.(?:clean|smudge|process|required)$/s;

/**
 * Returns the environment for git. Returns undefined if git could run a program, or could read a repository outside the
 * workspace. `comparesFiles` is true if the command compares files of the workspace with the repository. Throws if git
 * fails.
 */
export async function gitEnvironment(
  base: Readonly<Record<string, string>>,
  { root, comparesFiles }: { readonly root: string; readonly comparesFiles: boolean },
): Promise<Record<string, string> | undefined> {
  const repository = path.join(root, '.git');
  if (!isOwnRepository(repository)) return undefined;
  const environment = {
    ...base,
    // With these variables, git does not search for a repository, and neither `commondir` nor `core.worktree` leads
    // elsewhere.
    GIT_DIR: repository,
    GIT_COMMON_DIR: repository,
    GIT_WORK_TREE: root,
    GIT_PAGER: 'cat',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    // The user's settings can name files to which git writes these traces.
    GIT_TRACE2: '0',
    GIT_TRACE2_EVENT: '0',
    GIT_TRACE2_PERF: '0',
    // No protocol has this name, so git cannot connect to anything.
    GIT_ALLOW_PROTOCOL: 'none',
  };
  const before = { ...environment, ...asVariables(SETTINGS) };
  const filters = await filtersIn(root, before);
  if (!filters) return undefined;
  if (comparesFiles && (await hasSubmodules(root, before))) return undefined;
  return { ...environment, ...asVariables({ ...SETTINGS, ...filters }) };
}

function asVariables(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings);
  return {
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(
      entries.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
  };
}

/**
 * Reads the configuration. Returns settings that switch off the filters of the user, for example the filters of
 * git-lfs. Returns undefined if the configuration contains a setting with which git might run a program.
 */
async function filtersIn(
  root: string,
  environment: Readonly<Record<string, string>>,
): Promise<Record<string, string> | undefined> {
  const off: Record<string, string> = {};
  const listed = await git(root, environment, ['config', '--list', '--show-scope', '-z']);
  // The format of each setting: scope, NUL, key, line feed, value, NUL.
  const fields = listed.split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const scope = fields[at]!;
    const [key = ''] = fields[at + 1]!.split('\n', 1);
    if (scope === 'command') continue;
    if (scope !== 'system' && scope !== 'global') {
      if (!HARMLESS.some((pattern) => pattern.test(key))) return undefined;
    } else if (RUNS_PROGRAM.test(key)) return undefined;
    const filter = FILTER.exec(key)?.[1];
    if (filter !== undefined) {
      for (const name of ['clean', 'smudge', 'process']) off[`${filter}.${name}`] = '';
      off[`${filter}.required`] = 'false';
    }
  }
  return off;
}

/** Returns whether the index contains submodules. Git would read the configuration of each of them. */
async function hasSubmodules(
  root: string,
  environment: Readonly<Record<string, string>>,
): Promise<boolean> {
  const listed = await git(root, environment, ['ls-files', '--stage', '-z']);
  return listed.split('\0').some((entry) => entry.startsWith('160000 '));
}

async function git(
  cwd: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<string> {
  const { stdout } = await run('git', [...args], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    killSignal: 'SIGKILL',
  });
  return stdout;
}

/**
 * Returns whether the repository is a folder that refers to no objects elsewhere. A link or the file `alternates` may
 * lead to a repository outside the workspace.
 */
function isOwnRepository(repository: string): boolean {
  if (lstatSync(repository, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  const objects = path.join(repository, 'objects');
  const entries = [repository, objects, path.join(objects, 'pack'), path.join(objects, 'info')]
    .filter((folder) => lstatSync(folder, { throwIfNoEntry: false }))
    .flatMap((folder) => readdirSync(folder, { withFileTypes: true }));
  return !entries.some(
    (entry) => entry.isSymbolicLink() || /^(?:http-)?alternates$/.test(entry.name),
  );
}
