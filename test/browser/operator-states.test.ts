// The states that are easy to forget: an empty server, a wrong key, a store that is unavailable, and 100,000 tasks, on an
// agent's own server and on a gateway. With PARLEY_SCREENSHOTS=1, draws them.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { TaskStore } from '../../src/tasks/index.ts';
import { startGateway } from '../support/gateway.ts';
import { bearerTokens, serve } from '../../src/server.ts';
import { silent } from '../live/support.ts';
import { clerk, DRAWS, LOOKS, manyTasks, movable, shoot } from './operator-support.ts';
import { assertAccessible, DESKTOP, noBrowser, visit } from './support.ts';

const skip = noBrowser;
const TOKEN = 'a-token-of-32-characters-00000000';

/** What is started for each kind of server, and the owner of its tasks. */
const KINDS = {
  agent: {
    owner: 'operator',
    start: async (t: TestContext, store: TaskStore) => {
      const authenticate = bearerTokens(new Map([['operator', TOKEN]]));
      const server = serve(clerk, {
        logger: silent,
        console: true,
        store,
        retention: false,
        authenticate,
      });
      const listening = await server.listen(0);
      t.after(() => listening.close(0));
      return { url: listening.url, key: TOKEN };
    },
  },
  gateway: {
    owner: 'default',
    start: async (t: TestContext, store: TaskStore) => {
      const gateway = await startGateway({ store, config: { tasks: { retentionDays: 3650 } } });
      t.after(() => gateway[Symbol.asyncDispose]());
      return { url: gateway.url, key: gateway.key() };
    },
  },
} as const;

interface Place {
  readonly url: string;
  readonly key: string;
}

async function enter(t: TestContext, { url, key }: Place, device: BrowserContextOptions) {
  const { page } = await visit(t, `${url}/console#/inbox`, device);
  await page.getByLabel(/^(?:Key|Token)$/).fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  return page;
}

/** Looks at a state once, or in all looks for the pictures. */
async function look(name: string, show: (device: BrowserContextOptions) => Promise<Page>) {
  const looks = DRAWS ? LOOKS : ([[DESKTOP, '']] as const);
  for (const [device, suffix] of looks) {
    const page = await show(device);
    await assertAccessible(page, name);
    if (DRAWS) await shoot(page, name, suffix);
  }
}

for (const [kind, { owner, start }] of Object.entries(KINDS)) {
  test(
    `an empty server, a wrong key and a store that is unavailable are explained: ${kind}`,
    { skip },
    async (t) => {
      const { store, take, bring } = movable();
      const place = await start(t, store);
      await look(`empty-${kind}`, async (device) => {
        const page = await enter(t, place, device);
        await page.getByRole('heading', { name: 'No tasks yet' }).waitFor();
        await page.getByText(`parley send ${place.url} "Hello" --token KEY`).waitFor();
        return page;
      });
      await look(`wrong-key-${kind}`, async (device) => {
        const page = await enter(t, { ...place, key: 'parley_wrong' }, device);
        await page.getByRole('alert').getByText('The server does not accept this key.').waitFor();
        return page;
      });
      await look(`store-unavailable-${kind}`, async (device) => {
        const page = await enter(t, place, device);
        await page.getByRole('heading', { name: 'No tasks yet' }).waitFor();
        take();
        await page.goto(`${place.url}/console#/inbox/done?context=x`);
        await page
          .getByRole('heading', { name: 'The server or its store is unavailable' })
          .waitFor();
        await page.getByText('The page asks again in 5 seconds.').waitFor();
        bring();
        return page;
      });
    },
  );

  // operator-access.test.ts opens the inbox of an agent with as many tasks.
  if (kind === 'agent' && !DRAWS) continue;
  test(`the inbox of 100,000 tasks shows the newest of them: ${kind}`, { skip }, async (t) => {
    const place = await start(t, manyTasks(t, owner));
    await look(`many-tasks-${kind}`, async (device) => {
      const page = await enter(t, place, device);
      await page.getByRole('link', { name: 'Done 100,000' }).waitFor();
      await page.getByRole('link', { name: 'request number 99999' }).waitFor();
      await page.getByRole('link', { name: 'request number 99980' }).waitFor();
      assert.equal(await page.locator('.task-row').count(), 50);
      return page;
    });
  });
}
