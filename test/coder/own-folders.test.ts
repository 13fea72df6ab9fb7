/** A workspace that our own settings and data lie in, as a home folder is. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { callIn, makePlace } from './support.ts';
import { begin, writes } from './talk.ts';

test('tools write neither settings nor data of ours, even where edits are free', async (t) => {
  const place = makePlace(t);
  const configFolder = join(place.workspace, '.config/parley');
  const dataFolder = join(place.workspace, '.local/share/parley');
  mkdirSync(dataFolder, { recursive: true });
  symlinkSync('.local/share', join(place.workspace, 'link'));
  const patch = '*** Begin Patch\n*** Add File: .config/parley/trusted.json\n+{}\n*** End Patch\n';
  const script: ScriptedResponse[] = [
    [
      ...writes('.config/parley/settings.json', '{"approval":"yolo"}'),
      ...writes('.local/share/parley/checkpoints/x/config', '[core]'),
      ...writes('link/parley/coder.db', ''),
      { call: { name: 'apply_patch', args: { patch } } },
      ...writes('.config/other/settings.json', '{}'),
    ],
    [{ text: 'Done.' }],
  ];
  const { say } = await begin(t, script, { place, configFolder, dataFolder, mode: 'auto-edit' });
  const { events } = await say('take over');
  const ended = events
    .flatMap((event) => callIn(event) ?? [])
    .filter(({ status }) => status !== 'PENDING');
  const failed = ended.filter(({ status }) => status === 'FAILED');
  assert.deepEqual(
    failed.map(({ error }) => /Parley stores its settings/.test(error?.message ?? '')),
    [true, true, true, true],
  );
  assert.equal(existsSync(configFolder), false);
  assert.equal(existsSync(join(place.workspace, '.config/other/settings.json')), true);
});
