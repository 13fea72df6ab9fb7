/** Other makers' A2A clients against the coding agent: the same prompt gives each the same text, once. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { tries } from '../support/interop-table.ts';
import { drivers, type Answer, type Driver } from './a2a-drivers.ts';

const TEXT = 'Two files are here: the first is long, the second is short. Nothing else was found.';

const SAYS: readonly ScriptedResponse[] = [
  [{ thought: { subject: 'Looking', description: 'I look at the folder.' } }, { text: TEXT }],
];

const WRITES: readonly ScriptedResponse[] = [
  [
    { text: 'I write the file. ' },
    { call: { name: 'write_file', args: { path: 'note.txt', content: 'by hand' } } },
  ],
  [{ text: 'It is written.' }],
];

async function start(t: TestContext, driver: Driver, script: readonly ScriptedResponse[]) {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { script });
  return { client: await driver.open(url), at: (file: string) => join(place.workspace, file) };
}

/** Nothing of the extension reaches a client that does not know it. */
function isPlain({ text }: Answer): void {
  assert.doesNotMatch(text, /tool_call_id|development-tool|"subject"/);
}

for (const driver of drivers) {
  const note = (t: TestContext, operation: string): void =>
    tries(t, { protocol: 'A2A', peer: driver.peer, role: 'client', operation });

  for (const way of driver.ways) {
    test(`${driver.peer} gets the text of the coding agent once: ${way}`, async (t) => {
      note(t, way);
      note(t, 'same text once');
      const { client } = await start(t, driver, SAYS);
      assert.deepEqual(await client.ask[way]?.('What is here?'), { text: TEXT, waits: false });
    });
  }

  test(`${driver.peer} answers an approval with the name of an option`, async (t) => {
    note(t, 'approve');
    const { client, at } = await start(t, driver, WRITES);
    const asked = await client.ask[driver.ways[0]!]!('write it');
    isPlain(asked);
    assert.match(asked.text, /note\.txt/);
    assert.match(asked.text, /Allow once/);
    assert.match(asked.text, /Reject/);
    const done = await client.reply('Allow once');
    isPlain(done);
    assert.match(done.text, /It is written\.$/);
    assert.equal(done.text.match(/It is written/g)?.length, 1);
    assert.equal(readFileSync(at('note.txt'), 'utf8'), 'by hand');
  });
}
