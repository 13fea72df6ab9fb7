// The inbox of an agent's server: what it shows equals what the API says, and what a person does there happens.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../../src/protocol/index.ts';
import { serveClerk } from './operator-support.ts';
import { DESKTOP, noBrowser, PHONE, thereAre, visit } from './support.ts';

const skip = noBrowser;

test(
  'the inbox shows the tasks by what they need, and answers, cancels and sends again',
  { skip },
  async (t) => {
    const { url, client } = await serveClerk(t);
    const asked = (await client.send('ask me')) as Task;
    const waiting = (await client.send('wait', { configuration: { blocking: false } })) as Task;
    const failed = (await client.send('fail now')) as Task;
    const said = (await client.send('hello there')) as Task;
    const { page, trouble } = await visit(t, `${url}/console#/inbox`, DESKTOP);
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    // It opens with what needs a person.
    const rows = page.locator('.task-row');
    await page.getByRole('link', { name: 'ask me' }).waitFor();
    assert.match(page.url(), /#\/inbox\/needs-you$/);
    assert.equal(await rows.count(), 1);
    assert.match(await rows.innerText(), /needs an answer[\s\S]*Which city do you mean\?/);
    const tab = (name: string) =>
      page.getByRole('navigation', { name: 'Groups of tasks' }).getByRole('link', { name });
    const counts = async () => Promise.all(['Needs', 'Run', 'Done'].map((n) => tab(n).innerText()));
    assert.deepEqual(await counts(), ['Needs you 1', 'Running 1', 'Done 2']);

    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByLabel('Your answer').fill('Oslo');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByText('Nothing needs you.').waitFor();
    const answered = await client.get(asked.id);
    assert.equal(answered.status.state, 'completed');
    assert.match(JSON.stringify(answered.artifacts), /weather in Oslo/);

    await tab('Running').click();
    await page.getByRole('link', { name: 'wait' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Nothing is running.').waitFor();
    assert.equal((await client.get(waiting.id)).status.state, 'canceled');

    await tab('Done').click();
    await page.getByRole('link', { name: 'hello there' }).waitFor();
    await page.getByRole('link', { name: 'fail now' }).waitFor();
    const listed = await client.list({ pageSize: 50 });
    const shown = await page.evaluate(
      `[...document.querySelectorAll('a.task-name')].map((link) => link.hash.replace('#/tasks/', ''))`,
    );
    assert.deepEqual(
      shown,
      listed.tasks.map(({ id }) => id),
    );
    await page.getByLabel('Search what is loaded').fill('FAIL');
    await page.getByText('1 of the 4 loaded tasks match the search.').waitFor();
    assert.equal(await rows.count(), 1);
    assert.match(await rows.innerText(), /✗ failed/);
    await page.getByLabel('Search what is loaded').fill('');
    await page
      .getByRole('listitem', { name: 'hello there' })
      .getByRole('button', { name: /context/ })
      .click();
    await page.waitForURL(new RegExp(`context=${said.contextId}`));
    await thereAre(rows, 1);
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('You said hello there.').waitFor();
    const again = await client.list({ contextId: said.contextId });
    assert.equal(again.totalSize, 2);
    assert.ok(page.url().includes(again.tasks[0]?.id ?? '?'), page.url());
    assert.notEqual(failed.id, said.id);
    assert.deepEqual(trouble, []);
  },
);

test('an empty server says how its first task is made', { skip }, async (t) => {
  const { url } = await serveClerk(t);
  const { page, trouble } = await visit(t, `${url}/console#/inbox`, PHONE);
  await page.getByRole('heading', { name: 'No tasks yet' }).waitFor();
  await page.getByText(`parley send ${url} "Hello"`).waitFor();
  await page.getByRole('link', { name: 'conversation', exact: true }).click();
  await page.getByLabel('Prompt').waitFor();
  assert.deepEqual(trouble, []);
});

test('a person who leaves the inbox while it loads is not taken back', { skip }, async (t) => {
  const { url, client } = await serveClerk(t);
  await client.send('hello there');
  const { page, trouble } = await visit(t, `${url}/console#/conversation`, DESKTOP);
  // The browser reports a change of the address only later. Here it does so when the test says.
  await page.addInitScript(`
    addEventListener('hashchange', (event) => {
      if (globalThis.isLate && event.isTrusted) event.stopImmediatePropagation();
    });
  `);
  await page.reload();
  await page.getByLabel('Prompt').waitFor();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route('**/*', async (route) => {
    if (route.request().resourceType() === 'fetch') await released;
    await route.continue();
  });
  await page.getByRole('link', { name: 'Inbox', exact: true }).click();
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  await page.evaluate(`globalThis.isLate = true; location.hash = '#/conversation'`);
  release();
  await page.getByRole('link', { name: /^Done\s*1$/ }).waitFor();
  await page.evaluate(`dispatchEvent(new Event('hashchange'))`);
  await page.getByLabel('Prompt').waitFor();
  assert.match(page.url(), /#\/conversation$/);
  assert.deepEqual(trouble, []);
});
