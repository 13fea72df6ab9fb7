// The messages that the page loads when the person asks for them, and those that it cannot load.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlace } from '../coder/support.ts';
import { withLargeTasks } from '../live/earlier-tasks.ts';
import { serveSession } from '../live/support.ts';
import { noBrowser, visit } from './support.ts';

test(
  'the page says how many messages cannot be loaded, and offers no button for them',
  { skip: noBrowser },
  async (t) => {
    const { url } = await serveSession(t, withLargeTasks(makePlace(t)));
    const { page, trouble } = await visit(t, url);
    await page.getByRole('button', { name: 'Load 5 earlier messages' }).click();
    await page.getByText('5 earlier messages cannot be loaded.').waitFor();
    assert.equal(await page.getByRole('button', { name: /^Load/ }).count(), 0);
    assert.deepEqual(trouble, []);
  },
);
