/** The home folder of commands that need no approval. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { homeFolder } from '../../base/system/index.ts';
import { makeWorkspace } from '../../../test/support/workspace.ts';
import { readOnlyEnvironment } from './read-only-line.ts';

test('a relative or empty home folder is never in the workspace', async (t) => {
  const { root } = await makeWorkspace(t, { a: 'x' });
  const own = async (variables: Record<string, string>) => {
    const environment = { PATH: '/usr/bin:/bin', ...variables };
    const { HOME, XDG_CONFIG_HOME } =
      (await readOnlyEnvironment('ls', { root, environment })) ?? {};
    return [HOME, XDG_CONFIG_HOME];
  };
  const home = homeFolder();
  assert.ok(path.isAbsolute(home));
  assert.deepEqual(await own({ HOME: '/home/ann', XDG_CONFIG_HOME: '/c' }), ['/home/ann', '/c']);
  for (const folder of ['', '.', 'home']) {
    assert.deepEqual(await own({ HOME: folder, XDG_CONFIG_HOME: folder }), [home, undefined]);
  }
});
