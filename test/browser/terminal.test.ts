// The page beside a real terminal session: what a person does with a phone while the program runs on their desk.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { makePlace } from '../coder/support.ts';
import { linkOn, startShared } from '../live/program.ts';
import { networkAddress } from '../support/network-address.ts';
import { DESKTOP, noBrowser, PHONE, visit } from './support.ts';

const skip = noBrowser;
const noNetwork = networkAddress() === undefined && 'this machine has no network';
const ESCAPE = '\u001b';
const says = (text: string): ScriptedResponse => [{ text }];
const writes = (path: string, content: string): ScriptedResponse => [
  { call: { name: 'write_file', args: { path, content } } },
];

test(
  'a phone joins a terminal session by the link of /remote, sees a diff and approves it; the file is written and the terminal closes its dialog',
  { skip: skip === false ? noNetwork : skip },
  async (t) => {
    const place = makePlace(t);
    const file = join(place.workspace, 'server.ts');
    writeFileSync(file, 'const host = "0.0.0.0";\nlisten(host);\n');
    const script = [
      [{ call: { name: 'read_file', args: { path: 'server.ts' } } }],
      writes('server.ts', 'const host = "127.0.0.1";\nlisten(host);\n'),
      says('It listens on loopback only.'),
    ];
    const { terminal, say } = await startShared(t, { place, script });
    say('/remote');
    const link = await linkOn(terminal);
    assert.doesNotMatch(link, /127\.0\.0\.1|localhost/);
    const { page, trouble } = await visit(t, link, PHONE);
    await page.getByText('Connected').waitFor();
    await terminal.sees(/· 1 client/);
    // Any key closes the code on the screen.
    terminal.type(ESCAPE);
    say('listen on loopback only');
    await terminal.sees(/Esc rejects/);
    const dialog = page.getByRole('dialog');
    await dialog.getByText('"127.0.0.1"').waitFor();
    const removed = await dialog.locator('.row.removed').innerText();
    assert.match(removed, /-\s*const host = "0\.0\.0\.0";/);
    assert.ok(
      (await dialog.locator('.t-string').count()) > 0,
      'the diff has the colours of its language',
    );
    assert.match(await page.title(), /Needs you/);
    const names = await dialog.getByRole('button').allInnerTexts();
    assert.deepEqual(names.slice(0, 2), ['Allow once', 'Reject']);
    await dialog.getByRole('button', { name: 'Allow once' }).click();
    await terminal.until('no dialog', () => !/Esc rejects/.test(terminal.visible()));
    await terminal.sees(/phone: Allow once/);
    await terminal.sees(/It listens on loopback only\./);
    await page.getByText('It listens on loopback only.').waitFor();
    await page.getByText('↳ You: Allow once').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(readFileSync(file, 'utf8'), 'const host = "127.0.0.1";\nlisten(host);\n');
    assert.deepEqual(trouble, []);
  },
);

test(
  'two pages and a terminal race for an answer: one wins, and all show who',
  { skip },
  async (t) => {
    const script = [writes('a.txt', 'hello\n'), says('Finished.')];
    const { url, terminal, say, workspace } = await startShared(t, { script });
    const [phone, desktop] = await Promise.all([visit(t, url, PHONE), visit(t, url, DESKTOP)]);
    await terminal.sees(/· 2 clients/);
    say('write a file');
    await terminal.sees(/❯ 1 Allow once/);
    const buttons = [phone, desktop].map(({ page }) =>
      page.getByRole('button', { name: 'Reject', exact: true }),
    );
    await Promise.all(buttons.map((button) => button.waitFor()));
    // A button that has gone because another client was faster is not clicked.
    const clicks = buttons.map((button) => button.click({ timeout: 2000 }).catch(() => undefined));
    terminal.type('1');
    await Promise.all(clicks);
    await terminal.sees(/Finished\./);
    const shown = await Promise.all(
      [phone, desktop].map(async ({ page }) => {
        await page.getByText('Finished.').waitFor();
        assert.equal(await page.getByRole('dialog').count(), 0);
        return page.locator('.decision').innerText();
      }),
    );
    const winners = shown.map((text) => text.replace('↳ ', ''));
    // Each page calls itself "You" and the others by their names.
    const chosen = winners.map((text) => text.replace(/^.*: /, ''));
    assert.equal(new Set(chosen).size, 1, winners.join(' / '));
    const who = winners.map((text) => text.replace(/:.*$/, ''));
    assert.ok(
      [
        ['You', 'phone'],
        ['browser', 'You'],
        ['terminal', 'terminal'],
      ].some((pair) => pair.join() === who.join()),
      who.join(),
    );
    assert.equal(existsSync(join(workspace, 'a.txt')), chosen[0] === 'Allow once');
  },
);

test(
  'a prompt of the page reaches the terminal, with commands and files to choose from, and can be stopped',
  { skip },
  async (t) => {
    const place = makePlace(t);
    writeFileSync(join(place.workspace, 'notes.md'), 'x');
    const script: ScriptedResponse[] = [[{ text: 'Wait.' }, { delayMs: 60_000 }]];
    const { url, terminal } = await startShared(t, { place, script });
    const { page, trouble } = await visit(t, url, DESKTOP);
    const field = page.getByLabel('Prompt');
    await field.pressSequentially('/mem');
    await page.getByRole('option', { name: /memory/ }).waitFor();
    await field.press('Tab');
    assert.match(await field.inputValue(), /^\/memory/);
    await field.fill('');
    await field.pressSequentially('read @no');
    await page.getByRole('option', { name: 'notes.md' }).waitFor();
    await field.press('Enter');
    assert.equal(await field.inputValue(), 'read @notes.md ');
    await field.press('Enter');
    await terminal.sees(/\[A2A\] browser: read @notes\.md/);
    await page.getByText('Wait.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await terminal.sees(/Canceled\./);
    await page.getByText('Canceled.').waitFor();
    assert.deepEqual(trouble, []);
  },
);
