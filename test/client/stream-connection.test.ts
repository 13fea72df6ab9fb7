// How a stream ends: left, aborted, closed, or silent for too long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ConnectionError, StreamInterruptedError } from '../../src/client/index.ts';
import { breakOff, chunk, clientOf, frame, message, openStream, startPeer, task } from './peer.ts';
import { all, done, short } from './stream-support.ts';

test('to leave the loop closes the connection', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.write(frame(task(), 1) + frame(chunk('a'), 2));
  });
  const agent = await clientOf(t, peer.url);
  for await (const { seq } of agent.stream('x')) if (seq === 1) break;
  await peer.asked[0]!.gone;
  for await (const text of agent.stream('x').textChunks()) if (text) break;
  await peer.asked[1]!.gone;
});

test('an abort closes the connection and rejects with its own reason', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.write(frame(task(), 1));
  });
  const agent = await clientOf(t, peer.url);
  const controller = new AbortController();
  const stream = agent.stream('x', { signal: controller.signal });
  const reason = new Error('enough');
  await assert.rejects(async () => {
    for await (const _ of stream) setImmediate(() => controller.abort(reason));
  }, reason);
  await peer.asked[0]!.gone;
  assert.equal(peer.asked.length, 1);
});

test('a stream can be closed while somebody waits for its next event', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.write(frame(task(), 1));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('x');
  const reader = assert.rejects(all(stream), { name: 'ConnectionError', reason: 'closed' });
  while (stream.task === undefined) await new Promise(setImmediate);
  await stream.close();
  await reader;
  await peer.asked[0]!.gone;
});

test('a silent connection counts as broken, a heartbeat keeps it', async (t) => {
  const peer = await startPeer(t, async (_, response, n) => {
    openStream(response);
    if (n === 0) {
      response.write(frame(task(), 1));
      return;
    }
    for (let beat = 0; beat < 6; beat++) {
      response.write(': heartbeat\n\n');
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
    response.end(frame(done, 2));
  });
  const agent = await clientOf(t, peer.url, { idleTimeoutMs: 80 });
  assert.deepEqual(await all(agent.stream('x')), ['1 task working', '2 completed']);
});

test('an agent that is silent for long is asked as often as it takes', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    response.write(frame(task()));
    if (n === 6) response.end(frame(done));
  });
  const retry = { attempts: 2, delayMs: 1 };
  const agent = await clientOf(t, peer.url, { idleTimeoutMs: 10, retry });
  assert.equal((await all(agent.stream('x'))).at(-1), 'completed');
});

test('a slow reader is not a silent agent', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.write(frame(task(), 1));
    setTimeout(() => response.write(frame(chunk('a'), 2)), 10);
    setTimeout(() => response.write(frame(done, 3)), 25);
  });
  const agent = await clientOf(t, peer.url, { idleTimeoutMs: 30 });
  const seen: string[] = [];
  for await (const item of agent.stream('x')) {
    seen.push(short(item));
    await new Promise((resolve) => {
      setTimeout(resolve, 60);
    });
  }
  assert.deepEqual(seen, ['1 task working', '2 a', '3 completed']);
  assert.equal(peer.asked.length, 1);
});

test('an agent that never begins is a time-out', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    if (n === 1) openStream(response);
  });
  const agent = await clientOf(t, peer.url, { timeoutMs: 30 });
  const timeout = (error: unknown) => {
    assert.ok(error instanceof ConnectionError);
    const cause = error instanceof StreamInterruptedError ? error.cause : error;
    assert.ok(cause instanceof ConnectionError);
    assert.equal(cause.reason, 'timeout');
    return true;
  };
  await assert.rejects(all(agent.stream('x')), timeout);
  await assert.rejects(all(agent.stream('x')), timeout);
});

test('an agent that forgets to hang up after its last word is left', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.write(frame(message('hi')));
  });
  const agent = await clientOf(t, peer.url);
  assert.equal(await agent.stream('x').text(), 'hi');
  await peer.asked[0]!.gone;
});

test('heartbeats before the first event of a sent message do not postpone its timeout', async (t) => {
  const peer = await startPeer(t, async (asked, response) => {
    openStream(response);
    const beats = setInterval(() => response.write(': heartbeat\n\n'), 5);
    await asked.gone;
    clearInterval(beats);
  });
  const agent = await clientOf(t, peer.url, { timeoutMs: 50 });
  await assert.rejects(all(agent.stream('x')), (error: unknown) => {
    assert.ok(error instanceof StreamInterruptedError && error.cause instanceof ConnectionError);
    assert.equal(error.cause.reason, 'timeout');
    assert.match(error.cause.message, /sent no event within 50 ms/);
    return true;
  });
});

test('heartbeats keep a subscription that has no event yet', async (t) => {
  const peer = await startPeer(t, async (_, response, n) => {
    openStream(response);
    if (n === 0) return breakOff(response, frame(task(), 1));
    for (let beat = 0; beat < 6; beat++) {
      response.write(': heartbeat\n\n');
      await pause(20);
    }
    response.end(frame(done, 2));
    return undefined;
  });
  const agent = await clientOf(t, peer.url, { timeoutMs: 80 });
  assert.deepEqual(await all(agent.stream('x')), ['1 task working', '2 completed']);
  assert.equal(peer.asked.length, 2);
});
