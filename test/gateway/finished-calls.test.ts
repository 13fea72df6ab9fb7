/** What the gateway keeps of a call to a model after the call has ended: nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startGateway } from '../support/gateway.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

test('a signal that was made for a call is not kept after the call', async (t) => {
  const made: WeakRef<AbortSignal>[] = [];
  const any = AbortSignal.any.bind(AbortSignal);
  // Not a mock of the test runner, which would keep the results.
  AbortSignal.any = (signals) => {
    const signal = any(signals);
    made.push(new WeakRef(signal));
    return signal;
  };
  t.after(() => void (AbortSignal.any = any));
  await using gateway = await startGateway({ config: {} });
  const key = gateway.key();
  let calls = 0;
  const messages = [{ role: 'user', content: 'hello' }];
  for (const stream of [false, false, true]) {
    const body = { model: 'offline', messages, stream };
    const response = await gateway.ask(key, 'POST', '/v1/chat/completions', body);
    assert.equal(response.status, 200);
    await response.text();
    // During the first call, the gateway starts its checks of agents, which have signals of their own.
    if (calls++ === 0) made.length = 0;
  }
  assert(made.length >= 2, `${made.length} signals were made`);
  const kept = () => made.filter((signal) => signal.deref() !== undefined).length;
  const until = performance.now() + 10_000;
  while (kept() > 0 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
  }
  assert.equal(kept(), 0);
});
