/** Repositories that make git run a program. None of them does so in a command that needs no approval. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openShell } from './shell.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-hostile-'));
const template = path.join(folder, 'template');
const canary = path.join(folder, 'pwned');
/** A program that shows that it was run, and behaves as a filter. */
const evil = path.join(folder, 'evil');
const home = path.join(folder, 'home');
const ENVIRONMENT = {
  PATH: '/usr/bin:/bin',
  HOME: home,
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, {
    cwd,
    env: ENVIRONMENT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

before(() => {
  mkdirSync(home);
  writeFileSync(evil, `#!/bin/sh\n: >'${canary}'\ncat "$@" 2>/dev/null\nexit 0\n`, { mode: 0o755 });
  mkdirSync(template);
  git(template, 'init', '-q', '-b', 'main');
  writeFileSync(path.join(template, 'a.txt'), 'one\n');
  writeFileSync(path.join(template, '.gitattributes'), '*.txt diff=evil filter=evil merge=evil\n');
  git(template, 'add', '.');
  git(template, 'commit', '-qm', 'first');
  // A merge with a conflict, for merge drivers.
  git(template, 'switch', '-qc', 'other');
  writeFileSync(path.join(template, 'a.txt'), 'two\n');
  git(template, 'commit', '-qam', 'second');
  git(template, 'switch', '-q', 'main');
  writeFileSync(path.join(template, 'a.txt'), 'three\n');
  git(template, 'commit', '-qam', 'third');
  git(template, 'merge', '-q', '-s', 'ours', 'other');
  // The file differs from the index, with the same size.
  writeFileSync(path.join(template, 'a.txt'), 'THREE\n');
});
after(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function makeRepository(): string {
  const root = path.join(folder, `repository-${++made}`);
  cpSync(template, root, { recursive: true });
  return root;
}

const LINES = [
  'git status',
  'git diff',
  'git log -p -m',
  'git show',
  'git blame a.txt',
  'git branch --list',
];

interface Attack {
  /** Changes the repository. */
  readonly prepare: (root: string) => void;
  /** A command of the list that runs the program in a normal environment, or undefined if this version of git does not. */
  readonly works: string | undefined;
}

const config =
  (...settings: [string, string][]) =>
  (root: string) => {
    for (const [key, value] of settings) git(root, 'config', key, value);
  };

const ATTACKS: Readonly<Record<string, Attack>> = {
  'a file system monitor': { prepare: config(['core.fsmonitor', evil]), works: 'git status' },
  'textconv of a diff driver': {
    prepare: config(['diff.evil.textconv', evil]),
    works: 'git blame a.txt',
  },
  'the command of a diff driver': {
    prepare: config(['diff.evil.command', evil]),
    works: 'git diff',
  },
  'an external diff': { prepare: config(['diff.external', evil]), works: 'git diff' },
  'a filter': { prepare: config(['filter.evil.clean', evil]), works: 'git status' },
  'a filter that is a process': {
    prepare: config(['filter.evil.process', evil]),
    works: 'git diff',
  },
  'a pager': { prepare: config(['core.pager', evil]), works: undefined },
  'the pager of one command': { prepare: config(['pager.log', evil]), works: undefined },
  'an alias with the name of a command': {
    prepare: config(['alias.status', `!${evil}`], ['alias.log', `!${evil}`]),
    works: undefined,
  },
  'a hook': {
    prepare: (root) => cpSync(evil, path.join(root, '.git/hooks/post-index-change')),
    works: 'git status',
  },
  'a hooks folder': {
    prepare(root) {
      mkdirSync(path.join(root, 'hooks'));
      cpSync(evil, path.join(root, 'hooks/post-index-change'));
      git(root, 'config', 'core.hooksPath', 'hooks');
    },
    works: 'git status',
  },
  'an included file': {
    prepare(root) {
      writeFileSync(path.join(root, 'more'), `[core]\n\tfsmonitor = ${evil}\n`);
      git(root, 'config', 'include.path', '../more');
    },
    works: 'git status',
  },
  'the configuration of a work tree': {
    prepare(root) {
      git(root, 'config', 'extensions.worktreeConfig', 'true');
      git(root, 'config', '--worktree', 'diff.external', evil);
    },
    works: 'git diff',
  },
  'a signature': {
    prepare(root) {
      const signed = git(root, 'cat-file', 'commit', 'HEAD').replace(
        '\n\n',
        '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n aaaa\n -----END PGP SIGNATURE-----\n\n',
      );
      writeFileSync(path.join(root, 'commit'), `${signed}\n`);
      git(root, 'update-ref', 'HEAD', git(root, 'hash-object', '-t', 'commit', '-w', 'commit'));
      config(['log.showSignature', 'true'], ['gpg.program', evil])(root);
    },
    works: 'git show',
  },
  'a merge driver': {
    prepare: config(['merge.evil.driver', evil], ['log.diffMerges', 'remerge']),
    works: 'git log -p -m',
  },
  'a missing object of a partial clone': {
    prepare(root) {
      const blob = git(root, 'rev-parse', 'other:a.txt');
      rmSync(path.join(root, '.git/objects', blob.slice(0, 2), blob.slice(2)));
      config(
        ['core.repositoryFormatVersion', '1'],
        ['extensions.partialClone', 'origin'],
        ['remote.origin.promisor', 'true'],
        ['remote.origin.url', `ext::${evil} %S`],
        ['protocol.ext.allow', 'always'],
      )(root);
    },
    works: 'git log -p -m',
  },
  'a connection over ssh': {
    prepare(root) {
      const blob = git(root, 'rev-parse', 'other:a.txt');
      rmSync(path.join(root, '.git/objects', blob.slice(0, 2), blob.slice(2)));
      config(
        ['core.repositoryFormatVersion', '1'],
        ['extensions.partialClone', 'origin'],
        ['remote.origin.promisor', 'true'],
        ['remote.origin.url', 'ssh://localhost/x'],
        ['core.sshCommand', evil],
      )(root);
    },
    works: 'git log -p -m',
  },
  'a submodule': {
    prepare(root) {
      const sub = path.join(root, 'sub');
      cpSync(template, sub, { recursive: true });
      git(
        root,
        'update-index',
        '--add',
        '--cacheinfo',
        `160000,${git(sub, 'rev-parse', 'HEAD')},sub`,
      );
      writeFileSync(
        path.join(root, '.gitmodules'),
        '[submodule "sub"]\n\tpath = sub\n\turl = ./x\n\tignore = none\n',
      );
      git(sub, 'config', 'filter.evil.clean', evil);
    },
    works: 'git status',
  },
  'a .git file that leads elsewhere': {
    prepare(root) {
      renameSync(path.join(root, '.git'), path.join(root, 'elsewhere'));
      writeFileSync(path.join(root, '.git'), 'gitdir: elsewhere\n');
      git(root, 'config', 'core.fsmonitor', evil);
    },
    works: 'git status',
  },
  'a .git folder that shares the configuration of another one': {
    prepare(root) {
      cpSync(path.join(root, '.git'), path.join(root, 'elsewhere'), { recursive: true });
      git(root, 'config', '--file', 'elsewhere/config', 'core.fsmonitor', evil);
      writeFileSync(path.join(root, '.git/commondir'), '../elsewhere\n');
    },
    works: 'git status',
  },
  'a repository around the workspace': {
    prepare(root) {
      cpSync(path.join(root, '.git'), path.join(folder, '.git'), { recursive: true });
      git(folder, 'config', 'core.fsmonitor', evil);
      rmSync(path.join(root, '.git'), { recursive: true });
    },
    works: 'git status',
  },
  'a workspace that is itself a repository': {
    prepare(root) {
      for (const name of readdirSync(path.join(root, '.git'))) {
        renameSync(path.join(root, '.git', name), path.join(root, name));
      }
      rmSync(path.join(root, '.git'), { recursive: true });
      config(['core.bare', 'false'], ['core.worktree', '.'], ['core.fsmonitor', evil])(root);
    },
    works: undefined,
  },
  'a program with the name of git': {
    prepare: (root) => cpSync(evil, path.join(root, 'git')),
    works: undefined,
  },
};

/**
 * Runs the lines as the agent does, if they need no approval. Returns the output of each line, or undefined if the line
 * needs approval.
 */
async function runWithoutApproval(
  root: string,
  ...lines: readonly string[]
): Promise<(string | undefined)[]> {
  await using shell = openShell({ cwd: root, environment: ENVIRONMENT });
  return await Promise.all(
    lines.map(async (line) => {
      const environment = await shell.readOnly(line, undefined);
      if (!environment) return undefined;
      const signal = AbortSignal.timeout(60_000);
      return (await shell.run(line, { signal, environment })).output;
    }),
  );
}

test('in an ordinary repository the commands of the list run, and change nothing', async () => {
  const root = makeRepository();
  const index = execFileSync('sha1sum', [path.join(root, '.git/index')], { encoding: 'utf8' });
  const outputs = await runWithoutApproval(root, ...LINES);
  assert.match(outputs[0] ?? '', /modified: +a\.txt/);
  assert.match(outputs[1] ?? '', /\+THREE/);
  assert.match(outputs[2] ?? '', /first/);
  assert.match(outputs[4] ?? '', /THREE/);
  assert.equal(
    execFileSync('sha1sum', [path.join(root, '.git/index')], { encoding: 'utf8' }),
    index,
  );
});

for (const [name, { prepare, works }] of Object.entries(ATTACKS)) {
  test(`${name} is not run`, async () => {
    const root = makeRepository();
    prepare(root);
    rmSync(canary, { force: true });
    await runWithoutApproval(
      root,
      ...(works === undefined ? LINES : [works, ...LINES.slice(0, 3)]),
    );
    assert.ok(!existsSync(canary));
    // The attack is real: git runs the program when it is called in the normal environment.
    if (works !== undefined) {
      try {
        execFileSync('/bin/bash', ['-c', works], { cwd: root, env: ENVIRONMENT, stdio: 'ignore' });
      } catch {
        // Git may fail because of the output of the program.
      }
      assert.ok(existsSync(canary), `the attack has no effect with ${works}`);
    }
    rmSync(path.join(folder, '.git'), { recursive: true, force: true });
  });
}

test('a filter of the user, such as git-lfs, is switched off', async () => {
  const root = makeRepository();
  const file = path.join(home, '.gitconfig');
  writeFileSync(
    file,
    `[filter "evil"]\n\tclean = ${evil}\n\tprocess = ${evil}\n\trequired = true\n`,
  );
  rmSync(canary, { force: true });
  assert.match((await runWithoutApproval(root, 'git status'))[0] ?? '', /a\.txt/);
  assert.ok(!existsSync(canary));
  appendFileSync(file, `[diff]\n\texternal = ${evil}\n`);
  assert.deepEqual(await runWithoutApproval(root, 'git diff'), [undefined]);
  rmSync(file);
});

test('git reads no repository and no file outside the workspace', async () => {
  const secret = makeRepository();
  const linked = makeRepository();
  rmSync(path.join(linked, '.git'), { recursive: true });
  symlinkSync(path.join(secret, '.git'), path.join(linked, '.git'));
  const objects = makeRepository();
  rmSync(path.join(objects, '.git/objects'), { recursive: true });
  symlinkSync(path.join(secret, '.git/objects'), path.join(objects, '.git/objects'));
  const alternates = makeRepository();
  mkdirSync(path.join(alternates, '.git/objects/info'), { recursive: true });
  writeFileSync(
    path.join(alternates, '.git/objects/info/alternates'),
    `${path.join(secret, '.git/objects')}\n`,
  );
  const elsewhere = makeRepository();
  git(elsewhere, 'config', 'core.worktree', secret);
  const ignored = makeRepository();
  git(ignored, 'config', 'blame.ignoreRevsFile', '/etc/passwd');
  for (const root of [linked, objects, alternates, elsewhere, ignored]) {
    assert.deepEqual(await runWithoutApproval(root, 'git log -p'), [undefined], root);
  }
});
