// HTTP/2: a browser may have more than six streams at once with one server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSelfSigned } from '../../src/base/tls/index.ts';
import { createAgent, serve } from '../../src/server.ts';
import { silent } from '../live/support.ts';
import { DESKTOP, noBrowser, visit } from './support.ts';

const STREAMS = 8;

/** Opens the streams in the page, and waits until each has sent an event. All of them stay open. */
const OPEN_STREAMS = `Promise.all(Array.from({ length: ${STREAMS} }, async (_, at) => {
  const message = { messageId: 'm' + at, role: 'ROLE_USER', parts: [{ text: 'hold' }] };
  const response = await fetch('/message:stream', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'A2A-Version': '1.0' },
    body: JSON.stringify({ message }),
  });
  const { value } = await response.body.getReader().read();
  return response.headers.get('content-type') + ' ' + (value.length > 0);
}))`;

const PROTOCOLS = `[...new Set(performance.getEntriesByType('resource')
  .concat(performance.getEntriesByType('navigation')).map((entry) => entry.nextHopProtocol))]`;

test(
  'a browser has eight event streams at once with one server over TLS',
  { skip: noBrowser },
  async (t) => {
    let open = 0;
    const agent = createAgent({ name: 'Holder', description: 'Waits' }, async function* (ctx) {
      open++;
      yield 'I wait';
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    });
    const tls = makeSelfSigned(['127.0.0.1']);
    const listening = await serve(agent, { tls, logger: silent }).listen();
    t.after(() => listening.close(0));
    const { page } = await visit(t, `${listening.url}/.well-known/agent-card.json`, {
      ...DESKTOP,
      ignoreHTTPSErrors: true,
    });
    const answers = await page.evaluate(OPEN_STREAMS);
    assert.deepEqual(answers, Array(STREAMS).fill('text/event-stream true'));
    assert.equal(open, STREAMS);
    assert.deepEqual(await page.evaluate(PROTOCOLS), ['h2']);
  },
);
