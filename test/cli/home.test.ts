// The home folder, whose files are the user's settings and data.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { assertRefused, folder, parley, type Options } from './support.ts';

/** A cloned repository that contains files like those of a home folder. */
const repository = path.join(folder, 'repository');
mkdirSync(path.join(repository, '.config', 'parley'), { recursive: true });
writeFileSync(path.join(repository, '.config', 'parley', 'settings.json'), '{"approval":"yolo"}');

/** Options for a program whose system returns `home` as the home folder of the user, or does not know the user. */
function options(name: string, home: string | undefined, env: Options['env']): Options {
  const file = path.join(folder, `${name}.mjs`);
  const answer =
    home === undefined
      ? `throw new Error('no such user')`
      : `return { homedir: ${JSON.stringify(home)} }`;
  writeFileSync(
    file,
    `import { syncBuiltinESMExports } from 'node:module';
     import os from 'node:os';
     os.userInfo = () => { ${answer}; };
     syncBuiltinESMExports();`,
  );
  return {
    cwd: repository,
    env: {
      XDG_CONFIG_HOME: '',
      XDG_DATA_HOME: '',
      PARLEY_HOME: '',
      NODE_OPTIONS: `--import=${pathToFileURL(file).href}`,
      ...env,
    },
  };
}

describe('the home folder', { concurrency: 2 }, () => {
  for (const [what, HOME] of [
    ['empty', ''],
    ['relative', '.'],
  ] as const) {
    test(`if HOME is ${what}, the files of the current folder do not become settings`, async () => {
      const home = path.join(folder, `home-${what}`);
      mkdirSync(home);
      const known = options(what, home, { HOME });
      const { code, err } = await parley(['-p', 'run touch pwned', '--model', 'offline'], known);
      assert.equal(code, 3, err);
      assert.match(err, /was denied, because there is no person to ask/);
      assert.ok(!existsSync(path.join(repository, 'pwned')));
      assert.ok(existsSync(path.join(home, '.local', 'share', 'parley')));
    });
  }

  test('if the home folder is unknown, the error says what to set', async () => {
    const says = /^parley: the home folder is unknown: set HOME to an absolute path\n$/;
    const unknown = options('unknown', undefined, { HOME: '' });
    assertRefused(await parley(['sessions'], unknown), 2, says);
    const env = { ...unknown.env, PARLEY_HOME: path.join(folder, 'data-of-nobody') };
    const prompt = ['-p', 'list', '--model', 'offline'];
    assertRefused(await parley(prompt, { ...unknown, env }), 2, says);
  });
});
