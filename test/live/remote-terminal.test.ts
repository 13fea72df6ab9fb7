// `/remote` and `--remote` in the program on a pseudo-terminal: the link, its QR code, who joins, and how it ends.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { encode } from 'uqr';
import { exchangeTicket, ticketIn } from '../../src/live/client/index.ts';
import { makePlace } from '../coder/support.ts';
import { networkAddress } from '../support/network-address.ts';
import type { Terminal } from '../tui/terminal.ts';
import { ENTER, linkOn, startProgram, startShared } from './program.ts';
import { RawClient } from './raw-client.ts';

const address = networkAddress();
const skip = address === undefined && 'this machine has no network';
const BLOCK = /[▀▄█]/;

/** Reads the modules of the code from the colours of the cells. */
function modulesOn({ screen }: Terminal): boolean[][] {
  const buffer = screen.buffer.active;
  const rows: boolean[][] = [];
  for (let at = 0; at < screen.rows; at++) {
    const line = buffer.getLine(buffer.baseY + at);
    const cells = Array.from({ length: screen.cols }, (_, column) => line?.getCell(column)).filter(
      (cell) => cell?.getBgColor() === 231 && cell.getFgColor() === 16,
    );
    if (cells.length === 0) continue;
    const blocks = cells.map((cell) => cell!.getChars() || ' ');
    rows.push(
      blocks.map((block) => block === '█' || block === '▀'),
      blocks.map((block) => block === '█' || block === '▄'),
    );
  }
  return rows;
}

/** The code of the link is on the screen, with a light border of at least two modules. */
function assertWholeCode(terminal: Terminal, link: string): void {
  const shown = modulesOn(terminal);
  const border = ((shown[0]?.length ?? 0) - encode(link, { border: 0 }).size) / 2;
  assert.ok(border >= 2);
  const drawn = (rows: readonly (readonly boolean[])[]) =>
    rows.map((row) => row.map((dark) => (dark ? '#' : '.')).join(''));
  const expected = drawn(encode(link, { border }).data);
  assert.deepEqual(drawn(shown.slice(0, expected.length)), expected);
}

test(
  '/remote shows a link and its code; who opens it joins, can be removed, and is out after /remote off',
  { skip },
  async (t) => {
    const { terminal, say, url } = await startShared(t, { columns: 100, rows: 30 });
    assert.equal((await fetch(`${url}/tasks`)).status, 200);
    say('/remote');
    const link = await linkOn(terminal);
    const { origin, port } = new URL(link);
    assert.equal(origin, `http://${address}:${new URL(url).port}`);
    await terminal.sees(/not encrypted: others in this network can read it/);
    await terminal.until('the code', () => modulesOn(terminal).length > 30);
    assertWholeCode(terminal, link);

    const { token, roles } = await exchangeTicket(link, ticketIn(link)!, { name: 'phone' });
    assert.deepEqual(roles, ['view', 'prompt', 'approve']);
    const phone = new RawClient(t, `ws://${address}:${port}/ws`, ['a2a', `token.${token}`]);
    await phone.snapshot();
    await terminal.sees(/· 1 client/);
    assert.equal((await fetch(`${url}/tasks`)).status, 401);
    say('/clients');
    await terminal.sees(/a2a-\d+ +phone +view, prompt, approve/);
    say('/clients revoke phone');
    assert.deepEqual(await phone.closed, { code: 4001, reason: 'revoked' });
    await terminal.sees(/phone was removed/);

    say('/remote off');
    await terminal.sees(/can no longer join/);
    await assert.rejects(fetch(`${origin}/`));
    assert.equal((await fetch(`${url}/tasks`)).status, 200);
  },
);

test(
  'parley --remote --tls in a small terminal shows the https link only, and needs a token everywhere',
  { skip },
  async (t) => {
    const place = makePlace(t);
    const args = ['--remote', '--tls', '--workspace', place.workspace, '--model', 'offline'];
    const terminal = startProgram(t, args, { place, columns: 60, rows: 20 });
    const link = await linkOn(terminal);
    const { port, host } = new URL(link);
    assert.match(link, new RegExp(`^https://${address}:`));
    assert.doesNotMatch(terminal.visible(), BLOCK);
    await terminal.sees(/fingerprint/);
    const ca = readFileSync(join(place.home, 'remote-tls.pem'), 'utf8');
    const refused = new RawClient(t, `wss://${host}/ws`, 'a2a', { ca });
    assert.equal((await refused.closed).code, 4001);
    assert.equal((await fetch(`http://127.0.0.1:${port}/tasks`)).status, 401);
    const body = JSON.stringify({ ticket: ticketIn(link) });
    const headers = { 'content-type': 'application/json' };
    const exchanged = await fetch(`http://127.0.0.1:${port}/session/tickets`, {
      method: 'POST',
      headers,
      body,
    });
    const { token } = (await exchanged.json()) as { token: string };
    const joined = new RawClient(t, `wss://${host}/ws`, ['a2a', `token.${token}`], { ca });
    await joined.snapshot();
    terminal.type(`/remote nothing${ENTER}`);
    await terminal.sees(/"nothing" is not a role/);
  },
);

test(
  'in a terminal of 80×24, the whole code, the text about it and the link are on the screen',
  { skip },
  async (t) => {
    const { terminal, say } = await startShared(t, { columns: 80, rows: 24 });
    say('/remote');
    const link = await linkOn(terminal);
    await terminal.until('the screen', () => {
      const screen = terminal.visible();
      const words = [
        /not encrypted/,
        /works/,
        /once, until \d\d:\d\d/,
        /^http:\S+#ticket=/m,
        /A2A :/,
      ];
      return words.every((each) => each.test(screen));
    });
    assertWholeCode(terminal, link);
  },
);
