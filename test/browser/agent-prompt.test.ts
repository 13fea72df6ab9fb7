// The prompt field on the page of an agent, which has no queue: what it sends, and what it keeps until it can be sent.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { serveClerk } from './operator-support.ts';
import { DESKTOP, noBrowser, visit } from './support.ts';

const skip = noBrowser;
const write = (path: string) => ({ call: { name: 'write_file', args: { path, content: 'x' } } });

/** The page of a coding agent with this script, after the person has sent a prompt. */
async function afterPrompt(
  t: Parameters<typeof visit>[0],
  script: readonly ScriptedResponse[],
  prompt = 'go',
) {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { script, server: { console: true } });
  const { page, trouble } = await visit(t, `${url}/console`, DESKTOP);
  const field = page.getByLabel('Prompt');
  await field.fill(prompt);
  await field.press('Enter');
  return { page, trouble, field, place };
}

test(
  'while several calls wait, a text in the prompt field answers none of them and is kept',
  { skip },
  async (t) => {
    const script = [[write('a.txt'), write('b.txt'), write('c.txt')], [{ text: 'Over.' }]];
    const { page, trouble, field, place } = await afterPrompt(t, script);
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 of 3').waitFor();
    const refusals = page.getByText('Answer the open question first.');
    await field.fill('ok');
    await field.press('Enter');
    await refusals.first().waitFor();
    assert.equal(await field.inputValue(), 'ok');
    await field.fill('and run the tests');
    await page.getByRole('button', { name: 'Send' }).click();
    await refusals.nth(1).waitFor();
    assert.equal(await field.inputValue(), 'and run the tests');
    assert.ok(await dialog.getByText('1 of 3').isVisible());
    assert.equal(await page.locator('.decision').count(), 0);
    assert.deepEqual(readdirSync(place.workspace), []);
    assert.deepEqual(trouble, []);
  },
);

test(
  'while one call waits, a text in the prompt field neither approves nor rejects it',
  { skip },
  async (t) => {
    const { page, field, place } = await afterPrompt(t, [[write('a.txt')], [{ text: 'Over.' }]]);
    await page.getByRole('dialog').waitFor();
    await field.fill('yes');
    await field.press('Enter');
    await page.getByText('Answer the open question first.').waitFor();
    await page.getByRole('button', { name: 'Allow once' }).click();
    await page.getByText('Over.').waitFor();
    assert.deepEqual(readdirSync(place.workspace), ['a.txt']);
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    // The next prompt can be sent, because no call waits any more.
    await field.press('Enter');
    await page.getByText('yes', { exact: true }).waitFor();
    assert.equal(await field.inputValue(), '');
  },
);

test(
  'a text in the prompt field answers a single question, but a command does not',
  { skip },
  async (t) => {
    const ask = { call: { name: 'ask_user', args: { question: 'Which colour?' } } };
    const { page, trouble, field } = await afterPrompt(t, [[ask], [{ text: 'Over.' }]]);
    await page.getByRole('dialog').getByText('Which colour?').waitFor();
    await field.fill('/stats ');
    await field.press('Enter');
    await page.getByText('Answer the open question first.').waitFor();
    await field.fill('Green');
    await field.press('Enter');
    await page.getByText('Over.').waitFor();
    assert.match(await page.locator('.decision').innerText(), /: Green$/);
    assert.deepEqual(trouble, []);
  },
);

test('an agent that asks only in words is answered in the prompt field', { skip }, async (t) => {
  const { url } = await serveClerk(t);
  const { page, trouble } = await visit(t, `${url}/console`, DESKTOP);
  const field = page.getByLabel('Prompt');
  await field.fill('ask me');
  await field.press('Enter');
  await page.getByText('Which city do you mean?').waitFor();
  await field.fill('Oslo');
  await field.press('Enter');
  await page.getByText('The weather in Oslo is fine.').waitFor();
  assert.deepEqual(trouble, []);
});

test(
  'a prompt that is sent while the agent works is kept, and can be sent when the turn has ended',
  { skip },
  async (t) => {
    const { url } = await serveClerk(t);
    const { page, trouble } = await visit(t, `${url}/console`, DESKTOP);
    const field = page.getByLabel('Prompt');
    await field.fill('wait');
    await field.press('Enter');
    await page.getByText('I am waiting.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await field.fill('hello');
    assert.equal(await page.getByRole('button', { name: 'Queue' }).count(), 0);
    await field.press('Enter');
    await page
      .getByText('The agent is still working. Send the prompt when the turn has ended.')
      .waitFor();
    assert.equal(await field.inputValue(), 'hello');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Canceled.').waitFor();
    await field.press('Enter');
    await page.getByText('You said hello.').waitFor();
    assert.deepEqual(trouble, []);
  },
);
