// Notifications: the terminal's bell and notification, a post to a topic, and the link in it that answers the call.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { makePlace } from '../coder/support.ts';
import { networkAddress } from '../support/network-address.ts';
import { startShared } from './program.ts';

const FOCUS_OUT = '\u001B[O';
const FOCUS_IN = '\u001B[I';
const RINGS = '\u0007\u001B]9;Parley needs you: ';
const NO_PROGRAM = { TMUX: '', STY: '', VTE_VERSION: '', TERM_PROGRAM: '' };
const skip = networkAddress() === undefined && 'this machine has no network';

test(
  'a person who is away is told by the terminal and by a post, and its link answers the call',
  { skip },
  async (t) => {
    const posts: Record<string, string>[] = [];
    let wake = () => {};
    const topic = createServer((request, response) => {
      void text(request).then((body) => {
        posts.push(JSON.parse(body) as Record<string, string>);
        response.end();
        wake();
      });
    });
    topic.listen(0, '127.0.0.1');
    await once(topic, 'listening');
    t.after(() => topic.close());
    const posted = async (event: string) => {
      for (;;) {
        const found = posts.find((each) => each['event'] === event);
        if (found) return found;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    };
    const place = makePlace(t);
    const config = join(place.home, 'config', 'parley');
    mkdirSync(config, { recursive: true });
    const { port } = topic.address() as AddressInfo;
    const notify = { url: `http://127.0.0.1:${port}/topic`, format: 'json' };
    writeFileSync(join(config, 'settings.json'), JSON.stringify({ notify }));
    const write = { call: { name: 'write_file', args: { path: 'a.txt', content: 'hello\n' } } };
    const { terminal, say } = await startShared(t, {
      place,
      args: ['--remote'],
      script: [[write], [{ text: 'Written.' }]],
      environment: NO_PROGRAM,
    });
    await terminal.sees(/#ticket=/);
    say('go');
    terminal.type(FOCUS_OUT);
    await terminal.until('the bell', () => terminal.raw().includes(RINGS));
    await terminal.sees(/Allow once/);
    const { url, text: said } = await posted('needs-you');
    assert.equal(said, 'A call of write_file waits for your answer.');
    assert.match(url!, new RegExp(`^http://${networkAddress()}:\\d+/session/answers/`));
    const page = await (await fetch(url!)).text();
    const [, action] = /action="([^"]+)"><button>Allow once</.exec(page) ?? [];
    terminal.type(FOCUS_IN);
    assert.equal((await fetch(new URL(action!, url), { method: 'POST' })).status, 200);
    await terminal.sees(/Written\./);
    await posted('done');
    assert.equal(existsSync(join(place.workspace, 'a.txt')), true);
    assert.doesNotMatch(terminal.visible(), /Reject|\[I|\[O/);
    assert.equal(terminal.raw().includes('Parley: done'), false);
  },
);
