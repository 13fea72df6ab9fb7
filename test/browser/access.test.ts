// How the page comes to a session: by a ticket over the network, with a token, or not at all; and how it is served.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import express from 'express';
import { bearerTokens, consoleHandler, createAgent, serve } from '../../src/server.ts';
import { LiveAccess } from '../../src/live/index.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { openSession, silent } from '../live/support.ts';
import { networkAddress } from '../support/network-address.ts';
import { noBrowser, PHONE, visit } from './support.ts';

const skip = noBrowser;
const HOST = networkAddress() ?? '127.0.0.1';
const write = { call: { name: 'write_file', args: { path: 'a.txt', content: 'hello\n' } } };

/** A live session on an address of the network, and links for it. */
async function remoteSession(
  t: Parameters<typeof visit>[0],
  script = [[write], [{ text: 'Over.' }]],
) {
  const access = new LiveAccess();
  const opened = await openSession(t, { access: { access }, script });
  access.issueTicket(['view']);
  const listening = await opened.server.listen(0, HOST);
  const { url } = listening;
  t.after(() => listening.close(0));
  const link = (
    roles: readonly ('view' | 'prompt' | 'approve')[] = ['view', 'prompt', 'approve'],
  ) => `${url}/#ticket=${access.issueTicket(roles)}`;
  return { ...opened, access, url, link };
}

test(
  'the page takes the ticket out of its address, joins by it, and joins again after a reload',
  { skip },
  async (t) => {
    const { link, url, live, place } = await remoteSession(t);
    const terminal = live.join({ kind: 'terminal' });
    const { page, trouble } = await visit(t, link(), PHONE);
    await page.getByText('Connected').waitFor();
    assert.equal(page.url(), `${url}/`);
    assert.deepEqual(await page.context().cookies(), []);
    await page.reload();
    await page.getByText('Connected').waitFor();
    await terminal.prompt('write');
    await page.getByRole('button', { name: 'Allow once' }).click();
    await page.getByText('Over.').waitFor();
    assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'hello\n');
    assert.deepEqual(trouble, []);
  },
);

test('a used ticket and a revoked token get a page that says what to do', { skip }, async (t) => {
  const { link, live } = await remoteSession(t);
  const used = link();
  const first = await visit(t, used, PHONE);
  await first.page.getByText('Connected').waitFor();
  const second = await visit(t, used, PHONE);
  await second.page.getByText('This link has already been used, or it has expired.').waitFor();
  await second.page.getByText('/remote').waitFor();
  await second.page.getByLabel('Token').fill('wrong');
  await second.page.getByRole('button', { name: 'Join' }).click();
  await second.page.getByText('This access was revoked, or it has expired.').waitFor();
  const terminal = live.join({ kind: 'terminal' });
  const phone = live.clients.find(({ name }) => name === 'phone');
  assert.ok(phone);
  await terminal.revoke(phone.id);
  await first.page.getByText('This access was revoked, or it has expired.').waitFor();
});

test(
  'a client with the role view alone sees the question and has no buttons',
  { skip },
  async (t) => {
    const { link, live } = await remoteSession(t);
    const terminal = live.join({ kind: 'terminal' });
    const { page } = await visit(t, link(['view']), PHONE);
    await page.getByText('Connected').waitFor();
    await terminal.prompt('write');
    await page.getByText('This client can only watch. Another client has to answer.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Allow once' }).count(), 0);
    assert.ok(await page.getByLabel('Prompt').isDisabled());
  },
);

