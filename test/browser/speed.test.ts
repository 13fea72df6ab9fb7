// The page's budgets: its size, how fast it opens, and how fast text reaches the screen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveClient } from '../../src/live/client/index.ts';
import { snapshotFrame, WIRE } from '../../src/live/ws/frames.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { Message, Part, Task } from '../../src/protocol/index.ts';
import { createAgent, serve, type PeerSocket } from '../../src/server.ts';
import { serveSession, silent } from '../live/support.ts';
import { noBrowser, PHONE, visit } from './support.ts';

const skip = noBrowser;

test(
  'the first load is smaller than 300 KB, and the page is ready in less than 500 ms',
  { skip },
  async (t) => {
    const { url } = await serveSession(t);
    const { page } = await visit(t, url, PHONE);
    await page.getByText('Connected').waitFor();
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    let bytes = 0;
    session.on('Network.loadingFinished', (event) => (bytes += event.encodedDataLength));
    let best = Infinity;
    // The best of several loads, because the machine of the tests may be busy with other work.
    for (let round = 0; round < 4; round++) {
      bytes = 0;
      await page.reload();
      const ready = await page.evaluate(`new Promise((resolve) => {
        const look = () => document.querySelector('#prompt:enabled')
          ? resolve(performance.now()) : requestAnimationFrame(look);
        look();
      })`);
      best = Math.min(best, Number(ready));
    }
    t.diagnostic(`first load: ${Math.round(bytes / 1000)} KB; ready after ${Math.round(best)} ms`);
    assert.ok(bytes > 10_000 && bytes < 300_000, `${bytes} bytes`);
    assert.ok(best < 500, `ready after ${best} ms`);
  },
);

const ids = { taskId: 'task-1', contextId: 'context-1' };
const self: LiveClient = {
  id: 'a2a-1',
  name: 'phone',
  kind: 'a2a',
  roles: ['view', 'prompt', 'approve'],
};

function said(at: number, parts: Part[], role: Message['role'] = 'agent'): Message {
  return { kind: 'message', messageId: `m${at}`, role, parts, ...ids };
}

/** What the log of a long session folds into: prompts, thoughts, calls and text. */
function longHistory(events: number): Message[] {
  return Array.from({ length: events }, (_, at) => {
    if (at % 100 === 0) return said(at, [{ kind: 'text', text: `Prompt ${at}` }], 'user');
    if (at % 4 === 1) {
      const data = { subject: `Thought ${at}`, description: 'Reading the next file.' };
      return said(at, [{ kind: 'data', data }]);
    }
    if (at % 4 === 2) {
      const data = {
        tool_call_id: `call-${at}`,
        status: 'SUCCEEDED',
        tool_name: 'read_file',
        description: `Read file-${at}.ts`,
        input_parameters: { path: `file-${at}.ts` },
        output: { text: 'line\n'.repeat(5) },
      };
      return said(at, [{ kind: 'data', data }]);
    }
    return said(at, [{ kind: 'text', text: `Text ${at}. ` }]);
  });
}

/** A live session that only tells what the test gives it. */
async function toldSession(t: Parameters<typeof visit>[0], history: Message[]) {
  const task: Task = {
    kind: 'task',
    id: ids.taskId,
    contextId: ids.contextId,
    status: { state: 'working' },
    history,
  };
  const about = {
    pending: [],
    approval: 'ask',
    model: 'told',
    workspace: '/work',
    clients: [self],
  };
  const snapshot = { ...ids, task, ...about, seq: history.length };
  const sockets: PeerSocket[] = [];
  const server = serve(
    createAgent({ name: 'Told', description: 'Says nothing' }, async function* () {}),
    {
      logger: silent,
      console: 'home',
      sockets: [
        {
          path: '/ws',
          protocols: ['a2a'],
          open(socket, { query }) {
            sockets.push(socket);
            const limit = Number(query.get('history') ?? Infinity);
            socket.send(snapshotFrame(snapshot, self, limit));
            return { message() {} };
          },
        },
      ],
    },
  );
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  let seq = history.length;
  const tell = (text: string) => {
    seq += 1;
    const event = WIRE.encodeEvent({
      kind: 'status-update',
      ...ids,
      status: { state: 'working', message: said(seq, [{ kind: 'text', text }]) },
      final: false,
      metadata: { [EXTENSION_URI]: { kind: 'TEXT_CONTENT', model: 'told' } },
    });
    const params = { taskId: ids.taskId, seq, event };
    const json = JSON.stringify({ jsonrpc: '2.0', method: 'tasks/event', params });
    for (const socket of sockets) socket.send(json);
  };
  return { url: listening.url, tell };
}

