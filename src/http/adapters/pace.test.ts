import assert from 'node:assert/strict';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { Pace, type Paced, WINDOW_MS } from './pace.ts';

class Stream implements Paced {
  wroteAt = 0;
  flushed = 0;
  readonly #pace: Pace;
  #whenFlushed: (() => void) | undefined;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  send(): Promise<void> {
    this.#pace.schedule(this);
    return new Promise((resolve) => (this.#whenFlushed = resolve));
  }

  flush(): void {
    this.flushed++;
    this.#whenFlushed?.();
  }
}

test('what comes after a pause goes out in the same turn of the loop', async () => {
  const stream = new Stream(new Pace());
  let turned = false;
  for (let count = 1; count <= 3; count++) {
    turned = false;
    setImmediate(() => (turned = true));
    await stream.send();
    assert.equal(turned, false);
    await sleep(20);
  }
  assert.equal(stream.flushed, 3);
});

test('what comes right after a write waits for the end of the window of its stream', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1000;
  const pace = new Pace(() => now);
  const [one, other] = [new Stream(pace), new Stream(pace)];
  await one.send();
  now += WINDOW_MS / 2;
  await other.send();
  void one.send();
  void other.send();
  await turn();
  assert.deepEqual([one.flushed, other.flushed], [1, 1]);
  now += WINDOW_MS / 2;
  t.mock.timers.tick(WINDOW_MS / 2);
  assert.deepEqual([one.flushed, other.flushed], [2, 1]);
  now += WINDOW_MS / 2;
  t.mock.timers.tick(WINDOW_MS / 2);
  assert.deepEqual([one.flushed, other.flushed], [2, 2]);
});

test('one stream does not wait for what another has written', async () => {
  const pace = new Pace();
  const [one, other] = [new Stream(pace), new Stream(pace)];
  await one.send();
  let turned = false;
  setImmediate(() => (turned = true));
  await other.send();
  assert.equal(turned, false);
});

test('each time that a stream has something to send, it is flushed once', async () => {
  const pace = new Pace();
  const streams = Array.from({ length: 5 }, () => new Stream(pace));
  for (let round = 0; round < 50; round++) {
    await Promise.all(streams.map((stream) => stream.send()));
    if (round % 7 === 0) await turn();
  }
  assert.deepEqual(
    streams.map(({ flushed }) => flushed),
    [50, 50, 50, 50, 50],
  );
});
