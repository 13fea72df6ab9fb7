import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heartbeat } from './heartbeat.ts';
import { StreamCounter } from '../stream-limits.ts';

function stream(stalledAt?: number) {
  const did: string[] = [];
  return { did, stalledAt, beat: () => void did.push('beat'), drop: () => void did.push('drop') };
}

test('streams that keep up get a beat, those that stand still too long are dropped', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const heartbeat = new Heartbeat({ heartbeatMs: 100, stallMs: 1000 });
  const fine = stream();
  const pausing = stream(performance.now());
  const stuck = stream(performance.now() - 2000);
  for (const one of [fine, pausing, stuck]) heartbeat.add(one);
  t.mock.timers.tick(100);
  assert.deepEqual([fine.did, pausing.did, stuck.did], [['beat'], [], ['drop']]);
});

test('a stream that was removed is left alone', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const heartbeat = new Heartbeat({ heartbeatMs: 100, stallMs: 1000 });
  const [gone, here] = [stream(), stream()];
  heartbeat.add(gone);
  heartbeat.add(here);
  heartbeat.remove(gone);
  t.mock.timers.tick(250);
  assert.deepEqual([gone.did, here.did], [[], ['beat', 'beat']]);
  heartbeat.remove(here);
  t.mock.timers.tick(1000);
  assert.equal(here.did.length, 2);
  heartbeat.add(here);
  t.mock.timers.tick(100);
  assert.equal(here.did.length, 3);
  heartbeat.remove(here);
});

test('a stream that ends itself when it is told to drop does not disturb the others', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const heartbeat = new Heartbeat({ heartbeatMs: 10, stallMs: 10 });
  const stuck = { ...stream(0), drop: () => heartbeat.remove(stuck) };
  const fine = stream();
  heartbeat.add(stuck);
  heartbeat.add(fine);
  t.mock.timers.tick(20);
  assert.equal(fine.did.length, 2);
  heartbeat.remove(fine);
});

test('streams are counted per client and in all, and given back once', () => {
  const streams = new StreamCounter({ maxStreams: 3, maxStreamsPerClient: 2 });
  const refused = { kind: 'rateLimited' };
  const first = streams.acquire('ann');
  streams.acquire('ann');
  assert.throws(() => streams.acquire('ann'), refused);
  const other = streams.acquire('bob');
  assert.throws(() => streams.acquire('eve'), refused);
  first();
  first();
  assert.equal(streams.total, 2);
  streams.acquire('ann');
  assert.throws(() => streams.acquire('ann'), refused);
  other();
  streams.acquire('eve');
});