test(
  'a session of 50,000 events opens in less than a second, at its end, and can be read from its start',
  { skip },
  async (t) => {
    const { url } = await toldSession(t, longHistory(50_000));
    const { page, trouble } = await visit(t, url, PHONE);
    await page.getByText('Text 49999.').waitFor();
    let best = Infinity;
    for (let round = 0; round < 3; round++) {
      await page.reload();
      const opened = await page.evaluate(`new Promise((resolve) => {
        const look = () => document.body.innerText.includes('Text 49999.')
          ? resolve(performance.now()) : requestAnimationFrame(look);
        look();
      })`);
      best = Math.min(best, Number(opened));
    }
    t.diagnostic(`50,000 events on the screen after ${Math.round(best)} ms`);
    const entries = await page.locator('[data-entry]').count();
    assert.ok(entries < 300, `${entries} entries are in the document`);
    // Scrolling up moves the window, and what is on the screen stays where it is.
    await page.evaluate(`document.querySelector('.scroll').scrollTo({ top: 0 })`);
    await page
      .getByText(/Text 498\d\d\./)
      .first()
      .waitFor();
    await page.getByRole('button', { name: /Go to the start/ }).click();
    await page.getByRole('button', { name: 'Load 48000 earlier messages' }).click();
    // The place stays on the screen, and the entries before it are there now.
    await page.getByText('Text 47999.').waitFor();
    await page.getByRole('button', { name: /Go to the start/ }).click();
    await page.getByText('Prompt 0', { exact: true }).waitFor();
    await page.getByRole('button', { name: '↓ Latest' }).click();
    await page.getByText('Text 49999.').waitFor();
    assert.deepEqual(trouble, []);
    assert.ok(best < 1000, `opened after ${best} ms`);
  },
);

test(
  'during a fast stream, text is on the screen at most 100 ms after it was written',
  { skip },
  async (t) => {
    const { url, tell } = await toldSession(t, longHistory(200));
    const { page, trouble } = await visit(t, url, PHONE);
    await page.getByText('Text 199.').waitFor();
    // The server and the browser have the same clock. Only the end is read: to read all would take time itself.
    await page.evaluate(`globalThis.late = []; {
      const seen = new Set();
      const box = document.querySelector('.scroll');
      const look = () => {
        for (const each of [...box.children].slice(-200)) {
          for (const [mark, at] of each.textContent.matchAll(/@(\\d{13})-\\d+;/g)) {
            if (!seen.has(mark)) late.push(Date.now() - Number(at));
            seen.add(mark);
          }
        }
        requestAnimationFrame(look);
      };
      look();
    }`);
    const stream = async () => {
      await page.evaluate('late.length = 0');
      const sent = Promise.withResolvers<void>();
      let left = 150;
      const timer = setInterval(() => {
        for (let each = 0; each < 3; each++) tell('some words ');
        tell(`@${Date.now()}-${left};\n\n`);
        left -= 1;
        if (left > 0) return;
        clearInterval(timer);
        sent.resolve();
      }, 10);
      await sent.promise;
      await page.evaluate(`new Promise((resolve) => {
        const look = () => (late.length === 150 ? resolve() : requestAnimationFrame(look));
        look();
      })`);
      const late = (await page.evaluate('late')) as number[];
      return late.toSorted((one, other) => one - other);
    };
    let p95 = Infinity;
    // The best of several streams, because the machine of the tests may be busy with other work.
    for (let round = 0; round < 5 && p95 > 100; round++) {
      const late = await stream();
      p95 = Math.min(p95, late[Math.floor(late.length * 0.95)] ?? Infinity);
      t.diagnostic(`from the write to the screen: p50 ${late[75]} ms, p95 ${p95} ms`);
    }
    assert.deepEqual(trouble, []);
    assert.ok(p95 <= 100, `p95 ${p95} ms`);
  },
);
