// The page of a task: its transcript, its timeline, its events in either version, and the task at any time before.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { createAgent, serve } from '../../src/server.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { fold, type Task, type TaskEvent } from '../../src/protocol/index.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { serveClerk } from './operator-support.ts';
import { silent } from '../live/support.ts';
import { assertAccessible, DESKTOP, noBrowser, PHONE, thereAre, visit } from './support.ts';

const skip = noBrowser;
const write = { call: { name: 'write_file', args: { path: 'a.txt', content: 'hello\n' } } };

test(
  'files, data and names of artifacts are in the transcript, and a file is saved with its bytes',
  { skip },
  async (t) => {
    const html = '<script>document.title = "run"</script>';
    const scribe = createAgent({ name: 'Scribe', description: '' }, async function* ({ task }) {
      const of = { kind: 'artifact-update', taskId: task.id, contextId: task.contextId } as const;
      const bytes = Buffer.from(html).toString('base64');
      const file = { name: '../secret/page.html', mimeType: 'text/html', bytes };
      const data = { rows: Array.from({ length: 200 }, (_, at) => at) };
      yield {
        ...of,
        artifact: {
          artifactId: 'a',
          name: 'summary',
          parts: [{ kind: 'text', text: 'In short.' }],
        },
      };
      yield {
        ...of,
        artifact: { artifactId: 'b', name: 'table', parts: [{ kind: 'data', data }] },
      };
      yield { ...of, artifact: { artifactId: 'c', parts: [{ kind: 'file', file }] } };
      const link = { uri: 'javascript:alert(1)', mimeType: 'text/plain' };
      yield { ...of, artifact: { artifactId: 'd', parts: [{ kind: 'file', file: link }] } };
    });
    const listening = await serve(scribe, { logger: silent, console: true }).listen(0);
    t.after(() => listening.close(0));
    const client = await connect(listening.url);
    const asked = { order: 7 };
    const { id } = (await client.send([{ kind: 'data', data: asked }])) as Task;
    const { page, trouble } = await visit(t, `${listening.url}/console#/tasks/${id}`, DESKTOP);
    await page.getByText('Artifact: summary').waitFor();
    await page.getByText('In short.').waitFor();
    assert.match(await page.locator('.prompt').innerText(), /"order": 7/);
    const table = page.locator('details', { hasText: 'The answer contains data: table' });
    assert.equal(await table.getAttribute('open'), null);
    await table.locator('summary').click();
    await table.getByText('Show more').waitFor();
    assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
    await page.getByText('javascript:alert(1)').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the file' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'page.html');
    assert.equal(readFileSync(await download.path(), 'utf8'), html);
    await assertAccessible(page, 'transcript with parts');
    // The state before the file came has no file.
    await page.getByLabel('Event', { exact: true }).fill('3');
    await thereAre(page.getByRole('button', { name: 'Save the file' }), 0);
    assert.deepEqual(trouble, []);
  },
);

test(
  'the slider shows the task as it was at each event, and the events are those of the API',
  { skip },
  async (t) => {
    const { url, client } = await serveClerk(t);
    const { id } = (await client.send('ask me')) as Task;
    await client.send('Oslo', { taskId: id });
    const read = async (prefix: string) =>
      (await (await fetch(`${url}${prefix}/tasks/${id}/events`)).json()) as {
        events: { seq: number; event: unknown }[];
      };
    const old = (await read('/v1')).events as { seq: number; event: TaskEvent }[];
    const { page, trouble } = await visit(t, `${url}/console#/tasks/${id}`, DESKTOP);
    await page.getByText('The weather in Oslo is fine.').waitFor();
    const slider = page.getByLabel('Event', { exact: true });
    assert.equal(await slider.getAttribute('max'), String(old.length));
    // The JSON view at each event is the fold of the events up to it.
    await page.getByRole('link', { name: 'JSON' }).click();
    for (const at of [1, Math.ceil(old.length / 2), old.length]) {
      await slider.fill(String(at));
      await page.getByText(`Event ${at} of ${old.length}:`).waitFor();
      const shown: unknown = JSON.parse(await page.locator('.task-view .lines').innerText());
      assert.deepEqual(shown, fold(old.slice(0, at).map(({ event }) => event)));
    }
    await page.getByRole('link', { name: 'Transcript' }).click();
    await slider.fill('1');
    await page.getByText('The weather in Oslo is fine.').waitFor({ state: 'detached' });
    await page.locator('.prompt', { hasText: 'ask me' }).waitFor();
    // By keyboard: to the last event.
    await slider.press('End');
    await page.getByText('The weather in Oslo is fine.').waitFor();
    await page.getByRole('link', { name: 'Events' }).click();
    for (const [version, prefix] of [
      ['1.0', ''],
      ['0.3', '/v1'],
    ] as const) {
      await page.getByLabel(version).check();
      const { events } = await read(prefix);
      await thereAre(page.locator('.frame-entry'), events.length);
      const open = page.locator('.frame-entry[open] .lines');
      assert.deepEqual(JSON.parse(await open.innerText()), events.at(-1)?.event);
    }
    assert.deepEqual(trouble, []);
  },
);

test(
  'a call that waits is approved on the page of its task, and the timeline tells the waiting from the work',
  { skip },
  async (t) => {
    const place = makePlace(t);
    const { url } = await startCoder(t, place, {
      script: [[write], [{ text: 'Over.' }]],
      server: { console: true },
    });
    const client = await connect(url);
    const extensions = [EXTENSION_URI];
    const { id } = (await client.send('write a file', { extensions })) as Task;
    const { page, trouble } = await visit(t, `${url}/console#/inbox`, PHONE);
    await page.getByRole('button', { name: 'Answer' }).click();
    const allow = page.getByRole('button', { name: 'Allow once' }).and(page.locator(':enabled'));
    await allow.waitFor();
    await page.getByText('needs an answer').waitFor();
    await allow.click();
    await page.getByText('Over.').waitFor();
    assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'hello\n');
    await page.getByText('completed').first().waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
    const row = page.getByRole('row', { name: /a\.txt/ });
    await row.waitFor();
    assert.equal(await row.locator('.span-person').count(), 1);
    assert.match(await row.innerText(), /succeeded/);
    const facts = await page.locator('.timeline .facts').innerText();
    assert.match(facts, /Waiting for a person\s+[\d.]+ m?s\s+Calls\s+1/);
    assert.equal((await client.get(id)).status.state, 'completed');
    assert.deepEqual(trouble, []);
  },
);

test(
  'a task that could not be read is read once, however often the person tries again',
  { skip },
  async (t) => {
    const { url, client } = await serveClerk(t);
    const { id } = (await client.send('hello there')) as Task;
    const { page } = await visit(t, `${url}/console#/inbox`, DESKTOP);
    await page.getByRole('link', { name: 'hello there' }).waitFor();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let asked = 0;
    await page.route('**/events?*', async (route) => {
      asked += 1;
      if (asked === 1) return route.fulfill({ status: 503, body: '{}' });
      await released;
      return route.continue();
    });
    await page.getByRole('link', { name: 'hello there' }).click();
    const again = page.getByRole('button', { name: 'Try again' });
    const request = page.waitForRequest(/events\?/);
    for (let times = 0; times < 3; times++) await again.click();
    await request;
    release();
    await page.getByText('You said').waitFor();
    const answer = await fetch(`${url}/tasks/${id}/events`);
    const { events } = (await answer.json()) as { events: unknown[] };
    const slider = page.getByLabel('Event', { exact: true });
    assert.equal(await slider.getAttribute('max'), String(events.length));
    assert.equal(asked, 2);
  },
);
