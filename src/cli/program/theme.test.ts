import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { chosenTheme } from './theme.ts';

test('the flag counts, then the settings; a name that there is not is said with those that there are', async (t) => {
  const config = mkdtempSync(path.join(tmpdir(), 'parley-theme-'));
  t.after(() => rmSync(config, { recursive: true, force: true }));
  const environment = { XDG_CONFIG_HOME: config };
  assert.equal(await chosenTheme(undefined, environment), undefined);
  mkdirSync(path.join(config, 'parley'));
  writeFileSync(path.join(config, 'parley', 'settings.json'), '{ "theme": "light" }');
  assert.equal(await chosenTheme(undefined, environment), 'light');
  assert.equal(await chosenTheme('none', environment), 'none');
  await assert.rejects(
    chosenTheme('pink', environment),
    /--theme pink: use one of dark, light, none/,
  );
});
