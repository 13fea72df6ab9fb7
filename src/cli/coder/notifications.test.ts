import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import type { NotifySettings } from '../../coder/settings/index.ts';
import type { Attention } from '../../display/index.ts';
import { createPoster, type PosterOptions } from './notifications.ts';

const CALL: Attention = {
  kind: 'needs-you',
  call: {
    tool_call_id: 'call-1',
    status: 'PENDING',
    tool_name: 'write_file',
    description: 'Write secret-plan.txt',
    input_parameters: { path: 'secret-plan.txt', content: 'the plan' },
    correlationId: 'request-1',
  },
};

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A server that keeps what is posted to it. */
async function topic(t: TestContext, status = 200) {
  const received: Received[] = [];
  let wake = () => {};
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body });
      response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end();
      wake();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const arrived = async (count: number) => {
    while (received.length < count) await new Promise<void>((resolve) => (wake = resolve));
    return received;
  };
  return { url: `http://127.0.0.1:${port}/topic`, received, arrived };
}

function teller(
  settings: NotifySettings,
  environment: Record<string, string> = {},
  linkFor: PosterOptions['linkFor'] = ({ tool_call_id }) =>
    `http://desk.example/session/answers/${tool_call_id}`,
) {
  const warnings: string[] = [];
  const waiting: (() => void)[] = [];
  const tell = createPoster({
    settings,
    environment,
    sessionId: 'session-1',
    linkFor,
    log: {
      warn(_fields: unknown, message?: string) {
        warnings.push(String(message));
        for (const each of waiting.splice(0)) each();
      },
    },
  });
  const warned = async () => {
    if (warnings.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    return warnings;
  };
  return { tell, warnings, warned };
}

test('a notification that cannot be made is logged, and does not throw', async (t) => {
  const { url, received } = await topic(t);
  const { tell, warned } = teller({ url }, {}, () => {
    throw new Error('no link');
  });
  tell(CALL);
  assert.deepEqual(await warned(), ['failed to send a notification']);
  assert.deepEqual(received, []);
});

test('a topic of ntfy gets a title, a link and a text without content', async (t) => {
  const { url, arrived } = await topic(t);
  const headers = { authorization: 'PARLEY_NTFY' };
  const { tell } = teller({ url, headers }, { PARLEY_NTFY: 'Bearer tk_1' });
  tell(CALL);
  const [first] = await arrived(1);
  const { title, click, priority, authorization } = first!.headers;
  assert.deepEqual(
    { title, click, priority, authorization },
    {
      title: 'Parley needs you',
      click: 'http://desk.example/session/answers/call-1',
      priority: 'high',
      authorization: 'Bearer tk_1',
    },
  );
  assert.equal(first!.body, 'A call of write_file waits for your answer.');
  tell({ kind: 'failed' });
  const [, second] = await arrived(2);
  assert.deepEqual(
    [second!.headers['title'], second!.headers['click']],
    ['Parley failed', undefined],
  );
});

test('a webhook gets JSON, with the title of the call only if the settings ask for it', async (t) => {
  const { url, arrived } = await topic(t);
  teller({ url, format: 'json', details: true }).tell(CALL);
  const [first] = await arrived(1);
  const { time, ...rest } = JSON.parse(first!.body) as Record<string, unknown>;
  assert.ok(Date.parse(String(time)));
  assert.deepEqual(rest, {
    event: 'needs-you',
    title: 'Parley needs you',
    text: 'Write secret-plan.txt',
    sessionId: 'session-1',
    call: { id: 'call-1', name: 'write_file' },
    url: 'http://desk.example/session/answers/call-1',
  });
  assert.doesNotMatch(first!.body, /the plan/);
});

test('only chosen events are posted, and at most ten in a minute', async (t) => {
  const { url, arrived, received } = await topic(t);
  const { tell, warnings } = teller({ url, events: ['done'] });
  tell(CALL);
  for (let at = 0; at < 12; at++) tell({ kind: 'done' });
  await arrived(10);
  assert.equal(received.length, 10);
  assert.equal(warnings.length, 2);
});

test('a redirect is not followed, and a failure is logged', async (t) => {
  const redirecting = await topic(t, 302);
  const { tell, warned } = teller({ url: redirecting.url });
  tell({ kind: 'done' });
  assert.deepEqual(await warned(), ['failed to send a notification']);
  const failing = await topic(t, 500);
  const other = teller({ url: failing.url });
  other.tell({ kind: 'done' });
  assert.deepEqual(await other.warned(), ['failed to send a notification']);
});

test('without the variable of a header, nothing is posted', async (t) => {
  const { url, received } = await topic(t);
  const { tell, warnings } = teller({ url, headers: { authorization: 'PARLEY_NTFY' } });
  tell({ kind: 'done' });
  assert.match(warnings[0] ?? '', /set the environment variable/);
  assert.equal(received.length, 0);
});
