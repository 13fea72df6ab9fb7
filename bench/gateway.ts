/**
 * The hop: what it costs to stand between a client and an agent. A bare proxy and our gateway have the same agent behind
 * them; both get the same requests with the same key, and the bare one does not look at it.
 *
 * The agent makes an event every two milliseconds on each stream, so that none shares its packet with another: a burst
 * would cost both next to nothing per event.
 */
import { load, messageRequest, type Door } from './driver.ts';
import { compare, type Row } from './measure.ts';
import type { Subject } from './subject.ts';
import { bareProxy, gateway as gatewayBefore, inMemory, stop } from './subjects.ts';

const REQUESTS = 4000;
const STREAMS = 16;
const EVENTS = 1000;

function doorOf({ key }: Subject): Door {
  return { path: '/agents/bench', key: key || 'a-key-that-nobody-looks-at' };
}

export async function gateway(): Promise<Row[]> {
  const upstream = await inMemory();
  const subjects = [
    await bareProxy(upstream),
    await gatewayBefore('parley', upstream),
    await gatewayBefore('sqlite', upstream),
  ];
  const requests = await compare(
    11,
    subjects.map((subject) => ({
      subject,
      async run() {
        const door = doorOf(subject);
        await load(subject.port, 32, REQUESTS, () =>
          messageRequest('SendMessage', 'echo hello', door),
        );
        return REQUESTS;
      },
    })),
  );
  const events = await compare(
    5,
    subjects.map((subject) => ({
      subject,
      async run() {
        const door = doorOf(subject);
        const done = await load(subject.port, STREAMS, STREAMS, () =>
          messageRequest('SendStreamingMessage', `task ${EVENTS} 16 2`, door),
        );
        if (done.events !== STREAMS * EVENTS) {
          throw new Error(`${subject.name} passed on ${done.events} events`);
        }
        return done.events;
      },
    })),
  );
  await stop(...subjects, upstream);
  return [
    row('gateway, a request, 32 connections', 'µs/request', requests, 2.5),
    row('gateway, an event of 1,000, 16 streams', 'µs/event', events, 1.5),
  ];
}

function row(
  scenario: string,
  unit: string,
  costs: ReadonlyMap<string, { readonly cpuUs: number }>,
  most: number,
): Row {
  const values = Object.fromEntries([...costs].map(([name, { cpuUs }]) => [name, cpuUs]));
  const reached = values['parley']! / values['bare']!;
  return { scenario, unit, values, goal: { text: `≤ ${most} × bare`, reached, most } };
}