test('the page of another origin gets nothing from the session', { skip }, async (t) => {
  const { url } = await remoteSession(t);
  const other = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<title>other</title>');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const { page } = await visit(t, `http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  const tried = await page.evaluate(`Promise.all([
    fetch('${url}/').then((response) => response.text(), () => 'refused'),
    fetch('${url}/session/tickets', { method: 'POST', body: '{}' }).then((response) => response.text(), () => 'refused'),
    new Promise((resolve) => {
      const socket = new WebSocket('${url.replace('http', 'ws')}/ws', ['a2a']);
      socket.onmessage = () => resolve('message');
      socket.onclose = ({ code }) => resolve(code);
    }),
    new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.onload = () => { try { resolve(frame.contentDocument ? 'blank' : 'refused'); } catch { resolve('refused'); } };
      frame.src = '${url}/';
      document.body.append(frame);
    }),
  ])`);
  assert.deepEqual(tried, ['refused', 'refused', 1006, 'refused']);
});

test('a browser gets the page with a strict policy, other clients get the text, and files are cached by their hash', async (t) => {
  const { server } = await openSession(t);
  const listening = await server.listen(0);
  const { url } = listening;
  t.after(() => listening.close(0));
  const html = { headers: { accept: 'text/html,application/xhtml+xml' } };
  assert.match(await (await fetch(url)).text(), /This is an A2A agent/);
  for (const path of ['/', '/console']) {
    const response = await fetch(`${url}${path}`, html);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(response.headers.get('set-cookie'), null);
    const text = await response.text();
    assert.doesNotMatch(text, /<script(?![^>]* src=)|<style|style=/);
    const files = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file!);
    // The icon, the style sheet, the script, and the scripts that it imports.
    assert.ok(files.length > 3, files.join());
    for (const file of files) {
      const found = await fetch(new URL(file, `${url}${path}`), {
        headers: { 'accept-encoding': 'gzip' },
      });
      assert.equal(found.status, 200, file);
      const hashed = /-\w{8}\.(?:js|css)$/.test(file);
      assert.equal(found.headers.get('cache-control')?.includes('immutable'), hashed, file);
      assert.equal(found.headers.get('content-encoding'), hashed ? 'gzip' : null, file);
      await found.arrayBuffer();
    }
  }
  const slash = await fetch(`${url}/console/`, html);
  assert.equal(slash.url, `${url}/console`);
  assert.match(await slash.text(), /<!doctype html>/i);
  assert.equal((await fetch(`${url}/console/none.js`)).status, 404);
  assert.equal((await fetch(`${url}/console/..%2ffiles.json`)).status, 404);
});

test(
  'serve with console shows an agent, and a token is asked for where one is needed',
  { skip },
  async (t) => {
    const agent = createAgent({ name: 'Echo', description: 'Repeats' }, async function* (ctx) {
      yield `You said **${ctx.text}**.`;
    });
    const authenticate = bearerTokens(new Map([['a', 'secret']]));
    const server = serve(agent, { logger: silent, console: true, authenticate });
    const listening = await server.listen(0);
    const { url } = listening;
    t.after(() => listening.close(0));
    const { page, trouble } = await visit(t, `${url}/console`, PHONE);
    await page.getByLabel('Token').fill('secret');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Echo' }).waitFor();
    await page.getByLabel('Prompt').fill('hello');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('You said hello.').waitFor();
    await page.reload();
    await page.getByText('You said hello.').waitFor();
    await page.getByLabel('Prompt').fill('again');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('You said again.').waitFor();
    assert.deepEqual(trouble, []);
  },
);

test(
  'the coding agent of serve asks on the page, which is mounted in a server of its own beside it',
  { skip },
  async (t) => {
    const place = makePlace(t);
    const { url } = await startCoder(t, place, {
      script: [[write], [{ text: 'Over.' }]],
      server: { console: true },
    });
    const app = express();
    app.use('/agent/console', consoleHandler());
    const listening = app.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    t.after(() => listening.close());
    const mounted = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/agent/console`;
    const text = await (await fetch(mounted)).text();
    const script = /src="([^"]+)"/.exec(text)?.[1] ?? '';
    assert.equal((await fetch(new URL(script, mounted))).status, 200);
    assert.equal((await fetch(`${mounted}/`)).url, mounted);
    const { page, trouble } = await visit(t, `${url}/console`, PHONE);
    await page.getByLabel('Prompt').fill('write');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('button', { name: 'Allow once' }).click();
    await page.getByText('Over.').waitFor();
    assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'hello\n');
    assert.deepEqual(trouble, []);
  },
);
