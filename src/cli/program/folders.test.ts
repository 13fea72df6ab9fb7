import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { configFolder } from './folders.ts';

test('the configuration folder is XDG_CONFIG_HOME/parley, or ~/.config/parley', () => {
  assert.equal(configFolder({ XDG_CONFIG_HOME: '/c' }), '/c/parley');
  for (const none of [{}, { XDG_CONFIG_HOME: '' }, { XDG_CONFIG_HOME: 'relative' }]) {
    assert.equal(configFolder(none), path.join(homedir(), '.config', 'parley'));
  }
});
